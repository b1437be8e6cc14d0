/**
 * Events of a version in the order of the timeline, as columns, in bounded memory: one statement a question, so that an
 * answer reads one snapshot, and an index in that order, so that nothing is sorted before the first event leaves.
 */
import type { EventBatch, EventQuery, EventTally, Occurrences } from '../query.ts';
import { int8, ofEvents, readVisible } from './conditions.ts';
import type { Asking } from './database.ts';
import { type At, rowsAt } from './schema.ts';
import { wholeColumns } from './whole-columns.ts';

const COLUMNS = `kind, actor, "owner", board, coalesce(pin, -1), timestamp_ms::float8, sequence::float8`;
const COLUMN_TYPES = ['int4', 'int4', 'int4', 'int4', 'int4', 'float8', 'float8'] as const;

/** Batches of at most 2,048 events, oldest first, ties by order of import (decision 4). */
export async function* streamEvents(database: Asking, at: At, query: EventQuery): AsyncGenerator<EventBatch> {
  const visible = await readVisible(database, at, query.scope);
  const limit = query.limit === undefined ? '' : `LIMIT ${Math.trunc(query.limit)}`;
  // Without the table's name the order would be that of the answer's doubles, which no index has.
  const events = database.columns(
    `SELECT ${COLUMNS} FROM ${rowsAt(at, 'events')} WHERE ${ofEvents(query, visible)}
     ORDER BY events.timestamp_ms, events.sequence ${limit}`,
    COLUMN_TYPES,
  );
  for await (const { count, columns } of events) {
    const [kind, actor, owner, board, pin, timestampMs, sequence] = columns;
    yield { count, kind, actor, owner, board, pin, timestampMs, sequence };
  }
}

/** Events of a version with a larger sequence, in order. */
export async function readEventsSince(database: Asking, at: At, sequence: number): Promise<EventBatch> {
  const { count, columns } = await wholeColumns(
    database,
    `SELECT ${COLUMNS} FROM ${rowsAt(at, 'events')} WHERE sequence > ${int8(sequence)}
     ORDER BY events.timestamp_ms, events.sequence`,
    COLUMN_TYPES,
  );
  const [kind, actor, owner, board, pin, timestampMs, sequences] = columns;
  return { count, kind, actor, owner, board, pin, timestampMs, sequence: sequences };
}

const TALLIED = 'kind, actor, "owner", board, coalesce(pin, -1)';
const TALLIED_TYPES = ['int4', 'int4', 'int4', 'int4', 'int4'] as const;

/**
 * How often each index occurs in each column of the answer. Counted here, because PostgreSQL takes twice as long for
 * five groupings as for handing out a million events, and sorts them on its disk.
 */
export async function readTally(
  database: Asking,
  at: At,
  query: Omit<EventQuery, 'limit'>,
): Promise<EventTally> {
  const visible = await readVisible(database, at, query.scope);
  const sql = `SELECT ${TALLIED} FROM ${rowsAt(at, 'events')} WHERE ${ofEvents(query, visible)}`;
  let events = 0;
  const counters = TALLIED_TYPES.map(() => new Counter());
  for await (const { count, columns } of database.columns(sql, TALLIED_TYPES)) {
    events += count;
    for (const [place, values] of columns.entries()) counters[place]!.add(values);
  }
  const [kind, actor, owner, board, pin] = counters.map((counter) => counter.occurrences());
  if (!kind || !actor || !owner || !board || !pin) throw new Error('unreachable: five columns are tallied');
  return { events, kind, actor, owner, board, pin };
}

const PAGE_BITS = 8;
const PAGE_VALUES = 1 << PAGE_BITS;

/** How often each index occurs, in pages, so that a few of many indices take little memory. */
class Counter {
  readonly #pages = new Map<number, Float64Array>();

  /** Negative values are none. */
  add(values: Int32Array): void {
    for (let row = 0; row < values.length; row++) {
      const value = values[row]!;
      if (value < 0) continue;
      let page = this.#pages.get(value >>> PAGE_BITS);
      if (page === undefined) {
        page = new Float64Array(PAGE_VALUES);
        this.#pages.set(value >>> PAGE_BITS, page);
      }
      page[value & (PAGE_VALUES - 1)]! += 1;
    }
  }

  occurrences(): Occurrences {
    const index: number[] = [];
    const count: number[] = [];
    for (const [number, page] of this.#pages) {
      for (let place = 0; place < PAGE_VALUES; place++) {
        if (page[place] === 0) continue;
        index.push(number * PAGE_VALUES + place);
        count.push(page[place]!);
      }
    }
    return { index: Int32Array.from(index), count: Float64Array.from(count) };
  }
}
