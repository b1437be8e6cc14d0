/**
 * A dataset of plain arrays, for tests of rendering. It ignores scopes: each one sees
 * everything.
 */
import type { CommonValues } from '../../src/dataset/common-values.ts';
import type { Dataset, Ledger } from '../../src/dataset/dataset.ts';
import type {
  EventBatch,
  EventQuery,
  EventTally,
  ListKind,
  ListQuery,
  Occurrences,
  PointsQuery,
  Revisions,
  Standings,
  StandingsQuery,
} from '../../src/dataset/query.ts';
import type { EventKind, Organization, RecordColumns, RecordTable } from '../../src/dataset/records.ts';
import type { Tables } from '../../src/dataset/tables.ts';
import { type Board, boardsOf, type Person, type Pin, pinsOf, usersOf } from '../dataset/record-columns.ts';

/**
 * An event, by indices into the arrays of the world; -1 for no pin. Its sequence number is its
 * position in the array, from 1.
 */
export interface PlainEvent {
  readonly kind: number;
  readonly actor: number;
  readonly owner: number;
  readonly board: number;
  readonly pin: number;
  readonly timestampMs: number;
}

export interface PlainStanding {
  readonly user: number;
  readonly board: number;
  readonly totalPoints: number;
  readonly participationScore: number;
}

export interface PlainWorld {
  readonly organization: Organization;
  readonly kinds: readonly EventKind[];
  readonly people: readonly Person[];
  readonly boards: readonly Board[];
  readonly pins: readonly Pin[];
  readonly events: readonly PlainEvent[];
  readonly standings: readonly PlainStanding[];
}

export class PlainDataset implements Dataset {
  readonly version: string = 'plain';
  /** Sequences of deleted events. */
  deleted = new Float64Array();
  readonly policy = '';
  readonly lookups = { course: false, lmsUserProperties: [] };
  readonly userPointsKey = 'user-id';
  readonly organization: Organization;
  readonly kinds: readonly EventKind[];
  readonly counts;
  readonly lastSequence: number;

  /** Iterations of events that have begun, and how many of them have ended. */
  begun = 0;
  ended = 0;
  tallies = 0;
  /** How often users, boards and pins were read. */
  readonly readings = { people: 0, boards: 0, pins: 0 };
  /**
   * `failPins`: the next read of pins fails. `failAfterBatches`: every iteration of events fails
   * after this number of batches.
   */
  failPins = false;
  failAfterBatches = Number.POSITIVE_INFINITY;
  /** Added to the count of kind 0 in every tally, to make the tally wrong. */
  tallyError = 0;

  readonly #world: PlainWorld;
  readonly #batchSize: number;

  /** `claimedUsers` are counted but do not exist, so that a few records are rendered like many. */
  constructor(world: PlainWorld, batchSize = 3, claimedUsers = 0) {
    this.#world = world;
    this.#batchSize = batchSize;
    this.organization = world.organization;
    this.kinds = world.kinds;
    this.lastSequence = world.events.length;
    this.counts = {
      events: world.events.length,
      users: world.people.length + claimedUsers,
      boards: world.boards.length,
      pins: world.pins.length,
    };
  }

  async revisions(sequence: number): Promise<Revisions> {
    const none = new Int32Array();
    return { sequence, clock: 'revised', people: none, boards: none, pins: none };
  }

  async forgotten(): Promise<readonly bigint[]> {
    return [];
  }

  async deletedEvents(): Promise<Float64Array> {
    return this.deleted;
  }

  tables(): Tables {
    throw new Error('rendering needs no tables');
  }

  async commonValues(): Promise<CommonValues> {
    throw new Error('rendering needs no LMS properties');
  }

  records<T extends RecordTable>(of: T): AsyncIterable<RecordColumns<T>>;
  async *records(of: RecordTable): AsyncIterable<unknown> {
    this.readings[of === 'users' ? 'people' : of] += 1;
    if (of === 'pins' && this.failPins) {
      this.failPins = false;
      throw new Error('the pins cannot be read');
    }
    const { people, boards, pins } = this.#world;
    if (of === 'users') for (const some of slices(people, this.#batchSize)) yield usersOf(some);
    if (of === 'boards') for (const some of slices(boards, this.#batchSize)) yield boardsOf(some);
    if (of === 'pins') for (const some of slices(pins, this.#batchSize)) yield pinsOf(some);
  }

  /** The events of a query as objects, in the order of decision 4. */
  select(query: EventQuery): (PlainEvent & { readonly sequence: number })[] {
    const { range, board, actor, after, kinds, pinsOnly = false } = query;
    return this.#world.events
      .map((event, at) => ({ ...event, sequence: at + 1 }))
      .filter((event) => range.startMs === undefined || event.timestampMs >= range.startMs)
      .filter((event) => range.endMs === undefined || event.timestampMs < range.endMs)
      .filter((event) => board === undefined || event.board === board)
      .filter((event) => actor === undefined || event.actor === actor)
      .filter((event) => kinds === undefined || kinds.includes(event.kind))
      .filter((event) => !pinsOnly || event.pin >= 0)
      .filter((event) => query.upToSequence === undefined || event.sequence <= query.upToSequence)
      .sort((a, b) => a.timestampMs - b.timestampMs || a.sequence - b.sequence)
      .filter(
        (event) =>
          after === undefined ||
          event.timestampMs > after.timestampMs ||
          (event.timestampMs === after.timestampMs && event.sequence > after.sequence),
      )
      .slice(0, query.limit);
  }

  async *events(query: EventQuery): AsyncGenerator<EventBatch> {
    this.begun += 1;
    try {
      let batches = 0;
      for (const events of slices(this.select(query), this.#batchSize)) {
        if (batches === this.failAfterBatches) throw new Error('the events cannot be read any further');
        batches += 1;
        yield {
          count: events.length,
          kind: Int32Array.from(events, (event) => event.kind),
          actor: Int32Array.from(events, (event) => event.actor),
          owner: Int32Array.from(events, (event) => event.owner),
          board: Int32Array.from(events, (event) => event.board),
          pin: Int32Array.from(events, (event) => event.pin),
          timestampMs: Float64Array.from(events, (event) => event.timestampMs),
          sequence: Float64Array.from(events, (event) => event.sequence),
        };
      }
    } finally {
      this.ended += 1;
    }
  }

  async tally(query: Omit<EventQuery, 'limit'>): Promise<EventTally> {
    this.tallies += 1;
    const events = this.select(query);
    const kind = occurrences(events.map((event) => event.kind));
    kind.count[0] = (kind.count[0] ?? 0) + this.tallyError;
    return {
      events: events.length,
      kind,
      actor: occurrences(events.map((event) => event.actor)),
      owner: occurrences(events.map((event) => event.owner)),
      board: occurrences(events.map((event) => event.board)),
      pin: occurrences(events.map((event) => event.pin).filter((pin) => pin >= 0)),
    };
  }

  async list(of: ListKind, query: ListQuery): Promise<Int32Array> {
    return listed(of === 'boards' ? this.#world.boards : this.#world.people, query);
  }

  async standings({ of }: StandingsQuery): Promise<Standings> {
    const { people, boards } = this.#world;
    const rows = this.#world.standings
      .filter((row) => ('board' in of ? row.board === of.board : row.user === of.user))
      .sort(
        (a, b) =>
          compare(people[a.user]!.id, people[b.user]!.id) ||
          compare(boards[a.board]!.id, boards[b.board]!.id),
      );
    return {
      count: rows.length,
      user: Int32Array.from(rows, (row) => row.user),
      board: Int32Array.from(rows, (row) => row.board),
      totalPoints: Float64Array.from(rows, (row) => row.totalPoints),
      participationScore: Float64Array.from(rows, (row) => row.participationScore),
    };
  }

  /** A batch for each board. Only the points totals of all boards and users are supported. */
  async *points({ scope, range }: PointsQuery): AsyncGenerator<Standings, void> {
    for (const board of listed(this.#world.boards, { scope, range })) {
      const standings = await this.standings({ scope, range, of: { board } });
      if (standings.count > 0) yield standings;
    }
  }

  findBoard(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  findUser(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  ledger(): Promise<Ledger> {
    return Promise.reject(new Error('a plain dataset has no ledger'));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function* slices<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}

function occurrences(indices: readonly number[]): Occurrences {
  const counts = new Map<number, number>();
  for (const index of indices) counts.set(index, (counts.get(index) ?? 0) + 1);
  return { index: Int32Array.from(counts.keys()), count: Float64Array.from(counts.values()) };
}

function listed(records: readonly { readonly id: bigint }[], { afterId, limit }: ListQuery): Int32Array {
  const indices = records
    .map((record, index) => ({ id: record.id, index }))
    .filter(({ id }) => afterId === undefined || id > afterId)
    .sort((a, b) => compare(a.id, b.id))
    .slice(0, limit)
    .map(({ index }) => index);
  return Int32Array.from(indices);
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
