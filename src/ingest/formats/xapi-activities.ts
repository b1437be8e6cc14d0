/** The activities of a statement: what it is about, the course, and the thread of a reply. */
import { type Detail, detailOf, type FormatSource, isObject, textOf, wordOf } from './format.ts';

export interface XapiActivity {
  readonly iri: string;
  readonly title: Detail;
  readonly description: string | undefined;
}

const COURSE = /[/#:]course$/i;
const THREAD = /[/#:]discussion$/i;
const REPLY = /[/#:](?:forum-reply|comment)$/i;
/** Help that a system shows on demand. */
const HELP = /[/#:](?:solution|supplemental-info)$/i;

const CONTEXT_ACTIVITIES = 'context.contextActivities';

/** Throws `Refusal` when the activity has no id. */
export function activityOf(activity: FormatSource, name: string): XapiActivity {
  const iri = textOf(activity, 'id', `${name}.id`);
  const definition = definitionOf(activity);
  return {
    iri,
    title: detailOf(languageOf(definition['name']), iri),
    description: languageOf(definition['description']),
  };
}

/** The object of a statement among the activities that it is part of. May throw `Refusal`. */
export class Surroundings {
  readonly #object: FormatSource;
  readonly #grouping: readonly FormatSource[];
  readonly #parents: readonly FormatSource[];

  constructor(statement: FormatSource, object: FormatSource) {
    this.#object = object;
    const activities = contextOf(statement)['contextActivities'];
    const listOf = (relation: string) => {
      const listed = isObject(activities) ? activities[relation] : undefined;
      return (Array.isArray(listed) ? listed : [listed]).filter(isObject);
    };
    this.#grouping = listOf('grouping');
    this.#parents = listOf('parent');
  }

  /**
   * The first grouping or parent that is a course, or the object if it is one; otherwise the first
   * grouping or parent of any type, if possible other than a thread.
   */
  get course(): XapiActivity | undefined {
    const around = [...this.#grouping, ...this.#parents];
    const object = this.#object;
    const course =
      around.find((one) => COURSE.test(typeOf(one))) ??
      (COURSE.test(typeOf(object)) ? object : undefined) ??
      around.find((one) => !THREAD.test(typeOf(one))) ??
      around[0];
    return course && activityOf(course, course === object ? 'object' : CONTEXT_ACTIVITIES);
  }

  /** The first grouping, whatever its type. */
  get group(): XapiActivity | undefined {
    const [group] = this.#grouping;
    return group && activityOf(group, CONTEXT_ACTIVITIES);
  }

  /**
   * The thread that the object is part of: the first parent or grouping that is a discussion. For a
   * comment that names none, its first parent.
   */
  get thread(): XapiActivity | undefined {
    const isOther = (one: FormatSource) => one['id'] !== this.#object['id'] && !COURSE.test(typeOf(one));
    const thread = [...this.#parents, ...this.#grouping].find(
      (one) => THREAD.test(typeOf(one)) && isOther(one),
    );
    const commented = REPLY.test(typeOf(this.#object)) ? this.#parents.find(isOther) : undefined;
    const found = thread ?? commented;
    return found && activityOf(found, CONTEXT_ACTIVITIES);
  }

  get isAboutHelp(): boolean {
    return HELP.test(typeOf(this.#object));
  }

  get isAboutThread(): boolean {
    return THREAD.test(typeOf(this.#object));
  }
}

export function contextOf(statement: FormatSource): FormatSource {
  return isObject(statement['context']) ? statement['context'] : {};
}

function definitionOf(activity: FormatSource): FormatSource {
  return isObject(activity['definition']) ? activity['definition'] : {};
}

function typeOf(activity: FormatSource): string {
  return wordOf(definitionOf(activity)['type']);
}

/** The text in English, or else in the first language of the map. */
function languageOf(map: unknown): string | undefined {
  if (!isObject(map)) return undefined;
  const texts = Object.entries(map);
  const [, text] = texts.find(([language]) => /^en\b/i.test(language)) ?? texts[0] ?? [];
  return typeof text === 'string' && text !== '' ? text : undefined;
}
