/**
 * Streams events of a version in the order of the timeline, as columns, in bounded memory. A long
 * result is read in slices of the timeline. Each slice is sorted separately; the next one is read
 * while the present one is consumed.
 */
import type { DuckDBDataChunk } from '@duckdb/node-api';
import type { EventBatch, EventQuery, EventTally, Occurrences } from '../../../dataset/query.ts';
import { slice } from '../../../system/time-slice.ts';
import { type Database, doubleColumn, integerColumn, joinedDoubles, joinedIntegers } from '../database.ts';
import { inBulkLane } from '../parquet/bulk-lane.ts';
import { allOf, type Condition, ofEvents } from './conditions.ts';

/**
 * Approximate number of events in a slice: 5 MB of columns, and a hundred times the cost of
 * starting a query.
 */
const SLICE_EVENTS = 131_072;

const COLUMNS = `kind, actor, "owner", board, coalesce(pin, -1), timestamp_ms::DOUBLE, sequence::DOUBLE`;

/** One event in this many is sampled to find the ends of slices. */
const SAMPLED = 1024;

/**
 * Samples the instants that divide the timeline into slices of about `SLICE_EVENTS` events,
 * ascending. Events of later publications follow those of earlier ones in the file whatever their
 * instants, so the sample is sorted first.
 */
export async function readSlices(database: Database): Promise<Float64Array> {
  const chunks = await database.chunks(
    `SELECT timestamp_ms::DOUBLE AS instant FROM events WHERE rowid % ${SAMPLED} = 0 ORDER BY instant`,
  );
  const every = SLICE_EVENTS / SAMPLED;
  const cuts = (await joinedDoubles(chunks, 0)).filter((_, place) => place % every === every - 1);
  return Float64Array.from(new Set(cuts));
}

/** Batches of at most 2,048 events, oldest first, ties by order of import (decision 4). */
export async function* streamEvents(
  database: Database,
  query: EventQuery,
  findSlices: () => Promise<Float64Array>,
): AsyncGenerator<EventBatch> {
  const where = ofEvents(query);
  if (query.limit !== undefined || query.board !== undefined || query.actor !== undefined) {
    const limit = query.limit === undefined ? '' : ` LIMIT ${Math.trunc(query.limit)}`;
    for await (const chunk of database.stream(eventsSql(where, tableFor(query)) + limit, where.parameters))
      yield batchOf(chunk);
    return;
  }
  let ahead: Promise<DuckDBDataChunk[]> | undefined;
  try {
    for (const slice of slicesOf(query, await findSlices())) {
      const present: Promise<DuckDBDataChunk[]> | undefined = ahead;
      ahead = readSlice(database, allOf(where, slice));
      if (present !== undefined) yield* batchesOf(await present);
    }
    if (ahead !== undefined) yield* batchesOf(await ahead);
  } finally {
    // A slice that is not consumed any more must neither outlive the response nor fail unhandled.
    await ahead?.catch(() => undefined);
  }
}

/** All events with a larger sequence, in the order of the timeline. */
export async function readEventsSince(database: Database, sequence: number): Promise<EventBatch> {
  const where = { sql: 'sequence > $since', parameters: { since: BigInt(sequence) } };
  const chunks = await database.chunks(eventsSql(where), where.parameters);
  return {
    count: chunks.reduce((sum, { rowCount }) => sum + rowCount, 0),
    kind: await joinedIntegers(chunks, 0),
    actor: await joinedIntegers(chunks, 1),
    owner: await joinedIntegers(chunks, 2),
    board: await joinedIntegers(chunks, 3),
    pin: await joinedIntegers(chunks, 4),
    timestampMs: await joinedDoubles(chunks, 5),
    sequence: await joinedDoubles(chunks, 6),
  };
}

function readSlice(database: Database, where: Condition): Promise<DuckDBDataChunk[]> {
  const slice = inBulkLane(() => database.chunks(eventsSql(where), where.parameters));
  slice.catch(() => undefined);
  return slice;
}

async function* batchesOf(chunks: readonly DuckDBDataChunk[]): AsyncGenerator<EventBatch> {
  for (const chunk of chunks) {
    yield batchOf(chunk);
    if (slice.isOver()) await slice.pass();
  }
}

/**
 * The events of a board, and those of an actor, are contiguous in a separate table (see
 * `layout.ts`).
 */
function tableFor({ board, actor }: Pick<EventQuery, 'board' | 'actor'>): string {
  if (board !== undefined) return 'board_events';
  return actor === undefined ? 'events' : 'actor_events';
}

function eventsSql(where: Condition, table = 'events'): string {
  return `SELECT ${COLUMNS} FROM ${table} WHERE ${where.sql} ORDER BY timestamp_ms, sequence`;
}

/** The conditions of consecutive slices that together cover the range of the query. */
function* slicesOf(query: EventQuery, slices: Float64Array): Generator<Condition> {
  const startMs = Math.max(query.range.startMs ?? -Infinity, query.after?.timestampMs ?? -Infinity);
  const endMs = query.range.endMs ?? Infinity;
  const cuts = slices.filter((at) => at > startMs && at < endMs);
  for (let slice = 0; slice <= cuts.length; slice += 1) {
    const from = cuts[slice - 1];
    const to = cuts[slice];
    yield allOf(
      from === undefined
        ? anything
        : { sql: 'timestamp_ms >= $sliceFrom', parameters: { sliceFrom: BigInt(from) } },
      to === undefined ? anything : { sql: 'timestamp_ms < $sliceTo', parameters: { sliceTo: BigInt(to) } },
    );
  }
}

const anything: Condition = { sql: 'true', parameters: {} };

function batchOf(chunk: DuckDBDataChunk): EventBatch {
  return {
    count: chunk.rowCount,
    kind: integerColumn(chunk, 0),
    actor: integerColumn(chunk, 1),
    owner: integerColumn(chunk, 2),
    board: integerColumn(chunk, 3),
    pin: integerColumn(chunk, 4),
    timestampMs: doubleColumn(chunk, 5),
    sequence: doubleColumn(chunk, 6),
  };
}

const TALLIED = ['kind', 'actor', 'owner', 'board', 'pin'] as const;

/** How often each index occurs in each column of the result, in one pass. */
export async function readTally(database: Database, query: Omit<EventQuery, 'limit'>): Promise<EventTally> {
  const where = ofEvents(query);
  const sets = TALLIED.map(
    (column, place) => `SELECT ${place}, coalesce("${column}", -1), count(*)::DOUBLE
    FROM matching GROUP BY "${column}"`,
  );
  const chunks = await database.chunks(
    `WITH matching AS MATERIALIZED (SELECT kind, actor, "owner", board, pin FROM ${tableFor(query)} WHERE ${where.sql})
     ${sets.join(' UNION ALL ')}`,
    where.parameters,
  );
  const found = TALLIED.map((): { index: number[]; count: number[] } => ({ index: [], count: [] }));
  for (const chunk of chunks) {
    collect(chunk, found);
    if (slice.isOver()) await slice.pass();
  }
  const [kind, actor, owner, board, pin] = found.map(
    ({ index, count }): Occurrences => ({ index: Int32Array.from(index), count: Float64Array.from(count) }),
  );
  if (!kind || !actor || !owner || !board || !pin) throw new Error('unreachable: five columns are tallied');
  return { events: kind.count.reduce((sum, count) => sum + count, 0), kind, actor, owner, board, pin };
}

function collect(chunk: DuckDBDataChunk, found: readonly { index: number[]; count: number[] }[]): void {
  const places = integerColumn(chunk, 0);
  const indices = integerColumn(chunk, 1);
  const counts = doubleColumn(chunk, 2);
  for (let row = 0; row < places.length; row += 1) {
    const index = indices[row] ?? -1;
    if (index < 0) continue;
    const place = found[places[row] ?? -1];
    place?.index.push(index);
    place?.count.push(counts[row] ?? 0);
  }
}
