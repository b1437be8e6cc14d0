/**
 * Answers of one dataset as bytes. Fragments of its people, boards and pins are made once and kept as long as the
 * rendering lives; an answer is a copy of them.
 */

import { hash } from 'node:crypto';
import type { Dataset } from '../dataset/dataset.ts';
import type { EventQuery, ListQuery, StandingsQuery } from '../dataset/query.ts';
import { isWhole } from '../dataset/timeline.ts';
import { Shelf } from '../shelf.ts';
import { HELD_EVENTS, heldBytesOf, readAdmitted } from './admission.ts';
import type {
  Admit,
  Answer,
  ChangesRepresentation,
  EventsAnswer,
  ListAnswer,
  Redacting,
  TextRepresentation,
  Variant,
} from './answer.ts';
import { readAhead } from './batches.ts';
import { answerChanges, EventNames } from './changes.ts';
import type { Chunk } from './chunk.ts';
import { EVENT_COLUMNS } from './event-form.ts';
import type { EventParts } from './event-run.ts';
import { LISTED_BOARD, LISTED_USER } from './fields.ts';
import { FragmentStock } from './fragment-stock.ts';
import { type Frame, JSON_OBJECT, listFrame, measureFramed, type Run, renderChunks } from './frame.ts';
import { heldAnswer, longAnswer } from './held-answer.ts';
import { ListRun, readListPage } from './list-run.ts';
import { type Notation, parseFields, renderNames } from './notation.ts';
import { PackedAnswers } from './packed-answer.ts';
import { ParquetTables } from './parquet-tables.ts';
import { redactDataset } from './redacted-dataset.ts';
import type { RenderJob } from './render-job.ts';
import { type StandingKey, StandingRun } from './standing-run.ts';
import type { Workshop } from './workshop.ts';

export interface Rendering {
  /** The dataset as it is seen here: whatever else is read for a response comes from it. */
  readonly dataset: Dataset;
  /** The same as events, boards and users, as Parquet. */
  readonly tables: ParquetTables;
  /** Events of the query (contract 2.1). With a limit, `next` is the position of the last event delivered. */
  events(query: EventQuery, representation: TextRepresentation, admit?: Admit): Promise<EventsAnswer>;
  /**
   * What has changed of the query since the dataset's `lastSequence` was this one; absent: everything, in the same form.
   */
  changes(
    query: EventQuery,
    since: number | undefined,
    representation: ChangesRepresentation,
    admit?: Admit,
  ): Promise<EventsAnswer>;
  /** Boards, and users, of the query (contract 2.6, 2.7). With a limit, `next` is the last id delivered. */
  boards(query: ListQuery, variant: Variant, representation: TextRepresentation): Promise<ListAnswer>;
  users(query: ListQuery, variant: Variant, representation: TextRepresentation): Promise<ListAnswer>;
  /** A points map, always JSON (contract 2.8). */
  standings(query: StandingsQuery, keyedBy: StandingKey): Promise<Answer>;
  /** Users and boards as variant B lists them, for answers that are made of other things. */
  described(): Promise<Described>;
  /** What a pin says beside its text, by index. */
  describedPins(): Promise<(index: number) => DescribedPin>;
  /** Makes what events in JSON need, and all that the other rendering was asked for, so that no request waits for it. */
  warm(before?: Rendering): Promise<void>;
  /** Gives back what is kept on disk. To be called when the last answer has ended. */
  close(): Promise<void>;
}

/** By index. */
export interface Described {
  user(index: number): { id: bigint; email: string; name: string; role: string };
  board(index: number): { id: bigint; title: string; category: string };
}

export interface DescribedPin {
  readonly id: bigint;
  readonly title: string;
  readonly web_url: string;
  readonly tags: readonly string[];
}

/**
 * Redaction applies to everything that the rendering makes (decision 22). With a workshop, large answers from a
 * dataset in memory are rendered beside the thread that serves.
 */
export function openRendering(dataset: Dataset, redacting: Redacting, workshop?: Workshop): Rendering {
  return new DatasetRendering(dataset, redacting, workshop);
}

const KEPT_SIZES = 256;

class DatasetRendering implements Rendering {
  readonly tables: ParquetTables;
  readonly dataset: Dataset;
  readonly #stock: FragmentStock;
  /** Sizes of large answers: the same exports are asked for again and again, and a size never changes. */
  readonly #sizes = new Shelf<number>(KEPT_SIZES);
  readonly #packed: PackedAnswers | undefined;
  readonly #names: EventNames;

  constructor(dataset: Dataset, redacting: Redacting, workshop: Workshop | undefined) {
    this.dataset = redactDataset(dataset, redacting);
    this.#stock = new FragmentStock(dataset, this.dataset);
    this.tables = new ParquetTables(this.dataset, this.#stock);
    this.#packed = workshop && new PackedAnswers(workshop);
    this.#names = new EventNames(redacting.secret);
    if ((dataset.timeline?.events.count ?? 0) > HELD_EVENTS) workshop?.thread.prepare();
  }

  async events(query: EventQuery, representation: TextRepresentation, admit?: Admit): Promise<EventsAnswer> {
    const { page, isHeld } = await readAdmitted(this.dataset, query, admit);
    const parts = await this.#stock.eventParts(notationOf(representation));
    const frame = listFrame(representation, EVENT_COLUMNS);
    if (isHeld) {
      return heldAnswer(
        frame,
        page.batches.map((batch) => parts.run(batch)),
        page.next,
      );
    }
    const byteLength = await this.#sizes.take(questionOf([query, representation]), async () => {
      const tally = await this.dataset.tally(query);
      return measureFramed(frame, tally.events, await parts.measure(tally));
    });
    return this.#largeAnswer(parts, query, frame, byteLength);
  }

  async changes(
    query: EventQuery,
    since: number | undefined,
    representation: ChangesRepresentation,
    admit?: Admit,
  ): Promise<EventsAnswer> {
    const makeParts = () => this.#stock.eventParts('json');
    return await answerChanges(this.dataset, makeParts, this.#names, query, { since, representation, admit });
  }

  #largeAnswer(parts: EventParts, query: EventQuery, frame: Frame, byteLength: number): EventsAnswer {
    const { timeline } = this.dataset;
    const packed = this.#packed;
    if (timeline === undefined || packed === undefined) {
      const chunks = (memory?: Chunk) =>
        renderChunks(frame, this.#eventRuns(parts, query), byteLength, memory);
      return { byteLength, next: undefined, heldBytes: heldBytesOf(this.dataset), chunks };
    }
    const selection = timeline.select(query);
    const job: RenderJob = {
      parts: parts.shared,
      events: timeline.events,
      selection,
      frame,
      byteLength,
    };
    // Everything but the range, which only chooses among the pieces. Scopes that hide nothing see the same.
    const { scope, pinsOnly = false, kinds } = query;
    const filter = isWhole(selection) ? 'all' : { scope, pinsOnly, kinds };
    // CSV for spreadsheets has the frame of CSV, but different fragments.
    const name = questionOf([filter, frame, parts.shared.id]);
    return {
      byteLength,
      next: undefined,
      heldBytes: heldBytesOf(this.dataset),
      chunks: () => packed.plainChunks(job, name),
      packed: (packing) => packed.chunks(job, name, packing),
    };
  }

  async boards(query: ListQuery, variant: Variant, representation: TextRepresentation): Promise<ListAnswer> {
    const [items, page] = await Promise.all([
      this.#stock.listedBoards(variant, notationOf(representation)),
      readListPage(
        query,
        (paged) => this.dataset.listBoards(paged),
        () => this.#stock.boardIdentities(),
      ),
    ]);
    const frame = listFrame(representation, renderNames(LISTED_BOARD[variant]));
    return await longAnswer(frame, new ListRun(items, page.indices), page.next);
  }

  async users(query: ListQuery, variant: Variant, representation: TextRepresentation): Promise<ListAnswer> {
    const [items, page] = await Promise.all([
      this.#stock.listedUsers(variant, notationOf(representation)),
      readListPage(
        query,
        (paged) => this.dataset.listUsers(paged),
        () => this.#stock.userIdentities(),
      ),
    ]);
    const frame = listFrame(representation, renderNames(LISTED_USER[variant]));
    return await longAnswer(frame, new ListRun(items, page.indices), page.next);
  }

  async standings(query: StandingsQuery, keyedBy: StandingKey): Promise<Answer> {
    const [users, boards, standings] = await Promise.all([
      this.#stock.userIdentities(),
      this.#stock.boardIdentities(),
      this.dataset.standings(query),
    ]);
    const run = new StandingRun(standings, keyedBy, users, boards);
    return await longAnswer(JSON_OBJECT, run, undefined);
  }

  async described(): Promise<Described> {
    const [users, boards] = await Promise.all([
      this.#stock.listedUsers('b', 'json'),
      this.#stock.listedBoards('b', 'json'),
    ]);
    return {
      user: (index) => parseFields(users.head(index)),
      board: (index) => parseFields(boards.head(index)),
    };
  }

  async describedPins(): Promise<(index: number) => DescribedPin> {
    const pins = await this.#stock.listedPins();
    return (index) => parseFields(pins.head(index));
  }

  async warm(before?: Rendering): Promise<void> {
    await this.#stock.eventParts('json');
    await this.dataset.userOrder?.();
    if (before instanceof DatasetRendering) await this.#stock.fillLike(before.#stock);
  }

  async close(): Promise<void> {
    await this.#packed?.close();
  }

  async *#eventRuns(parts: EventParts, query: EventQuery): AsyncGenerator<Run, void> {
    for await (const batch of readAhead(this.dataset.events(query))) yield parts.run(batch);
  }
}

/** A short text that is the same only for the same question, however long its scope is. */
function questionOf(question: unknown): string {
  const exact = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
  return hash('sha256', JSON.stringify(question, exact), 'base64url');
}

function notationOf(representation: TextRepresentation): Notation {
  return representation === 'csv' || representation === 'excel' ? representation : 'json';
}
