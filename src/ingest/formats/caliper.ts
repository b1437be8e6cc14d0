/**
 * IMS Caliper Analytics 1.1 and 1.2. Each record is an envelope, or a single event or entity. An
 * envelope contains any number of events, and of entities that describe those named by the events.
 * Only the profiles about visits, discussions and feedback are imported.
 */
import { Refusal } from '../fields/refusal.ts';
import { addressOf, courseOf, Entities, iriOf, isCourse, isDescription } from './caliper-entities.ts';
import { classRoleOf } from './caliper-roles.ts';
import {
  type Derivation,
  type Detail,
  detailOf,
  type Format,
  type FormatOptions,
  type FormatSource,
  isObject,
  lookUp,
  type Meaning,
  meaningOf,
  memberOf,
  type NamedPerson,
  pinOf,
  type Translation,
  type Translator,
  textOf,
  wordOf,
} from './format.ts';

/**
 * Actions by event type, then by Caliper action. Actions that are not listed are used as they are,
 * in lower case; events of other types are dropped unless they are mapped.
 */
export const PROFILES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ForumEvent: { Subscribed: 'followed', Unsubscribed: 'unfollowed' },
  ThreadEvent: { Created: 'created', MarkedAsRead: 'visited', MarkedAsUnread: 'unvisited' },
  MessageEvent: { Posted: 'commented', MarkedAsRead: 'visited', MarkedAsUnread: 'unvisited' },
  ViewEvent: { Viewed: 'visited' },
  NavigationEvent: { NavigatedTo: 'visited' },
  FeedbackEvent: { Commented: 'commented', Ranked: 'ranked' },
  // Enrolments in Open edX.
  Event: { Activated: 'followed', Deactivated: 'unfollowed' },
};

/** Events of no profile, which can say anything: only the actions of the table are read. */
const GENERIC = 'Event';

const CONTEXT = /^https?:\/\/purl\.imsglobal\.org\/ctx\/caliper\/v1p[12](?:\/|$)/;

export const caliper: Format = {
  name: 'caliper',
  forms: ['json'],
  columnOf: { email: 'otherIdentifiers', actor_id: 'actor', owner_id: 'object.creators' },
  open: (options, derivation) => new Envelopes(options, derivation),
};

class Envelopes implements Translator {
  readonly #mapping: Readonly<Record<string, string | null>>;
  readonly #derivation: Derivation;

  constructor({ mapping = {} }: FormatOptions, derivation: Derivation) {
    this.#mapping = mapping;
    this.#derivation = derivation;
  }

  translate(record: FormatSource): readonly Translation[] {
    if (!('data' in record)) {
      checkContext(record['@context'], '@context');
      return this.#translateAll([record], () => '');
    }
    textOf(record, 'sensor');
    textOf(record, 'sendTime');
    checkContext(record['dataVersion'], 'dataVersion');
    const { data } = record;
    if (!Array.isArray(data)) throw new Refusal('data', 'must be a list');
    return this.#translateAll(data, (place) => `data[${place + 1}].`);
  }

  #translateAll(data: readonly unknown[], before: (place: number) => string): readonly Translation[] {
    const entities = new Entities(data);
    return data.map((one, place) => {
      if (isDescription(one)) return this.#translateEntity(one);
      if (isObject(one)) return this.#translateEvent(one, before(place), entities);
      throw new Refusal(`data[${place + 1}]`, 'must be an object');
    });
  }

  /**
   * The board of a named course, or a user with a name or an address. Other entities are dropped,
   * but events of the same envelope can use them.
   */
  #translateEntity(entity: FormatSource): Translation {
    const type = wordOf(entity['type']);
    const dropped = { dropped: `is an entity, not an event: ${type}` };
    if (iriOf(entity) === '') return dropped;
    const title = nameOf(entity);
    if (isCourse(entity) && title.isGiven) {
      const id = this.#derivation.numberOf('board', iriOf(entity));
      return { describes: 'boards', board: { id, title } };
    }
    const person = this.#personOf(entity);
    const isDescribed = person.name.isGiven || person.email.isGiven;
    return type === 'Person' && isDescribed ? { describes: 'users', person } : dropped;
  }

  #translateEvent(event: FormatSource, before: string, entities: Entities): Translation {
    checkContext(event['@context'], `${before}@context`);
    const type = textOf(event, 'type', `${before}type`);
    const action = textOf(event, 'action', `${before}action`);
    const id = textOf(event, 'id', `${before}id`);
    const timestamp = textOf(event, 'eventTime', `${before}eventTime`);
    const who = entityOf(event, 'actor', before, entities);
    const what = entityOf(event, 'object', before, entities);
    if (who['type'] !== undefined && who['type'] !== 'Person') {
      return { dropped: `is not by a person, but by ${wordOf(who['type'])}` };
    }
    const around = entities.around(what);
    const group = entities.find(event['group']);
    const course = courseOf(group === undefined ? [] : entities.organizations(group), around);
    if (course === undefined) return { dropped: 'names no course' };
    const subject = subjectOf(around) ?? what;
    const courseId = iriOf(course);
    const isPin = iriOf(subject) !== courseId;
    const meaning = this.#meaningOf(type, action, isPin ? 'pin' : 'board');
    if (meaning === undefined)
      return { dropped: `has a profile that is not imported, or is mapped to null: ${type}` };
    const derivation = this.#derivation;
    return {
      ...{ id: derivation.eventNumberOf(id.toLowerCase()), ...meaning, timestamp },
      body: writtenOf(event, what, meaning.action, entities),
      ...{ actor: this.#actorOf(who, event, entities), owner: this.#ownerOf(subject, entities) },
      board: { id: derivation.numberOf('board', courseId), title: nameOf(course) },
      ...(meaning.type === 'pin' && {
        pin: pinOf(derivation, iriOf(subject), nameOf(subject), bodyOf(subject)),
      }),
    };
  }

  /** The actor, with the class role in the membership of the event, if that is the actor's. */
  #actorOf(who: FormatSource, event: FormatSource, entities: Entities): NamedPerson {
    const membership = entities.find(event['membership']);
    const member = membership === undefined ? undefined : entities.find(membership['member']);
    if (membership === undefined || (member !== undefined && iriOf(member) !== iriOf(who))) {
      return this.#personOf(who);
    }
    return { ...this.#personOf(who), classRole: classRoleOf(membership) };
  }

  #ownerOf({ creators }: FormatSource, entities: Entities): NamedPerson | undefined {
    const creator = Array.isArray(creators) ? entities.find(creators[0]) : undefined;
    return creator && this.#personOf(creator);
  }

  #personOf(entity: FormatSource): NamedPerson {
    const iri = iriOf(entity);
    const person = this.#derivation.personOf({ text: iri, word: iri, kind: 'caliper' });
    const { name, email } = person;
    return {
      ...person,
      name: detailOf(entity['name'], name.text),
      email: detailOf(addressOf(entity), email.text),
    };
  }

  /** The option `mapping` is searched for `ViewEvent Viewed` first, then for the action alone. */
  #meaningOf(profile: string, action: string, type: string): Meaning | undefined {
    const name = `${profile} ${action}`;
    const mapped = [name, action].find((one) => Object.hasOwn(this.#mapping, one));
    if (mapped !== undefined) return meaningOf(this.#mapping[mapped], type);
    const actions = lookUp(PROFILES, profile);
    if (actions === undefined) return undefined;
    const listed = lookUp(actions, action);
    if (profile === GENERIC && (listed === undefined || type !== 'board')) return undefined;
    return listed === undefined
      ? { type, action: action.toLowerCase(), unlisted: name }
      : { type, action: listed };
  }
}

function bodyOf(thing: FormatSource): string | undefined {
  const body = thing['description'];
  return typeof body === 'string' ? body : undefined;
}

/** What the actor wrote: the body of a message, or the value of a comment that feedback made. */
function writtenOf(
  { generated }: FormatSource,
  what: FormatSource,
  action: string,
  entities: Entities,
): string | undefined {
  if (action !== 'commented') return undefined;
  if (what['type'] === 'Message') return wordOf(what['body']);
  const comment = entities.find(generated);
  return comment?.['type'] === 'Comment' ? wordOf(comment['value']) : undefined;
}

/** Requires a Caliper context, or a list that contains one. Throws `Refusal`. */
function checkContext(given: unknown, name: string): void {
  const contexts: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (contexts.some((context) => typeof context === 'string' && CONTEXT.test(context))) return;
  throw new Refusal(name, given === undefined ? 'is required' : 'is not Caliper 1.1 or 1.2');
}

/** An entity can be written as only its IRI. Throws `Refusal`. */
function entityOf(event: FormatSource, member: string, before: string, entities: Entities): FormatSource {
  const given = event[member];
  const entity = typeof given === 'string' ? { id: given } : memberOf(event, member, `${before}${member}`);
  textOf(entity, 'id', `${before}${member}.id`);
  return entities.find(entity) ?? entity;
}

function nameOf(entity: FormatSource): Detail {
  return detailOf(entity['name'], iriOf(entity));
}

/** For a message, the thread that it is part of: a message is a comment on its thread. */
function subjectOf([object, thread]: readonly FormatSource[]): FormatSource | undefined {
  return object?.['type'] === 'Message' ? thread : undefined;
}
