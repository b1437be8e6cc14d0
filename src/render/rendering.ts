/**
 * Answers of one dataset as bytes. Fragments of its people, boards and pins are made once and kept as long as the
 * rendering lives; an answer is a copy of them.
 */

import { hash } from 'node:crypto';
import type { Dataset } from '../dataset/dataset.ts';
import type { EventQuery, ListKind, ListQuery, StandingsQuery } from '../dataset/query.ts';
import type { Selection } from '../dataset/selection.ts';
import { Shelf } from '../system/shelf.ts';
import { HELD_EVENTS, heldBytesOf, readAdmitted } from './fragments/admission.ts';
import { readAhead } from './fragments/batches.ts';
import { answerChanges, EventNames } from './fragments/changes.ts';
import { EVENT_COLUMNS } from './fragments/event-form.ts';
import type { EventParts } from './fragments/event-run.ts';
import { FragmentStock } from './fragments/fragment-stock.ts';
import { heldAnswer, longAnswer } from './fragments/held-answer.ts';
import { ListRun, readListPage } from './fragments/list-run.ts';
import { type StandingKey, StandingRun } from './fragments/standing-run.ts';
import { ParquetTables } from './parquet-tables.ts';
import { redactDataset } from './redaction/redacted-dataset.ts';
import type { Admit, Answer, EventsAnswer, ListAnswer, Redacting, Variant } from './text/answer.ts';
import type { Chunk } from './text/chunk.ts';
import { LIST_FIELDS, ORGANIZATION, organizationColumns, RANKED_PIN } from './text/fields.ts';
import { type Frame, JSON_OBJECT, measureFramed, type Run, renderChunks } from './text/frame.ts';
import { type Described, describe } from './text/notation.ts';
import {
  type ChangesRepresentation,
  listFrame,
  REPRESENTATIONS,
  type TextRepresentation,
} from './text/representations.ts';
import type { RenderThread } from './thread/render-thread.ts';

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
  /** Boards or users of the query (contract 2.6, 2.7). With a limit, `next` is the last id delivered. */
  list(
    of: ListKind,
    query: ListQuery,
    variant: Variant,
    representation: TextRepresentation,
  ): Promise<ListAnswer>;
  /** A points map, always JSON (contract 2.8). */
  standings(query: StandingsQuery, keyedBy: StandingKey): Promise<Answer>;
  /** Users and boards as variant B lists them, for answers that are made of other things. */
  described(): Promise<Describing>;
  /** What a pin says beside its text, by index. */
  describedPins(): Promise<(index: number) => Described>;
  /** Makes what events in JSON need, and all that the other rendering was asked for, so that no request waits for it. */
  warm(before?: Rendering): Promise<void>;
}

/** By index. */
export interface Describing {
  readonly organization: Described;
  user(index: number): Described;
  board(index: number): Described;
}

/**
 * Redaction applies to everything that the rendering makes (decision 22). With a thread, large answers from a
 * dataset in memory are rendered beside the thread that serves.
 */
export function openRendering(dataset: Dataset, redacting: Redacting, thread?: RenderThread): Rendering {
  return new DatasetRendering(dataset, redacting, thread);
}

const KEPT_SIZES = 256;

class DatasetRendering implements Rendering {
  readonly tables: ParquetTables;
  readonly dataset: Dataset;
  readonly #stock: FragmentStock;
  /** Sizes of large answers: the same exports are asked for again and again, and a size never changes. */
  readonly #sizes = new Shelf<number>(KEPT_SIZES);
  readonly #thread: RenderThread | undefined;
  readonly #names: EventNames;

  constructor(dataset: Dataset, redacting: Redacting, thread: RenderThread | undefined) {
    this.dataset = redactDataset(dataset, redacting);
    this.#stock = new FragmentStock(dataset, this.dataset);
    this.tables = new ParquetTables(this.dataset, this.#stock, thread);
    this.#thread = thread;
    this.#names = new EventNames(redacting.secret);
    if ((dataset.timeline?.events.count ?? 0) > HELD_EVENTS) thread?.prepare();
  }

  async events(query: EventQuery, representation: TextRepresentation, admit?: Admit): Promise<EventsAnswer> {
    const { page, isHeld } = await readAdmitted(this.dataset, query, admit);
    const parts = await this.#stock.eventParts(REPRESENTATIONS[representation].notation);
    const frame = listFrame(representation, EVENT_COLUMNS);
    if (isHeld) {
      return heldAnswer(
        frame,
        page.batches.map((batch) => parts.run(batch)),
        page.next,
      );
    }
    let selection: Selection | undefined;
    const byteLength = await this.#sizes.take(questionOf([query, representation]), async () => {
      const tally = await this.dataset.tally(query);
      selection = tally.selection;
      return measureFramed(frame, tally.events, await parts.measure(tally));
    });
    return this.#largeAnswer(parts, query, frame, byteLength, selection);
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

  #largeAnswer(
    parts: EventParts,
    query: EventQuery,
    frame: Frame,
    byteLength: number,
    found: Selection | undefined,
  ): EventsAnswer {
    const { timeline } = this.dataset;
    const thread = this.#thread;
    const chunks =
      timeline === undefined || thread === undefined
        ? (memory?: Chunk) => renderChunks(frame, this.#eventRuns(parts, query), byteLength, memory)
        : () => {
            const { events } = timeline;
            const selection = found ?? timeline.select(query);
            return thread.render({ parts: parts.shared, events, selection, frame, byteLength });
          };
    return { byteLength, next: undefined, heldBytes: heldBytesOf(this.dataset), chunks };
  }

  async list(
    of: ListKind,
    query: ListQuery,
    variant: Variant,
    representation: TextRepresentation,
  ): Promise<ListAnswer> {
    const [items, page] = await Promise.all([
      this.#stock.listed(of, variant, REPRESENTATIONS[representation].notation),
      readListPage(this.dataset, of, query, () => this.#stock.records(of)),
    ]);
    const frame = listFrame(representation, LIST_FIELDS[of][variant].join());
    return await longAnswer(frame, new ListRun(items, page.indices), page.next);
  }

  async standings(query: StandingsQuery, keyedBy: StandingKey): Promise<Answer> {
    const [users, boards, standings] = await Promise.all([
      this.#stock.identities('users'),
      this.#stock.identities('boards'),
      this.dataset.standings(query),
    ]);
    const run = new StandingRun(standings, keyedBy, users, boards);
    return await longAnswer(JSON_OBJECT, run, undefined);
  }

  async described(): Promise<Describing> {
    const [users, boards] = await Promise.all([this.#stock.records('users'), this.#stock.records('boards')]);
    return {
      organization: describe(ORGANIZATION, organizationColumns(this.dataset.organization), 0),
      user: (index) => describe(LIST_FIELDS.users.b, users, index),
      board: (index) => describe(LIST_FIELDS.boards.b, boards, index),
    };
  }

  async describedPins(): Promise<(index: number) => Described> {
    const pins = await this.#stock.records('pins');
    return (index) => describe(RANKED_PIN, pins, index);
  }

  async warm(before?: Rendering): Promise<void> {
    await this.#stock.eventParts('json');
    await this.dataset.userOrder?.();
    if (before instanceof DatasetRendering) await this.#stock.fillLike(before.#stock);
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
