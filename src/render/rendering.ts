/**
 * Renders responses from one dataset. Fragments of its users, boards and pins are made once and
 * kept as long as the rendering exists; a response is a copy of them.
 */

import { hash } from 'node:crypto';
import type { Dataset } from '../dataset/dataset.ts';
import type { EventQuery, ListKind, ListQuery, PointsQuery, StandingsQuery } from '../dataset/query.ts';
import type { Users } from '../dataset/records.ts';
import type { Selection } from '../dataset/selection.ts';
import { AsyncMemo } from '../system/async-memo.ts';
import { HELD_EVENTS, heldBytesOf, readAdmitted } from './fragments/admission.ts';
import { readAhead } from './fragments/batches.ts';
import { type BodySize, bufferedBody, longBody } from './fragments/buffered-body.ts';
import { type AskedChanges, answerChanges, EventNames } from './fragments/changes.ts';
import { EVENT_COLUMNS } from './fragments/event-form.ts';
import type { EventParts } from './fragments/event-writer.ts';
import { FragmentCache } from './fragments/fragment-cache.ts';
import { ListWriter, readListPage } from './fragments/list-writer.ts';
import { answerPoints } from './fragments/points-rows.ts';
import { type PointsKey, PointsWriter } from './fragments/points-writer.ts';
import { ParquetTables } from './parquet-tables.ts';
import { redactDataset } from './redaction/redacted-dataset.ts';
import type { Chunk } from './text/chunk.ts';
import { LIST_FIELDS, ORGANIZATION, organizationColumns, RANKED_PIN } from './text/fields.ts';
import { type Frame, JSON_OBJECT, measureFramed, type RowWriter, renderChunks } from './text/frame.ts';
import { type Described, describe } from './text/notation.ts';
import type {
  Admit,
  EventsBody,
  ListBody,
  PointsBody,
  Redacting,
  RenderedBody,
  Variant,
} from './text/rendered-body.ts';
import { listFrame, REPRESENTATIONS, type TextRepresentation } from './text/representations.ts';
import type { RenderThread } from './thread/render-thread.ts';

export interface Rendering {
  /** The dataset after redaction; everything else that is read for a response must come from it. */
  readonly dataset: Dataset;
  /** Events, boards, users and points as Parquet. */
  readonly tables: ParquetTables;
  /**
   * Events of the query (contract 2.1). With a limit, `next` is the position of the last event
   * returned.
   */
  events(query: EventQuery, representation: TextRepresentation, admit?: Admit): Promise<EventsBody>;
  /**
   * The change set of the query since the version whose `lastSequence` was `since`; undefined: all
   * events, in the same form. With a `token`, the last page ends with it.
   */
  changes(query: EventQuery, asked: AskedChanges): Promise<EventsBody>;
  /**
   * Boards or users of the query (contract 2.6, 2.7). With a limit, `next` is the last id returned.
   */
  list(
    of: ListKind,
    query: ListQuery,
    variant: Variant,
    representation: TextRepresentation,
  ): Promise<ListBody>;
  /** A points map, always JSON (contract 2.8). */
  standings(query: StandingsQuery, keyedBy: PointsKey): Promise<RenderedBody>;
  /**
   * A row for each points total of the query (decision 93). With a limit, `next` is the position of
   * the last one.
   */
  points(query: PointsQuery, representation: TextRepresentation, admit?: Admit): Promise<PointsBody>;
  /** Users and boards with the fields of variant B, for responses that are not lists of them. */
  described(): Promise<Describing>;
  /** The fields `RANKED_PIN` of a pin, by index. */
  describedPins(): Promise<(index: number) => Described>;
  /**
   * Prepares everything that events in JSON require, and everything that was requested from the
   * rendering `before`, so that no request waits for it.
   */
  warm(before?: Rendering): Promise<void>;
}

/** By index. */
export interface Describing {
  readonly organization: Described;
  /** The columns of all users. */
  readonly users: Users;
  user(index: number): Described;
  board(index: number): Described;
}

/**
 * Redaction applies to everything that the rendering makes (decision 22). With a thread, large
 * responses from a dataset in memory are rendered on that thread. `earlier`: the rendering of an
 * earlier version under the same redaction, from which fragments are taken that have not changed.
 */
export function openRendering(
  dataset: Dataset,
  redacting: Redacting,
  thread?: RenderThread,
  earlier?: Rendering,
): Rendering {
  return new DatasetRendering(dataset, redacting, thread, earlier);
}

const KEPT_SIZES = 256;

class DatasetRendering implements Rendering {
  readonly tables: ParquetTables;
  readonly dataset: Dataset;
  readonly #fragments: FragmentCache;
  /**
   * Sizes of large responses. The same exports are requested repeatedly, and their size never
   * changes.
   */
  readonly #sizes = new AsyncMemo<BodySize>(KEPT_SIZES);
  readonly #thread: RenderThread | undefined;
  readonly #names: EventNames;

  constructor(
    dataset: Dataset,
    redacting: Redacting,
    thread: RenderThread | undefined,
    earlier: Rendering | undefined,
  ) {
    this.dataset = redactDataset(dataset, redacting);
    const fragments = earlier instanceof DatasetRendering ? earlier.#fragments : undefined;
    this.#fragments = new FragmentCache(dataset, this.dataset, fragments);
    this.tables = new ParquetTables(this.dataset, this.#fragments, thread);
    this.#thread = thread;
    this.#names = new EventNames(redacting.secret);
    if ((dataset.timeline?.events.count ?? 0) > HELD_EVENTS) thread?.prepare();
  }

  async events(query: EventQuery, representation: TextRepresentation, admit?: Admit): Promise<EventsBody> {
    const { page, isHeld } = await readAdmitted(this.dataset, query, admit);
    const { notation } = REPRESENTATIONS[representation];
    const frame = listFrame(representation, EVENT_COLUMNS);
    if (isHeld) {
      return bufferedBody(frame, await this.#fragments.eventRows(notation, page.batches), page.next);
    }
    const parts = await this.#fragments.eventParts(notation);
    let selection: Selection | undefined;
    const size = await this.#sizes.take(questionOf([query, representation]), async () => {
      const tally = await this.dataset.tally(query);
      selection = tally.selection;
      const rows = tally.events;
      return { rows, byteLength: measureFramed(frame, rows, await parts.measure(tally)) };
    });
    return this.#largeAnswer(parts, query, frame, size, selection);
  }

  async changes(query: EventQuery, asked: AskedChanges): Promise<EventsBody> {
    const makeParts = () => this.#fragments.eventParts('json');
    return await answerChanges(this.dataset, makeParts, this.#names, query, asked);
  }

  #largeAnswer(
    parts: EventParts,
    query: EventQuery,
    frame: Frame,
    { byteLength, rows }: BodySize,
    found: Selection | undefined,
  ): EventsBody {
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
    return { byteLength, next: undefined, rows, heldBytes: heldBytesOf(this.dataset), chunks };
  }

  async list(
    of: ListKind,
    query: ListQuery,
    variant: Variant,
    representation: TextRepresentation,
  ): Promise<ListBody> {
    const { notation } = REPRESENTATIONS[representation];
    const page = await readListPage(this.dataset, of, query, () => this.#fragments.records(of));
    const { fragments, numbers } = await this.#fragments.listed(of, variant, notation, page.indices);
    const frame = listFrame(representation, LIST_FIELDS[of][variant].join());
    return await longBody(frame, new ListWriter(fragments, numbers), page.next);
  }

  async standings(query: StandingsQuery, keyedBy: PointsKey): Promise<RenderedBody> {
    const standings = await this.dataset.standings(query);
    const users = await this.#fragments.identities('users', standings.user);
    const boards = await this.#fragments.identities('boards', standings.board);
    const numbered = { ...standings, user: users.numbers, board: boards.numbers };
    const run = new PointsWriter(numbered, keyedBy, users.fragments, boards.fragments);
    return await longBody(JSON_OBJECT, run, undefined);
  }

  async points(query: PointsQuery, representation: TextRepresentation, admit?: Admit): Promise<PointsBody> {
    return await answerPoints(this.dataset, this.#fragments, query, {
      representation,
      admit,
      measured: (measure) => this.#sizes.take(questionOf(['points', query, representation]), measure),
    });
  }

  async described(): Promise<Describing> {
    const [users, boards] = await Promise.all([
      this.#fragments.records('users'),
      this.#fragments.records('boards'),
    ]);
    return {
      organization: describe(ORGANIZATION, organizationColumns(this.dataset.organization), 0),
      users,
      user: (index) => describe(LIST_FIELDS.users.b, users, index),
      board: (index) => describe(LIST_FIELDS.boards.b, boards, index),
    };
  }

  async describedPins(): Promise<(index: number) => Described> {
    const pins = await this.#fragments.records('pins');
    return (index) => describe(RANKED_PIN, pins, index);
  }

  async warm(before?: Rendering): Promise<void> {
    await this.#fragments.eventParts('json');
    await this.dataset.userOrder?.();
    if (before instanceof DatasetRendering) await this.#fragments.fillLike(before.#fragments);
  }

  async *#eventRuns(parts: EventParts, query: EventQuery): AsyncGenerator<RowWriter, void> {
    for await (const batch of readAhead(this.dataset.events(query))) yield parts.run(batch);
  }
}

/** A short text that identifies the query, however long its scope is. */
function questionOf(question: unknown): string {
  const exact = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
  return hash('sha256', JSON.stringify(question, exact), 'base64url');
}
