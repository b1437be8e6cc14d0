/**
 * An import of records of other software: each becomes events and records of a bundle, or is
 * dropped with a reason, and is counted for the report.
 */
import { basename } from 'node:path';
import type { Dataset } from '../dataset/dataset.ts';
import { AppError } from '../domain/app-error.ts';
import { shortened } from '../domain/shortened-text.ts';
import { localTimesOf } from '../store/local-times.ts';
import type { DeletionOf, NameRecord, StagedProblem } from '../store/staging.ts';
import type { LocalTimeSpan, UnmatchedDeletions } from '../store/store.ts';
import { ExternalRecords } from './external-records.ts';
import { Refusal } from './fields/refusal.ts';
import { plainDerivation } from './formats/derivation.ts';
import {
  type Derivation,
  type ForeignEvent,
  type ForeignForm,
  type Format,
  type FormatOptions,
  type FormatSource,
  lookUp,
  type PublishedUser,
  type Translation,
  type Translator,
  UNKNOWN_OWNER,
} from './formats/format.ts';
import { ImportedUsers } from './imported-users.ts';
import type { Input } from './input/bundle.ts';
import type { OpenInput } from './input/open-input.ts';
import type { ReadParquet } from './input/parquet-input.ts';
import { PlainEvents } from './records/plain-events.ts';
import { readRecords } from './records/reading.ts';
import { decodePlace, renderPlace } from './records/record-place.ts';

/** The format of the inputs of an import, and its options. */
export interface ExternalFormat {
  readonly format: Format;
  readonly options: FormatOptions;
  /** The code page of CSV files, by a name that `TextDecoder` knows; absent: UTF-8. */
  readonly encoding?: string | undefined;
}

interface CountedPlaces {
  readonly count: number;
  /** The first three, as `file:line`. */
  readonly examples: readonly string[];
}

/** Records that were dropped or altered for the same reason. */
export interface RecordsByReason extends CountedPlaces {
  readonly reason: string;
}

/** Lines about which the same was assumed, because their file can be read in several ways. */
interface LinesByAssumption extends CountedPlaces {
  readonly assumption: string;
}

export interface ConvertedRecords {
  /**
   * Number of events by type and action (`pin.visited`), in descending order. More than a thousand
   * actions are counted together.
   */
  readonly events: Readonly<Record<string, number>>;
  /** In descending order of `count`. */
  readonly dropped: readonly RecordsByReason[];
  /** Likewise, records of which a value was replaced; absent if there are none. */
  readonly altered?: readonly RecordsByReason[];
  /**
   * Number of events by a word of the source that is in no table of the format and in no mapping;
   * absent if there are none. Counted like `events`.
   */
  readonly unlisted?: Readonly<Record<string, number>>;
  /** Absent if nothing was assumed. */
  readonly assumed?: readonly LinesByAssumption[];
  /**
   * Number of records that describe users, boards or memberships without an event, by kind; absent
   * if there are none.
   */
  readonly described?: Readonly<Record<string, number>>;
  /** Likewise, of records that delete users, boards, memberships or events. */
  readonly deleted?: Readonly<Record<string, number>>;
}

const EXAMPLES = 3;
/** A limit, because actions and reasons contain words of the source, which can be anything. */
const MOST_NAMES = 1000;
const LONGEST_REASON = 200;
const UNMATCHED = 'is about a voided statement that was not imported';
const OTHER_REASONS = 'other reasons';
const OTHER_ACTIONS = 'other actions';
const OTHER_WORDS = 'other words';

/**
 * Throws `option-malformed` when a required option is missing, a kind cannot be replaced, or an
 * input that must be read twice cannot be.
 */
export function checkExternal({ format, options }: ExternalFormat, inputs: readonly Input[]): void {
  const kept = options.replaced?.find((kind) => format.replaceable?.includes(kind) !== true);
  if (kept !== undefined) {
    throw new AppError(
      'option-malformed',
      `Files of the format ${format.name} do not contain all ${kept}. Leave out --replace ${kept}.`,
    );
  }
  // This translator is used only for these checks; it derives nothing.
  if (format.open(options, plainDerivation).survey === undefined) return;
  const stream = inputs.find(({ byteLength }) => byteLength === undefined);
  if (stream === undefined) return;
  throw new AppError(
    'option-malformed',
    `The format ${format.name} is read twice, so it cannot come from ${stream.name}. Use a file.`,
  );
}

/** Reads the current version, if there is one. */
type ReadCurrent = (read: (dataset: Dataset) => Promise<void>) => Promise<void>;

export class RecordConversions {
  readonly things = new ExternalRecords();
  readonly #users = new ImportedUsers(this.things);
  readonly deletedEvents: DeletionOf['events'][] = [];
  readonly #foreign: ExternalFormat;
  readonly #derivation: Derivation;
  readonly #readCurrent: ReadCurrent;
  readonly #events = new Map<string, number>();
  readonly #dropped = new ReasonCounts();
  readonly #altered = new ReasonCounts();
  readonly #assumed = new ReasonCounts();
  readonly #unlisted = new Map<string, number>();
  readonly #described = new Map<string, number>();
  readonly #deleted = new Map<string, number>();
  /** Users of the current version, if the format has a `userProperty`. */
  readonly #published: PublishedUser[] = [];
  /** The translator of all inputs, if the format is `isWhole`. */
  #whole: Translator | undefined;
  #knowsAddresses = false;
  #earliestMs = Number.POSITIVE_INFINITY;
  #latestMs = Number.NEGATIVE_INFINITY;

  constructor(foreign: ExternalFormat, derivation: Derivation, readCurrent: ReadCurrent) {
    this.#foreign = foreign;
    this.#derivation = derivation;
    this.#readCurrent = readCurrent;
  }

  /** Reads what is needed of the current version. */
  async learn(): Promise<void> {
    const { userProperty } = this.#foreign.format;
    await this.#readCurrent(async (dataset) => {
      await this.things.learn(dataset);
      if (userProperty === undefined) return;
      for await (const user of usersWith(dataset, userProperty)) this.#published.push(user);
    });
  }

  /** Reads the published addresses before the first records that may contain a digest of one. */
  async learnFor(records: readonly { readonly raw: string }[]): Promise<void> {
    const { digestMember } = this.#foreign.format;
    if (digestMember === undefined || this.#knowsAddresses) return;
    if (!records.some(({ raw }) => raw.includes(digestMember))) return;
    this.#knowsAddresses = true;
    await this.#readCurrent((dataset) => this.#users.learn(dataset));
  }

  /** The problem in terms of the source. */
  explain(problem: StagedProblem): StagedProblem {
    const { columnOf = {} } = this.#foreign.format;
    return { ...problem, field: lookUp(columnOf, problem.field) ?? problem.field };
  }

  /** Names records as the source does, or by their place in `files`; published ones by their id. */
  namesIn(files: readonly string[]): NameRecord {
    return (kind, id, place) => {
      const name = this.#whole?.nameOf?.(kind, id);
      if (name !== undefined || place === undefined) return name ?? `${id}`;
      return `the one of ${renderPlace(basename(files[place.file] ?? ''), decodePlace(place.line))}`;
    };
  }

  /**
   * A translator that has surveyed the input, or all inputs, if the format requires that. Throws
   * `option-malformed` when nothing of the input can be translated.
   */
  async open(open: OpenInput, inputs: readonly OpenInput[], readParquet: ReadParquet): Promise<Translator> {
    const { format, options } = this.#foreign;
    const openTranslator = () => format.open(options, this.#derivation, this.#users);
    const openWith = async (surveyed: readonly OpenInput[]) =>
      await openSurveyed(format, openTranslator, surveyed, readParquet, this.#published);
    if (format.isWhole !== true) return await openWith([open]);
    this.#whole ??= await openWith(inputs);
    return this.#whole;
  }

  /**
   * Counts the results of a valid record, and keeps its descriptions. `place` is its file and line.
   */
  count(translations: readonly Translation[], place: string): void {
    this.things.keepRecord();
    for (const translation of translations) {
      if ('dropped' in translation) this.#dropped.add(translation.dropped, place);
      else if ('altered' in translation) this.#altered.add(translation.altered, place);
      else if ('describes' in translation) addOne(this.#described, translation.describes);
      else if ('deletes' in translation) addOne(this.#deleted, translation.deletes);
      else {
        this.#noteTime(translation.timestamp);
        const kind = `${translation.type}.${translation.action}`;
        addOne(this.#events, nameIn(this.#events, kind, OTHER_ACTIONS));
        const { unlisted } = translation;
        if (unlisted !== undefined)
          addOne(this.#unlisted, nameIn(this.#unlisted, shortened(unlisted, LONGEST_REASON), OTHER_WORDS));
      }
    }
  }

  /** Absent if the times have an offset, or if no event was read. */
  get localTimes(): LocalTimeSpan | undefined {
    const { timeZone } = this.#foreign.options;
    if (timeZone === undefined || this.#latestMs < this.#earliestMs) return undefined;
    return localTimesOf(timeZone, this.#earliestMs, this.#latestMs);
  }

  /** Keeps a deletion until all events are staged, so that it deletes later ones, too. */
  keepDeletion(deletion: DeletionOf['events']): void {
    this.deletedEvents.push(deletion);
  }

  /** Counts deletions of unknown events as dropped. `nameOf` is the name of an input. */
  dropUnmatched({ count, first }: UnmatchedDeletions, nameOf: (file: number) => string): void {
    if (count === 0) return;
    const left = (this.#deleted.get('events') ?? 0) - count;
    if (left > 0) this.#deleted.set('events', left);
    else this.#deleted.delete('events');
    const examples = first.map(({ file, line }) => renderPlace(nameOf(file), decodePlace(line)));
    this.#dropped.addAll(UNMATCHED, { count, examples });
  }

  #noteTime(timestamp: string): void {
    if (this.#foreign.options.timeZone === undefined) return;
    const ms = Date.parse(timestamp);
    this.#earliestMs = Math.min(this.#earliestMs, ms);
    this.#latestMs = Math.max(this.#latestMs, ms);
  }

  /** Counts an assumption about the line at `place`. */
  assume(assumption: string, place: string): void {
    this.#assumed.add(assumption, place);
  }

  /** Whether there were records and all were dropped. */
  get isAllDropped(): boolean {
    const used = [this.#events, this.#described, this.#deleted];
    return this.#dropped.size > 0 && used.every(({ size }) => size === 0);
  }

  get report(): ConvertedRecords {
    const assumed = this.#assumed.sorted.map(({ reason, ...rest }) => ({ assumption: reason, ...rest }));
    return {
      events: descending(this.#events),
      dropped: this.#dropped.sorted,
      ...(this.#altered.size > 0 && { altered: this.#altered.sorted }),
      ...(this.#unlisted.size > 0 && { unlisted: descending(this.#unlisted) }),
      ...(assumed.length > 0 && { assumed }),
      ...(this.#described.size > 0 && { described: Object.fromEntries(this.#described) }),
      ...(this.#deleted.size > 0 && { deleted: Object.fromEntries(this.#deleted) }),
    };
  }
}

class ReasonCounts {
  readonly #counts = new Map<string, { count: number; examples: string[] }>();

  get size(): number {
    return this.#counts.size;
  }

  /** In descending order of `count`. */
  get sorted(): readonly RecordsByReason[] {
    const all = [...this.#counts].map(([reason, { count, examples }]) => ({ reason, count, examples }));
    return all.sort((one, other) => other.count - one.count);
  }

  /** Adds a reason that is counted elsewhere. */
  addAll(reason: string, counted: { readonly count: number; readonly examples: string[] }): void {
    this.#counts.set(reason, counted);
  }

  add(whole: string, place: string): void {
    const name = nameIn(this.#counts, shortened(whole, LONGEST_REASON), OTHER_REASONS);
    const reason = this.#counts.get(name) ?? { count: 0, examples: [] };
    this.#counts.set(name, reason);
    reason.count += 1;
    if (reason.examples.length < EXAMPLES) reason.examples.push(place);
  }
}

/** The published users that have an LMS property. */
async function* usersWith(dataset: Dataset, property: string): AsyncGenerator<PublishedUser> {
  const identifiers = new Map<number, string>();
  for await (const rows of dataset.tables().properties()) {
    for (const [at, user] of rows.user.entries()) {
      if (rows.property[at] === property) identifiers.set(user, rows.value[at] ?? '');
    }
  }
  let index = 0;
  for await (const { id, email } of dataset.records('users')) {
    for (let at = 0; at < id.length; at += 1, index += 1) {
      const identifier = identifiers.get(index);
      if (identifier !== undefined) yield { id: id[at]!, email: email.at(at), identifier };
    }
  }
}

/** The name under which something is counted: `other` when there are too many names. */
function nameIn(counts: ReadonlyMap<string, unknown>, name: string, other: string): string {
  return counts.has(name) || counts.size < MOST_NAMES ? name : other;
}

function addOne(counts: Map<string, number>, kind: string): void {
  counts.set(kind, (counts.get(kind) ?? 0) + 1);
}

function descending(counts: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  return Object.fromEntries([...counts].sort(([, one], [, other]) => other - one));
}

const FORM_WORDS: Readonly<Record<ForeignForm, string>> = { csv: 'a table', json: 'JSON', xml: 'XML' };

async function openSurveyed(
  format: Format,
  openTranslator: () => Translator,
  inputs: readonly OpenInput[],
  readParquet: ReadParquet,
  published: readonly PublishedUser[],
): Promise<Translator> {
  for (const open of inputs) checkForm(format, open);
  const translator = openTranslator();
  if (translator.survey === undefined) return translator;
  let seen = 0;
  for (const open of inputs) {
    for await (const readings of readRecords(open, { readParquet, isLast: false })) {
      if (readings instanceof PlainEvents) continue;
      for (const { read, line } of readings) {
        if (surveyOne(translator, read, `${basename(open.input.name)}:${line}`)) seen += 1;
      }
    }
  }
  for (const user of published) translator.learn?.(user);
  // If no record can be read, each is reported with its own reason.
  if (seen > 0) endSurvey(translator, inputs[0]!);
  return translator;
}

/** Throws `option-malformed` when the form of the input is not one of the format. */
function checkForm({ name, forms }: Format, open: OpenInput): void {
  const { format } = open.form;
  const form = format === 'csv' || format === 'xml' ? format : 'json';
  if (forms.includes(form)) return;
  const wanted = forms.map((one) => FORM_WORDS[one]).join(' or ');
  throw misread(open, `is ${FORM_WORDS[form]}, but ${name} is ${wanted}`);
}

/**
 * A failed survey means that the file requires different options. It is not an invalid record that
 * could be skipped.
 */
function endSurvey(translator: Translator, open: OpenInput): void {
  try {
    translator.endSurvey?.();
  } catch (error) {
    if (error instanceof Refusal) throw misread(open, `${error.field} ${error.reason}`);
    throw error;
  }
}

function misread({ input }: OpenInput, reason: string): AppError {
  return new AppError('option-malformed', `${input.name}: ${reason}.`);
}

/** Whether the record can be read. One that cannot is reported by the actual reading. */
function surveyOne(
  translator: Translator,
  read: () => { readonly value: FormatSource },
  place: string,
): boolean {
  try {
    translator.survey?.(read().value, place);
    return true;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return false;
  }
}

/**
 * The translation without users whose id is below 1. Sources write 0 or -1 where no user acted,
 * or the system did; and 0 is the id of `UNKNOWN_OWNER`.
 */
export function withRealUsers(one: Translation): Translation {
  if ('describes' in one && one.describes === 'users' && one.person.id < 1n)
    return { dropped: 'describes no user' };
  if (!('actor' in one)) return one;
  if (one.actor.id < 1n) return { dropped: 'names no user' };
  return one.owner === undefined || one.owner.id > 0n ? one : { ...one, owner: undefined };
}

/** The fields of the event itself. The users, board and pin that it names are separate records. */
export function fieldsOf({
  id,
  type,
  action,
  owner = UNKNOWN_OWNER,
  actor,
  board,
  pin,
  timestamp,
  body,
}: ForeignEvent) {
  return {
    ...{ id, type, action, owner_id: owner.id, actor_id: actor.id, board_id: board.id, timestamp, body },
    ...(pin !== undefined && { pin_id: pin.id }),
  };
}
