/**
 * Log reports of Moodle, as its page "Logs" downloads them in CSV: one course a file, the newest row first, local times
 * without a zone. Ids stand in the descriptions, which Moodle writes in English whatever the language of the page.
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

/** By the name of the event. All others are the business of teachers and of the system. */
export const MEANINGS: Readonly<Record<string, string>> = {
  'Course viewed': 'board.visited',
  'Course section viewed': 'board.visited',
  'User enrolled in course': 'board.followed',
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

const ACTOR = /^The user with id '(\d+)'/;
const ENROLLED = /enrolled the user with id '(\d+)'/;
const COURSE = /(?:course with (?:the )?id '|at course: )(\d+)/;
const MODULE = /course module (?:with )?id '(\d+)'/;
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
  /** How often each row has come, by its digest: a file gives minutes, in which the same can be done again. */
  readonly #repeats = new Map<number, number>();

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
    // Every row is read, whatever it stands for: a wrong time is a damaged row.
    const timestamp = this.#times.read(record['Time'], 'Time');
    const meaning = meaningOf(lookUp(this.#mapping, name));
    if (meaning === undefined) return { dropped: `is not mapped to an event: ${name}` };
    const actor = this.#actorOf(record, name);
    if (actor === undefined) return { dropped: `names no user: ${name}` };
    const course = this.#course!;
    const named = COURSE.exec(description)?.[1];
    if (named !== undefined && BigInt(named) !== course)
      return { dropped: `belongs to a different course: ${named}` };
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

  /** The same for the same repeat of a row in every file, wherever the file begins and whatever zone is named. */
  #idOf(row: string): bigint {
    const digest = Number(BigInt.asUintN(53, this.#derivation.eventNumberOf(row)));
    const repeat = (this.#repeats.get(digest) ?? 0) + 1;
    this.#repeats.set(digest, repeat);
    return this.#derivation.eventNumberOf(`moodle ${repeat} ${row}`);
  }

  /** Whoever is enrolled follows, not who enrols them. */
  #actorOf(record: FormatSource, name?: string): NamedPerson | undefined {
    const description = wordOf(record['Description']);
    const enrolled = name === undefined ? undefined : ENROLLED.exec(description)?.[1];
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
}

/** What the context says after the sort of the module, `File: MIG`. */
function titleOf(record: FormatSource, module: string): Detail {
  const context = wordOf(record['Event context']);
  const colon = context.indexOf(': ');
  const title = colon < 0 ? '' : context.slice(colon + 2).trim();
  return detailOf(context.startsWith('Course: ') ? '' : title, `Course module ${module}`);
}
