/**
 * Statements of the Experience API (IEEE 9274.1.1, xAPI 1.0): an actor, a verb, an activity and a
 * course. Their ids are texts; numbers are derived from them.
 */
import { Refusal } from '../fields/refusal.ts';
import {
  type Derivation,
  derived,
  detailOf,
  type Format,
  type FormatOptions,
  type FormatSource,
  given,
  isObject,
  type KnownUsers,
  type Meaning,
  meaningOf,
  memberOf,
  type NamedPerson,
  NO_USERS,
  pinOf,
  type Translation,
  type Translator,
  textOf,
  wordOf,
} from './format.ts';
import { activityOf, contextOf, Surroundings, type XapiActivity } from './xapi-activities.ts';
import { identityOf } from './xapi-agents.ts';
import { actionOfVerb, wordOfVerb } from './xapi-verbs.ts';

/** By the standard, only this verb voids a statement. */
const VOIDED = 'http://adlnet.gov/expapi/verbs/voided';

export const xapi: Format = {
  name: 'xapi',
  forms: ['json'],
  list: 'statements',
  digestMember: 'mbox_sha1sum',
  columnOf: { email: 'mbox', actor_id: 'actor', owner_id: 'context.instructor' },
  open: (options, derivation, users = NO_USERS) => new Statements(options, derivation, users),
};

class Statements implements Translator {
  readonly #mapping: Readonly<Record<string, string | null>>;
  readonly #derivation: Derivation;
  readonly #users: KnownUsers;
  readonly #boardFrom: FormatOptions['boardFrom'];

  constructor({ mapping = {}, boardFrom }: FormatOptions, derivation: Derivation, users: KnownUsers) {
    this.#users = users;
    this.#boardFrom = boardFrom;
    this.#mapping = mapping;
    this.#derivation = derivation;
  }

  translate(record: FormatSource): readonly Translation[] {
    const { statement, before } = unwrapped(record);
    if (!('actor' in statement || 'verb' in statement || 'object' in statement)) {
      if ('more' in statement && !('statements' in statement)) return missingPages(statement);
      throw new Refusal('', 'is no statement: it has neither actor, verb nor object');
    }
    try {
      // Learning Locker marks voided statements in the document around them.
      if (record['voided'] === true && statement !== record) return [this.#deletionOf(statement, 'id')];
      return [this.#translate(statement)];
    } catch (error) {
      throw error instanceof Refusal ? new Refusal(`${before}${error.field}`, error.reason) : error;
    }
  }

  #translate(record: FormatSource): Translation {
    const object = memberOf(record, 'object');
    const objectType = object['objectType'] ?? 'Activity';
    const verb = textOf(memberOf(record, 'verb'), 'id', 'verb.id');
    if (objectType === 'StatementRef' && verb === VOIDED && this.#mappedTo(verb) === undefined)
      return this.#deletionOf(object, 'object.id');
    if (objectType !== 'Activity')
      return { dropped: `is about ${wordOf(objectType)}, not about an activity` };
    const actor = this.#personOf(memberOf(record, 'actor'), 'actor');
    if (actor === undefined) return { dropped: 'is by a group' };
    const activity = activityOf(object, 'object');
    const around = new Surroundings(record, object);
    const course = this.#courseOf(record, around);
    if (course === undefined)
      return {
        dropped:
          this.#boardFrom === undefined
            ? 'names neither a course nor anything else that it is part of'
            : `names no ${this.#boardFrom}`,
      };
    const thread = around.thread?.iri === course.iri ? undefined : around.thread;
    const subject = thread ?? activity;
    const meaning = this.#meaningOf(verb, subject.iri === course.iri ? 'board' : 'pin', around);
    if (meaning === undefined) return { dropped: `is not mapped to an event: ${verb}` };
    const instructor = contextOf(record)['instructor'];
    const { id } = record;
    const timestamp = timestampOf(record);
    const derivation = this.#derivation;
    return {
      // Record stores give every statement an id; statements in a file may have none.
      id: derivation.eventNumberOf(
        typeof id === 'string' ? id.toLowerCase() : JSON.stringify(record, withDigits),
      ),
      ...{ ...meaning, actor, timestamp, body: bodyOf(record, meaning.action, thread && activity) },
      owner: isObject(instructor) ? this.#personOf(instructor, 'context.instructor') : undefined,
      board: { id: derivation.numberOf('board', course.iri), title: course.title },
      ...(meaning.type === 'pin' && {
        pin: pinOf(derivation, subject.iri, subject.title, subject.description),
      }),
    };
  }

  /** What is the board: the course, unless the option `boardFrom` names something else. */
  #courseOf(record: FormatSource, around: Surroundings): XapiActivity | undefined {
    if (this.#boardFrom === undefined) return around.course;
    if (this.#boardFrom === 'grouping') return around.group;
    const registration = wordOf(contextOf(record)['registration']).toLowerCase();
    if (registration === '') return undefined;
    const title = derived(`Registration ${registration}`);
    return { iri: `urn:uuid:${registration}`, title, description: undefined };
  }

  /** Deletes the event of the statement whose id the member contains. */
  #deletionOf(statement: FormatSource, name: string): Translation {
    const id = this.#derivation.eventNumberOf(textOf(statement, 'id', name).toLowerCase());
    return { deletes: 'events', id };
  }

  /** Undefined for a group. Throws `Refusal` when the agent has no identifier. */
  #personOf(agent: FormatSource, name: string): NamedPerson | undefined {
    if (agent['objectType'] === 'Group') return undefined;
    const { identities, email, digest } = identityOf(agent, name);
    const people = identities.map((identity) => this.#derivation.personOf(identity));
    const published = people.find(({ id }) => this.#users.isPublished(id));
    const person = published ?? people.at(-1)!;
    const knownId =
      published === undefined && digest !== undefined ? this.#users.withDigest(digest) : undefined;
    const id = knownId ?? person.id;
    // The id is made of the digest of the address in small letters.
    if (email !== undefined && email !== email.toLowerCase()) this.#users.noteAddress(email, id);
    return {
      id,
      email: email === undefined ? person.email : given(email),
      name: detailOf(agent['name'], person.name.text),
    };
  }

  /**
   * The option `mapping` is searched for the whole IRI of the verb first, then for its last part.
   * Undefined if it has neither.
   */
  #mappedTo(verb: string): string | null | undefined {
    const mapped = [verb, wordOfVerb(verb)].find((name) => Object.hasOwn(this.#mapping, name));
    return mapped === undefined ? undefined : this.#mapping[mapped];
  }

  #meaningOf(verb: string, type: string, around: Surroundings): Meaning | undefined {
    const word = wordOfVerb(verb);
    const mapped = this.#mappedTo(verb);
    if (mapped !== undefined) return meaningOf(mapped, type);
    const action = actionOfVerb(word);
    if (action === null) return undefined;
    if (action === undefined) return { type, action: word, unlisted: verb };
    const isWritten = around.thread !== undefined && (action === 'created' || action === 'posted');
    if (isWritten || (action === 'posted' && around.isAboutThread)) return { type, action: 'commented' };
    // Systems say that a user asked when they show a solution or a hint.
    return { type, action: around.isAboutHelp && /^ask/i.test(word) ? 'asked' : action };
  }
}

/** Members in which stores and search engines wrap a statement. */
const WRAPPERS = ['_source', 'statement'] as const;

/** The statement of a record, and the members that lead to it, with a full stop after each. */
function unwrapped(record: FormatSource): { readonly statement: FormatSource; readonly before: string } {
  let [statement, before] = [record, ''];
  for (const wrapper of WRAPPERS) {
    const wrapped = statement[wrapper];
    if ('verb' in statement || !isObject(wrapped)) continue;
    [statement, before] = [wrapped, `${before}${wrapper}.`];
  }
  return { statement, before };
}

/** `more` is the URL of the next page; empty on the last one. */
function missingPages({ more }: FormatSource): readonly Translation[] {
  if (more === '' || more === null) return [];
  return [{ dropped: 'names a next page (more): its statements must be in another file' }];
}

/**
 * What a user wrote for others to read: the response, or else the text of the reply. Responses to
 * other verbs are answers to exercises.
 */
function bodyOf(
  { result }: FormatSource,
  action: string,
  reply: XapiActivity | undefined,
): string | undefined {
  if (action !== 'commented') return undefined;
  return (isObject(result) && wordOf(result['response'])) || reply?.description;
}

/** Search stores write `@timestamp`. Throws `Refusal` when the statement has no time. */
function timestampOf(statement: FormatSource): string {
  for (const name of ['timestamp', '@timestamp', 'stored']) {
    const timestamp = statement[name];
    if (typeof timestamp === 'string') return timestamp;
  }
  throw new Refusal('timestamp', 'is required');
}

/** Writes integers beyond 2^53 as text, because `JSON.stringify` accepts no `bigint`. */
function withDigits(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
