/**
 * Log reports of Moodle, downloaded as CSV from its page "Logs", of a course or of the whole site:
 * the newest row first, local times without a zone. Header, event names and contexts are in the
 * language of the page. The columns have one order and the descriptions, which contain the ids, are
 * English whatever the language.
 */
import { AppError } from '../../domain/app-error.ts';
import { Refusal } from '../fields/refusal.ts';
import {
  type Derivation,
  type Detail,
  detailOf,
  type Format,
  type FormatOptions,
  type FormatSource,
  invalidEmail,
  lookUp,
  meaningOf,
  type NamedPerson,
  type Translation,
  type Translator,
  wordOf,
} from './format.ts';
import { LocalTimes } from './local-time.ts';

/**
 * Event type and action by the event name; null if Moodle logs the same act in another row as well.
 * All other events concern teachers or the system.
 */
export const MEANINGS: Readonly<Record<string, string | null>> = {
  'Course viewed': 'board.visited',
  'Course section viewed': 'board.visited',
  'User enrolled in course': 'board.followed',
  'User unenrolled from course': 'board.unfollowed',
  'Course module viewed': 'pin.visited',
  'Course module created': 'pin.created',
  'Course module instance list viewed': 'board.visited',
  'Discussion viewed': 'pin.visited',
  'Discussion created': 'pin.commented',
  'Post created': 'pin.commented',
  'Some content has been posted.': null,
  'Comment created': 'pin.commented',
  'Subscription created': 'pin.followed',
  'Subscription deleted': 'pin.unfollowed',
  'Discussion subscription created': 'pin.followed',
  'Discussion subscription deleted': 'pin.unfollowed',
  'The status of the submission has been viewed.': 'pin.visited',
  'Submission form viewed.': 'pin.visited',
  'A submission has been submitted.': 'pin.submitted',
  'Quiz attempt submitted': 'pin.submitted',
  'Quiz attempt started': 'pin.started',
  'Quiz attempt viewed': 'pin.visited',
  'Quiz attempt reviewed': 'pin.visited',
};

/**
 * English names by what descriptions say after the user and `has`. Anchored, because descriptions
 * of searches contain texts of users.
 */
const NAMES: readonly (readonly [said: RegExp, name: string])[] = [
  [/^viewed the (?:section number '\d+' of the )?course with id '/, 'Course viewed'],
  [/^viewed the instance list for the module '/, 'Course module instance list viewed'],
  [/^enrolled the user with id '/, 'User enrolled in course'],
  [/^unenrolled the user with id '/, 'User unenrolled from course'],
  [/^viewed the '[^']*' activity with (?:the )?course module id '/, 'Course module viewed'],
  [/^created the '[^']*' activity with (?:the )?course module id '/, 'Course module created'],
  [/^viewed the discussion with id '/, 'Discussion viewed'],
  [/^created the discussion with id '/, 'Discussion created'],
  [/^created the post with id '/, 'Post created'],
  [/^posted content in the forum post with id '/, 'Some content has been posted.'],
  [/^added the comment with id '/, 'Comment created'],
  [/^subscribed the user with id '\d+' to the forum /, 'Subscription created'],
  [/^unsubscribed the user with id '\d+' from the forum /, 'Subscription deleted'],
  [/^subscribed the user with id '\d+' to the discussion /, 'Discussion subscription created'],
  [/^unsubscribed the user with id '\d+' from the discussion /, 'Discussion subscription deleted'],
  [/^viewed the submission status page for the assignment /, 'The status of the submission has been viewed.'],
  [/^viewed (?:their submission|the submission form for the user) /, 'Submission form viewed.'],
  [/^submitted the submission with id '\d+' for the assignment /, 'A submission has been submitted.'],
  [/^submitted the attempt with id '\d+' for the quiz /, 'Quiz attempt submitted'],
  [/^started the attempt with id '\d+' for the quiz /, 'Quiz attempt started'],
  [/^viewed the attempt with id '\d+' belonging to the user /, 'Quiz attempt viewed'],
  [/^had their attempt with id '\d+' reviewed /, 'Quiz attempt reviewed'],
];

/** Meanings of which the later in the same minute counts. */
const OPPOSITES: ReadonlySet<unknown> = new Set(['board.followed', 'board.unfollowed']);

/** Ids have at most 40 digits: converting millions of them takes many seconds. */
const ACTOR = /^The user with (?:the )?id '(-?\d{1,40})'/;
const DEED = /^The user with (?:the )?id '-?\d{1,40}' (?:has )?(.*)/s;
/** Also matches `unenrolled` and `unsubscribed`. */
const AFFECTED = /(?:enrolled|subscribed) the user with id '(\d{1,40})'/;
/** A restored course is not the one that it was made of. */
const COURSE = /(?:(?<!old )course with (?:the )?id '|at course: )(\d{1,40})(?!\d)/;
const MODULE = /course module (?:with )?id '(\d{1,40})'/;
/** The sort of the object, in any language, and its title: `File: MIG`. */
const CONTEXT = /^([^:]*): (.+)$/s;

export const moodleLog: Format = {
  name: 'moodle-log',
  forms: ['csv'],
  columns: ['Time', 'Event context', 'Event name', 'Description'],
  layout: [
    ...['Time', 'User full name', 'Affected user', 'Event context', 'Component', 'Event name'],
    ...['Description', 'Origin', 'IP address'],
  ],
  isLocal: true,
  open: (options, derivation) => new MoodleLog(options, derivation),
};

class MoodleLog implements Translator {
  readonly #times: LocalTimes;
  readonly #mapping: Readonly<Record<string, string | null>>;
  readonly #derivation: Derivation;
  /** The titles of the courses that the file names; undefined where no row gives one. */
  readonly #courses = new Map<bigint, string | undefined>();
  /** What contexts call a course, in the languages of the file. */
  readonly #courseWords = new Set(['Course']);
  /**
   * Number of occurrences of each row, by its digest. Times are in minutes, so a user can do the
   * same twice at one time.
   */
  readonly #repeats = new Map<number, number>();
  /** The latest enrolment or unenrolment of each user in each minute, as its meaning. */
  readonly #latest = new Map<string, string>();

  constructor({ timeZone, dateOrder, mapping = {} }: FormatOptions, derivation: Derivation) {
    if (timeZone === undefined) {
      throw new AppError(
        'option-malformed',
        'A Moodle log does not contain its time zone. Give it, like --time-zone Asia/Muscat.',
      );
    }
    this.#times = new LocalTimes(timeZone, dateOrder);
    this.#mapping = { ...MEANINGS, ...mapping };
    this.#derivation = derivation;
  }

  survey(record: FormatSource): void {
    this.#times.survey(record['Time']);
    const name = this.#nameOf(record);
    this.#surveyCourse(record, name);
    const meaning = lookUp(this.#mapping, name);
    if (typeof meaning !== 'string' || !OPPOSITES.has(meaning)) return;
    const minute = minuteOf(record);
    // The newest row is the first.
    if (!this.#latest.has(minute)) this.#latest.set(minute, meaning);
  }

  #surveyCourse(record: FormatSource, name: string): void {
    const course = courseOf(record);
    if (course === undefined) return;
    const [, word = '', title] = CONTEXT.exec(wordOf(record['Event context'])) ?? [];
    // Only these rows certainly have the course as their context.
    if (title !== undefined && lookUp(MEANINGS, name)?.startsWith('board.')) this.#courseWords.add(word);
    this.#courses.set(course, this.#courses.get(course) ?? (this.#courseWords.has(word) ? title : undefined));
  }

  endSurvey(): void {
    this.#times.endSurvey('Time');
    if (this.#courses.size === 0) throw new Refusal('Description', 'no row contains the id of the course');
  }

  translate(record: FormatSource): readonly Translation[] {
    return [this.#translate(record)];
  }

  #translate(record: FormatSource): Translation {
    const name = this.#nameOf(record);
    const description = wordOf(record['Description']);
    // Checked for every row, even one that is dropped: a wrong time means a damaged row.
    const timestamp = this.#times.read(record['Time'], 'Time');
    const meant = lookUp(this.#mapping, name);
    if (meant === null && lookUp(MEANINGS, name) === null) return { dropped: `repeats another row: ${name}` };
    const meaning = meaningOf(meant, MODULE.test(description) ? 'pin' : 'board');
    if (meaning === undefined) return { dropped: `is not mapped to an event: ${name}` };
    const actor = actorOf(record);
    if (actor === undefined) return { dropped: `names no user: ${name}` };
    const course = courseOf(record) ?? this.#onlyCourse;
    if (course === undefined) {
      return { dropped: `names no course, in a log of several; download the log of each: ${name}` };
    }
    if (this.#isUndone(record, name)) return { dropped: `was undone in the same minute: ${name}` };
    const id = this.#idOf(
      `${course}\n${this.#times.readLocal(record['Time'], 'Time')}\n${name}\n${description}`,
    );
    const board = { id: course, title: detailOf(this.#courses.get(course), `Course ${course}`) };
    const about = { id, ...meaning, actor, owner: undefined, board, timestamp };
    if (meaning.type !== 'pin') return about;
    const module = MODULE.exec(description)?.[1];
    if (module === undefined) return { dropped: `names no course module: ${name}` };
    return { ...about, pin: { id: BigInt(module), title: this.#titleOf(record, module) } };
  }

  /**
   * The course of rows that name none: most rows about modules. In a log of several courses it is
   * unknown.
   */
  get #onlyCourse(): bigint | undefined {
    const [course] = this.#courses.keys();
    return this.#courses.size === 1 ? course : undefined;
  }

  /** The name of the event, in English if its description shows it. */
  #nameOf(record: FormatSource): string {
    const name = wordOf(record['Event name']);
    if (lookUp(this.#mapping, name) !== undefined) return name;
    const deed = DEED.exec(wordOf(record['Description']))?.[1];
    if (deed === undefined) return name;
    return NAMES.find(([said]) => said.test(deed))?.[1] ?? name;
  }

  #titleOf(record: FormatSource, module: string): Detail {
    const [, word = '', title] = CONTEXT.exec(wordOf(record['Event context'])) ?? [];
    return detailOf(this.#courseWords.has(word) ? '' : title?.trim(), `Course module ${module}`);
  }

  /**
   * The same repeat of a row has the same id in every file, wherever the file begins and whatever
   * the given zone.
   */
  #idOf(row: string): bigint {
    const digest = Number(BigInt.asUintN(53, this.#derivation.eventNumberOf(row)));
    const repeat = (this.#repeats.get(digest) ?? 0) + 1;
    this.#repeats.set(digest, repeat);
    return this.#derivation.eventNumberOf(`moodle ${repeat} ${row}`);
  }

  #isUndone(record: FormatSource, name: string): boolean {
    const meaning = lookUp(this.#mapping, name);
    return OPPOSITES.has(meaning) && this.#latest.get(minuteOf(record)) !== meaning;
  }
}

function courseOf(record: FormatSource): bigint | undefined {
  const id = COURSE.exec(wordOf(record['Description']))?.[1];
  return id === undefined ? undefined : BigInt(id);
}

/** Identifies the time, user and course of an enrolment or unenrolment. */
function minuteOf(record: FormatSource): string {
  return JSON.stringify([record['Time'], String(actorOf(record)?.id), String(courseOf(record))]);
}

/**
 * On an enrolment, a subscription or the end of one, the actor is the user who is enrolled or
 * subscribed, not the user who does it.
 */
function actorOf(record: FormatSource): NamedPerson | undefined {
  const description = wordOf(record['Description']);
  const affected = AFFECTED.exec(description)?.[1];
  const id = affected ?? ACTOR.exec(description)?.[1];
  if (id === undefined) return undefined;
  const written = affected === undefined ? record['User full name'] : record['Affected user'];
  const fullName = written === '-' ? undefined : written;
  return {
    id: BigInt(id),
    email: invalidEmail(`${BigInt(id)}`, 'moodle'),
    name: detailOf(fullName, `User ${id}`),
  };
}
