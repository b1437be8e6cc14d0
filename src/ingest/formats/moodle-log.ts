/**
 * Log reports of Moodle, downloaded as CSV from its page "Logs": one course per file, the newest
 * row first, local times without a zone. Ids are in the descriptions, which Moodle writes in
 * English regardless of the language of the page.
 */
import { AppError } from '../../domain/app-error.ts';
import { Refusal } from '../fields/refusal.ts';
import {
  type Derivation,
  type Detail,
  derived,
  detailOf,
  type Format,
  type FormatOptions,
  type FormatSource,
  given,
  invalidEmail,
  lookUp,
  meaningOf,
  type NamedPerson,
  type Translation,
  type Translator,
  wordOf,
} from './format.ts';
import { LocalTimes } from './local-time.ts';

/** Event type and action by the event name. All other events concern teachers or the system. */
export const MEANINGS: Readonly<Record<string, string>> = {
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
  'Some content has been posted.': 'pin.commented',
  'Comment created': 'pin.commented',
  'Subscription created': 'pin.followed',
  'Discussion subscription created': 'pin.followed',
  'The status of the submission has been viewed.': 'pin.visited',
  'Submission form viewed.': 'pin.visited',
  'A submission has been submitted.': 'pin.submitted',
  'Quiz attempt submitted': 'pin.submitted',
  'Quiz attempt started': 'pin.started',
  'Quiz attempt viewed': 'pin.visited',
  'Quiz attempt reviewed': 'pin.visited',
};

/** Meanings of which the later in the same minute counts. */
const OPPOSITES: ReadonlySet<unknown> = new Set(['board.followed', 'board.unfollowed']);

/** Ids have at most 40 digits: converting millions of them takes many seconds. */
const ACTOR = /^The user with id '(\d{1,40})'/;
/** Also matches `unenrolled`. */
const ENROLLED = /enrolled the user with id '(\d{1,40})'/;
const COURSE = /(?:course with (?:the )?id '|at course: )(\d{1,40})(?!\d)/;
const MODULE = /course module (?:with )?id '(\d{1,40})'/;
const COURSE_TITLE = /^Course: (.+)$/;

export const moodleLog: Format = {
  name: 'moodle-log',
  forms: ['csv'],
  columns: ['Time', 'Event context', 'Event name', 'Description'],
  isLocal: true,
  open: (options, derivation) => new MoodleLog(options, derivation),
};

class MoodleLog implements Translator {
  readonly #times: LocalTimes;
  readonly #mapping: Readonly<Record<string, string | null>>;
  readonly #derivation: Derivation;
  #course: bigint | undefined;
  #courseTitle: string | undefined;
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
    const { Time: time, 'Event context': context, Description: description } = record;
    this.#times.survey(time);
    const course = COURSE.exec(wordOf(description))?.[1];
    if (this.#course === undefined && course !== undefined) this.#course = BigInt(course);
    this.#courseTitle ??= COURSE_TITLE.exec(wordOf(context))?.[1];
    const meaning = lookUp(this.#mapping, wordOf(record['Event name']));
    if (typeof meaning !== 'string' || !OPPOSITES.has(meaning)) return;
    const minute = minuteOf(record);
    // The newest row is the first.
    if (!this.#latest.has(minute)) this.#latest.set(minute, meaning);
  }

  endSurvey(): void {
    this.#times.endSurvey('Time');
    if (this.#course === undefined) throw new Refusal('Description', 'no row contains the id of the course');
  }

  translate(record: FormatSource): readonly Translation[] {
    return [this.#translate(record)];
  }

  #translate(record: FormatSource): Translation {
    const name = wordOf(record['Event name']);
    const description = wordOf(record['Description']);
    // Checked for every row, even one that is dropped: a wrong time means a damaged row.
    const timestamp = this.#times.read(record['Time'], 'Time');
    const meaning = meaningOf(lookUp(this.#mapping, name), MODULE.test(description) ? 'pin' : 'board');
    if (meaning === undefined) return { dropped: `is not mapped to an event: ${name}` };
    const actor = actorOf(record);
    if (actor === undefined) return { dropped: `names no user: ${name}` };
    const course = this.#course!;
    const named = COURSE.exec(description)?.[1];
    if (named !== undefined && BigInt(named) !== course)
      return { dropped: `belongs to a different course: ${named}` };
    if (this.#isUndone(record, name)) return { dropped: `was undone in the same minute: ${name}` };
    const id = this.#idOf(
      `${course}\n${this.#times.readLocal(record['Time'], 'Time')}\n${name}\n${description}`,
    );
    const title = this.#courseTitle === undefined ? derived(`Course ${course}`) : given(this.#courseTitle);
    const about = { id, ...meaning, actor, owner: undefined, board: { id: course, title }, timestamp };
    if (meaning.type !== 'pin') return about;
    const module = MODULE.exec(description)?.[1];
    if (module === undefined) return { dropped: `names no course module: ${name}` };
    return { ...about, pin: { id: BigInt(module), title: titleOf(record, module) } };
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

/** Identifies the time, user and course of an enrolment or unenrolment. */
function minuteOf(record: FormatSource): string {
  const course = COURSE.exec(wordOf(record['Description']))?.[1];
  return JSON.stringify([record['Time'], String(actorOf(record)?.id), course]);
}

/**
 * On enrolment and unenrolment, the actor is the user who is enrolled or unenrolled, not the user
 * who does it.
 */
function actorOf(record: FormatSource): NamedPerson | undefined {
  const description = wordOf(record['Description']);
  const enrolled = ENROLLED.exec(description)?.[1];
  const id = enrolled ?? ACTOR.exec(description)?.[1];
  if (id === undefined) return undefined;
  const written = enrolled === undefined ? record['User full name'] : record['Affected user'];
  const fullName = written === '-' ? undefined : written;
  return {
    id: BigInt(id),
    email: invalidEmail(`${BigInt(id)}`, 'moodle'),
    name: detailOf(fullName, `User ${id}`),
  };
}

/** The part of the context after the sort of the module: `MIG` of `File: MIG`. */
function titleOf(record: FormatSource, module: string): Detail {
  const context = wordOf(record['Event context']);
  const colon = context.indexOf(': ');
  const title = colon < 0 ? '' : context.slice(colon + 2).trim();
  return detailOf(context.startsWith('Course: ') ? '' : title, `Course module ${module}`);
}
