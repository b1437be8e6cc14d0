/**
 * Envelopes of IMS Caliper Analytics 1.1 and 1.2, one a record, with any number of events; or events by themselves. Of
 * its profiles those are read that speak of visiting, discussing and judging.
 */
import { Refusal } from '../refusal.ts';
import {
  type Derivation,
  type Detail,
  detailOf,
  type Format,
  type FormatOptions,
  isObject,
  lookUp,
  meaningOf,
  memberOf,
  type Person,
  pinOf,
  type Source,
  type Translation,
  type Translator,
  textOf,
  wordOf,
} from './format.ts';

/** By the type of the event: what its actions are; an action that is not here stands for itself, in small letters. */
export const PROFILES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ForumEvent: { Subscribed: 'followed', Unsubscribed: 'unfollowed' },
  ThreadEvent: { Created: 'created', MarkedAsRead: 'visited', MarkedAsUnread: 'unvisited' },
  MessageEvent: { Posted: 'commented', MarkedAsRead: 'visited', MarkedAsUnread: 'unvisited' },
  ViewEvent: { Viewed: 'visited' },
  NavigationEvent: { NavigatedTo: 'visited' },
  FeedbackEvent: { Commented: 'commented', Ranked: 'ranked' },
};

const CONTEXT = /^https?:\/\/purl\.imsglobal\.org\/ctx\/caliper\/v1p[12](?:\/|$)/;
const COURSES = new Set(['CourseOffering', 'CourseSection']);
/** Deeper things are not looked for, and nothing can be part of itself for ever. */
const DEEPEST = 16;

export const caliper: Format = {
  name: 'caliper',
  forms: ['json'],
  open: (options, derivation) => new Envelopes(options, derivation),
};

class Envelopes implements Translator {
  readonly #mapping: Readonly<Record<string, string | null>>;
  readonly #derivation: Derivation;

  constructor({ mapping = {} }: FormatOptions, derivation: Derivation) {
    this.#mapping = mapping;
    this.#derivation = derivation;
  }

  translate(record: Source): readonly Translation[] {
    if (!('data' in record)) return [this.#translate(record, '')];
    textOf(record, 'sensor');
    textOf(record, 'sendTime');
    checkContext(record['dataVersion'], 'dataVersion');
    const { data } = record;
    if (!Array.isArray(data)) throw new Refusal('data', 'must be a list');
    return data.map((event: unknown, place) => {
      if (isObject(event)) return this.#translate(event, `data.${place}.`);
      throw new Refusal(`data.${place}`, 'must be an object');
    });
  }

  #translate(event: Source, before: string): Translation {
    checkContext(event['@context'], `${before}@context`);
    const type = textOf(event, 'type', `${before}type`);
    const action = textOf(event, 'action', `${before}action`);
    const id = textOf(event, 'id', `${before}id`);
    const timestamp = textOf(event, 'eventTime', `${before}eventTime`);
    const who = entityOf(event, 'actor', before);
    const what = entityOf(event, 'object', before);
    if (who['type'] !== undefined && who['type'] !== 'Person') {
      return { dropped: `is not by a person, but by ${wordOf(who['type'])}` };
    }
    const course = courseOf(event, what);
    if (course === undefined) return { dropped: 'names no course' };
    const subject = subjectOf(what);
    const courseId = iriOf(course);
    const isPin = iriOf(subject) !== courseId;
    const meaning = this.#meaningOf(type, action, isPin ? 'pin' : 'board');
    if (meaning === undefined)
      return { dropped: `is of a profile that is not read, or mapped to nothing: ${type}` };
    const derivation = this.#derivation;
    return {
      ...{ id: derivation.eventNumberOf(id.toLowerCase()), ...meaning, timestamp },
      ...{ actor: this.#personOf(who), owner: this.#ownerOf(subject) },
      board: { id: derivation.numberOf('board', courseId), title: nameOf(course) },
      ...(meaning.type === 'pin' && {
        pin: pinOf(derivation, iriOf(subject), nameOf(subject), bodyOf(subject)),
      }),
    };
  }

  #ownerOf(thing: Source): Person | undefined {
    const { creators } = thing;
    const creator: unknown = Array.isArray(creators) ? creators[0] : undefined;
    if (typeof creator === 'string') return this.#personOf({ id: creator });
    return isEntity(creator) ? this.#personOf(creator) : undefined;
  }

  #personOf(entity: Source): Person {
    const iri = iriOf(entity);
    const person = this.#derivation.personOf({ text: iri, word: iri, kind: 'caliper' });
    return { ...person, name: detailOf(entity['name'], person.name.text) };
  }

  /** By `ViewEvent Viewed` first, then by the action alone. */
  #meaningOf(profile: string, action: string, type: string): { type: string; action: string } | undefined {
    const mapped = [`${profile} ${action}`, action].find((name) => Object.hasOwn(this.#mapping, name));
    if (mapped !== undefined) return meaningOf(this.#mapping[mapped]);
    const actions = lookUp(PROFILES, profile);
    return actions && { type, action: lookUp(actions, action) ?? action.toLowerCase() };
  }
}

function bodyOf(thing: Source): string | undefined {
  const body = thing['description'];
  return typeof body === 'string' ? body : undefined;
}

/** One context, or a list with one of Caliper in it. */
function checkContext(given: unknown, name: string): void {
  const contexts: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (contexts.some((context) => typeof context === 'string' && CONTEXT.test(context))) return;
  throw new Refusal(name, given === undefined ? 'is required' : 'is not that of Caliper 1.1 or 1.2');
}

/** An entity can be written as its IRI alone. Throws `Refusal`. */
function entityOf(event: Source, member: string, before: string): Source {
  const given = event[member];
  const entity = typeof given === 'string' ? { id: given } : memberOf(event, member, `${before}${member}`);
  textOf(entity, 'id', `${before}${member}.id`);
  return entity;
}

function iriOf(entity: Source): string {
  return wordOf(entity['id']);
}

function nameOf(entity: Source): Detail {
  return detailOf(entity['name'], iriOf(entity));
}

/** A message is a comment on the thread that it is part of. */
function subjectOf(object: Source): Source {
  const thread = object['isPartOf'];
  return object['type'] === 'Message' && isEntity(thread) ? thread : object;
}

/** The group of the event, when it is a course, else what the object is part of. */
function courseOf(event: Source, object: Source): Source | undefined {
  const { group } = event;
  if (isEntity(group) && COURSES.has(wordOf(group['type']))) return group;
  let thing: unknown = object;
  for (let depth = 0; depth < DEEPEST && isEntity(thing); depth++) {
    if (COURSES.has(wordOf(thing['type']))) return thing;
    thing = thing['isPartOf'];
  }
  return isEntity(group) ? group : undefined;
}

function isEntity(value: unknown): value is Source {
  return isObject(value) && typeof value['id'] === 'string';
}
