/**
 * A version in memory: the `Dataset` interface over typed arrays, loaded from the dataset of any
 * store. Infrequent and one-time queries are passed on to that dataset, which stays open.
 */

import type { PermittedProperty } from '../../domain/lms-split.ts';
import { NO_REDACTION } from '../../domain/redaction.ts';
import type { Scope } from '../../domain/scope.ts';
import { clockOf, type Unseen } from '../../domain/user-clocks.ts';
import { AsyncMemo } from '../../system/async-memo.ts';
import type { Origin } from '../changes.ts';
import type { CommonValues } from '../common-values.ts';
import type { Dataset, Ledger } from '../dataset.ts';
import type { ImagePlace } from '../image.ts';
import {
  type BoardName,
  type EventBatch,
  type EventQuery,
  type EventTally,
  isBounded,
  type LedgerQuery,
  type ListKind,
  type ListQuery,
  type PointsQuery,
  type Revisions,
  type Standings,
  type StandingsQuery,
  type TimeRange,
  type UserName,
} from '../query.ts';
import type { RecordColumns, RecordTable } from '../records.ts';
import type { Tables } from '../tables.ts';
import { isEverything, streamSelection } from '../timeline.ts';
import { findChanged } from './change-set.ts';
import { type ColumnSizes, tallySelection } from './events.ts';
import { FirstEvents } from './first-events.ts';
import type { IdIndex } from './id-index.ts';
import { ImageKeeper } from './image-keeper.ts';
import type { BoardNames, UserNames } from './names.ts';
import type { PointsIndex } from './points-totals.ts';
import type { ScopeMask } from './scope-mask.ts';
import type { ResidentTimeline } from './timeline.ts';

/** The data of a version that is in memory. */
export interface Holdings {
  readonly records: { readonly [T in RecordTable]: RecordColumns<T> };
  readonly users: IdIndex;
  readonly boards: IdIndex;
  readonly boardNames: BoardNames;
  readonly userNames: UserNames;
  readonly visibility: ScopeMask;
  readonly timeline: ResidentTimeline;
  readonly sizes: ColumnSizes;
  /** The tally of all events. */
  readonly tally: EventTally;
  readonly standings: PointsIndex;
}

/**
 * Number of change sets that are kept. Clients that sync regularly are mostly at one of the latest
 * versions.
 */
const KEPT_REVISIONS = 16;

export class ResidentDataset implements Dataset {
  readonly version;
  readonly organization;
  readonly lookups;
  readonly userPointsKey;
  readonly policy;
  readonly counts;
  readonly lastSequence;
  readonly kinds;
  readonly timeline: ResidentTimeline;
  readonly held: Holdings;
  readonly origin: Origin | undefined;
  readonly #stored: Dataset;
  readonly #onClose: () => void;
  readonly fragmentImage: ImagePlace | undefined;
  readonly #keeper: ImageKeeper;
  readonly #firstEvents: FirstEvents;
  /** Keyed by sequence and user clock. */
  readonly #revisions = new AsyncMemo<Revisions>(KEPT_REVISIONS);

  /** `keeper` writes the image of the version, unless it has one or cannot have one. */
  constructor(
    stored: Dataset,
    held: Holdings,
    onClose: () => void,
    { keeper = new ImageKeeper(), origin }: { readonly keeper?: ImageKeeper; readonly origin?: Origin } = {},
  ) {
    this.version = stored.version;
    this.organization = stored.organization;
    this.lookups = stored.lookups;
    this.userPointsKey = stored.userPointsKey;
    this.policy = stored.policy;
    this.counts = stored.counts;
    this.lastSequence = stored.lastSequence;
    this.kinds = stored.kinds;
    this.timeline = held.timeline;
    this.held = held;
    this.origin = origin;
    this.#stored = stored;
    this.#onClose = onClose;
    this.fragmentImage = stored.fragmentImage && keeper.later(stored.fragmentImage);
    this.#keeper = keeper;
    this.#firstEvents = new FirstEvents(held.timeline, held.visibility, held.sizes);
  }

  get isOpen(): boolean | undefined {
    return this.#stored.isOpen;
  }

  prepare(scope: Scope): Promise<void> | undefined {
    return this.held.visibility.prepare(scope);
  }

  async *records<T extends RecordTable>(of: T): AsyncGenerator<RecordColumns<T>, void> {
    yield this.held.records[of];
  }

  tables(): Tables {
    return this.#stored.tables();
  }

  async commonValues(property: PermittedProperty): Promise<CommonValues> {
    return await this.#stored.commonValues(property);
  }

  events(query: EventQuery): AsyncIterable<EventBatch> {
    return streamSelection(this.timeline.events, this.timeline.select(query), { limit: query.limit });
  }

  async tally(query: Omit<EventQuery, 'limit'>): Promise<EventTally> {
    const { tally, sizes } = this.held;
    const selection = this.timeline.select(query);
    const { events } = this.timeline;
    return isEverything(events, selection) ? tally : await tallySelection(events, selection, sizes);
  }

  async list(of: ListKind, query: ListQuery): Promise<Int32Array> {
    const { boards, people } = this.held.visibility.of(query.scope);
    const visible = of === 'boards' ? boards : people;
    return await this.held[of].list(query, visible, await this.#firstMs(of, query));
  }

  /** By index. Not computed for a query without a range, which does not need it. */
  async #firstMs(of: ListKind, { scope, range }: ListQuery): Promise<(index: number) => number> {
    if (!isBounded(range)) return () => Number.NaN;
    return await this.#firstEvents.of(of === 'boards' ? 'board' : 'actor', scope);
  }

  async findBoard(scope: Scope, name: BoardName): Promise<number | undefined> {
    const { boards, boardNames, visibility } = this.held;
    const board = name.by === 'id' ? boards.find(name.value) : boardNames[name.by].get(name.value);
    return ifVisible(board, visibility.of(scope).boards);
  }

  async findUser(scope: Scope, name: UserName): Promise<number | undefined> {
    const { users, userNames, visibility } = this.held;
    const user = name.by === 'id' ? users.find(name.value) : await userNames.find(name.property, name.value);
    return ifVisible(user, visibility.of(scope).people);
  }

  async standings(query: StandingsQuery): Promise<Standings> {
    const isWithin = async (board: number) => !(await this.#hasEventOutside(query, board));
    return await this.held.standings.answer(query, this.held.visibility.of(query.scope), isWithin);
  }

  points(query: PointsQuery): AsyncIterable<Standings> {
    const isWithin = async (board: number) => !(await this.#hasEventOutside(query, board));
    return this.held.standings.stream(query, this.held.visibility.of(query.scope), isWithin);
  }

  /** Whether an event on the board, inside the scope, lies before or after the range. */
  async #hasEventOutside(
    { scope, range }: Pick<StandingsQuery, 'scope' | 'range'>,
    board: number,
  ): Promise<boolean> {
    const outside: TimeRange[] = [];
    if (range.startMs !== undefined) outside.push({ endMs: range.startMs });
    if (range.endMs !== undefined) outside.push({ startMs: range.endMs });
    for (const part of outside) {
      for await (const _ of this.events({ scope, range: part, board, limit: 1 })) return true;
    }
    return false;
  }

  /**
   * Clients that sync request the latest changes, so the rows are searched once for all of them.
   */
  async revisions(sequence: number, unseen: Unseen = NO_REDACTION): Promise<Revisions> {
    return await this.#revisions.take(`${sequence} ${clockOf(unseen)}`, async () =>
      findChanged(this.timeline, await this.#stored.revisions(sequence, unseen)),
    );
  }

  async forgotten(scope: Scope, sequence: number): Promise<readonly bigint[]> {
    return await this.#stored.forgotten(scope, sequence);
  }

  async deletedEvents(
    query: Omit<EventQuery, 'limit'>,
    sequence: number,
    most: number,
  ): Promise<Float64Array> {
    return await this.#stored.deletedEvents(query, sequence, most);
  }

  async ledger(query: LedgerQuery): Promise<Ledger> {
    return await this.#stored.ledger(query);
  }

  async setAside(): Promise<void> {
    await this.#keeper.keepNow();
  }

  async close(): Promise<void> {
    this.#keeper.callOff();
    this.#onClose();
    await this.#stored.close();
  }
}

function ifVisible(index: number | undefined, visible: Uint8Array | undefined): number | undefined {
  return index === undefined || visible === undefined || visible[index] === 1 ? index : undefined;
}
