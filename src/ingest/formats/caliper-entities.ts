/**
 * The entities of a Caliper envelope. An event contains each of its entities in full, or only the
 * identifier (an IRI). The envelope can also list entities beside events to describe them.
 */
import { type FormatSource, isObject, wordOf } from './format.ts';

const COURSES = new Set(['CourseOffering', 'CourseSection']);
/** Types of entities that, by the standard, are part of something other than a course. */
const PARTS_OF_OTHERS = new Set([
  ...['Message', 'Thread', 'AssessmentItem', 'QuestionnaireItem', 'Frame', 'MediaLocation', 'Chapter'],
]);
/** Limits the chain of `isPartOf`, because an entity can be part of itself. */
const DEEPEST = 16;
const ADDRESS = /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]{1,255}$/u;

export class Entities {
  readonly #described = new Map<string, FormatSource>();

  /** `data` contains the events and entities of an envelope. */
  constructor(data: readonly unknown[]) {
    for (const one of data) if (isDescription(one)) this.#note(one, DEEPEST);
  }

  /** Notes a description, and those inside it: the next may name the same creator by IRI alone. */
  #note(entity: FormatSource, depth: number): void {
    if (iriOf(entity) !== '') this.#described.set(iriOf(entity), this.#withDescription(entity));
    if (depth === 0) return;
    const { creators, isPartOf } = entity;
    const inside = [...(Array.isArray(creators) ? creators : []), isPartOf].filter(isObject);
    for (const one of inside) this.#note(one, depth - 1);
  }

  /**
   * The entity, given in full or by its IRI, completed by its description in the envelope;
   * undefined for any other value.
   */
  find(given: unknown): FormatSource | undefined {
    const entity = typeof given === 'string' ? { id: given } : given;
    return isObject(entity) && iriOf(entity) !== '' ? this.#withDescription(entity) : undefined;
  }

  /** The entity, the entity it is part of, and so on, at most 16. */
  around(entity: FormatSource): readonly FormatSource[] {
    return this.#chain(entity, (one) => this.find(one['isPartOf']) ?? this.#courseInExtensions(one));
  }

  /** The organization, the organization it belongs to, and so on, at most 16. */
  organizations(organization: FormatSource): readonly FormatSource[] {
    return this.#chain(organization, (one) => this.find(one['subOrganizationOf']));
  }

  #chain(
    first: FormatSource,
    nextOf: (entity: FormatSource) => FormatSource | undefined,
  ): readonly FormatSource[] {
    const found = [first];
    let next = nextOf(first);
    while (
      next !== undefined &&
      found.length < DEEPEST &&
      !found.some((one) => iriOf(one) === iriOf(next!))
    ) {
      found.push(next);
      next = nextOf(next);
    }
    return found;
  }

  /** Open edX names the course there, because not every type of entity has `isPartOf`. */
  #courseInExtensions({ extensions }: FormatSource): FormatSource | undefined {
    const whole = isObject(extensions) ? this.find(extensions['isPartOf']) : undefined;
    return whole !== undefined && isCourse(whole) ? whole : undefined;
  }

  #withDescription(entity: FormatSource): FormatSource {
    const described = this.#described.get(iriOf(entity));
    if (described === undefined) return entity;
    const given = Object.entries(entity).filter(([, value]) => value !== null && value !== '');
    return { ...described, ...Object.fromEntries(given) };
  }
}

/** Whether an item of an envelope is an entity rather than an event. */
export function isDescription(one: unknown): one is FormatSource {
  if (!isObject(one) || 'action' in one || 'eventTime' in one) return false;
  const type = wordOf(one['type']);
  return type !== '' && !type.endsWith('Event');
}

export function iriOf(entity: FormatSource): string {
  return wordOf(entity['id']);
}

export function isCourse(entity: FormatSource): boolean {
  return COURSES.has(wordOf(entity['type']));
}

/**
 * The course of an event, the first of: a course among the group and the organizations it belongs
 * to; a course among the object and the entities it is part of; the group, if it is anything else;
 * the last entity of the chain, if only its IRI is known and it can be a course.
 */
export function courseOf(
  groups: readonly FormatSource[],
  around: readonly FormatSource[],
): FormatSource | undefined {
  const course = groups.find(isCourse) ?? around.find(isCourse) ?? groups[0];
  if (course !== undefined) return course;
  const [part, whole] = around.slice(-2);
  const isOpen = part !== undefined && whole !== undefined && whole['type'] === undefined;
  return isOpen && !PARTS_OF_OTHERS.has(wordOf(part['type'])) ? whole : undefined;
}

/** The first e-mail address in `otherIdentifiers` of a person (Caliper 1.2). */
export function addressOf(person: FormatSource): string | undefined {
  const { otherIdentifiers: listed } = person;
  const identifiers = Array.isArray(listed) ? listed.filter(isObject) : [];
  return identifiers
    .filter(({ identifierType }) => identifierType === 'EmailAddress')
    .map(({ identifier }) => wordOf(identifier))
    .find((address) => ADDRESS.test(address));
}
