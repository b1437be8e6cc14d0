/**
 * Converts staged records to DuckDB data chunks. Appending a chunk is several times as fast as
 * appending cell by cell. If a chunk has a narrower type than its table, DuckDB converts it.
 */
import {
  BIGINT,
  DuckDBBigIntVector,
  DuckDBDataChunk,
  DuckDBEnum8Vector,
  DuckDBIntegerVector,
  type DuckDBType,
  type DuckDBValue,
  ENUM8,
  INTEGER,
  SQLNULL,
  VARCHAR,
} from '@duckdb/node-api';
import type { StagedCell } from '../../staged-columns.ts';
import type { EventColumns } from '../../staging.ts';

/** The largest number of rows in a DuckDB data chunk. */
export const CHUNK_ROWS = 2048;

const TWO_TO_31 = 2 ** 31;

/** Texts with at most this many different values in a chunk are encoded as an ENUM. */
const FEW_TEXTS = 64;

/**
 * A chunk of columns of equal length, at most `CHUNK_ROWS`. The cells of a column are numbers and
 * bigints, or texts.
 */
export function chunkOfCells(columns: readonly (readonly StagedCell[])[]): DuckDBDataChunk {
  const types = columns.map(typeOf);
  const chunk = DuckDBDataChunk.create(types, columns[0]?.length ?? 0);
  for (const [at, cells] of columns.entries()) {
    const type = types[at];
    if (type === SQLNULL) continue;
    const wide = type === BIGINT;
    chunk.setColumnValues(
      at,
      cells.map((cell) => cellValue(cell, wide)),
    );
  }
  return chunk;
}

function cellValue(cell: StagedCell, wide: boolean): DuckDBValue {
  if (cell === undefined) return null;
  return wide ? BigInt(cell) : cell;
}

function typeOf(cells: readonly StagedCell[]): DuckDBType {
  const sample = cells.find((cell) => cell !== undefined);
  if (sample === undefined) return SQLNULL;
  if (typeof sample === 'string') return typeOfTexts(cells);
  return cells.every((cell) => cell === undefined || cell === (Number(cell) | 0)) ? INTEGER : BIGINT;
}

function typeOfTexts(cells: readonly StagedCell[]): DuckDBType {
  const texts = new Set<string>();
  for (const cell of cells) {
    if (typeof cell === 'string') texts.add(cell);
    if (texts.size > FEW_TEXTS) return VARCHAR;
  }
  return ENUM8([...texts]);
}

/**
 * The events from index `from` on, at most `CHUNK_ROWS`, as rows of `staged_events` numbered from
 * `n` on.
 */
export function chunkOfEvents(events: EventColumns, from: number, n: number): DuckDBDataChunk {
  const to = Math.min(events.count, from + CHUNK_ROWS);
  const words = ENUM8(events.words);
  const ids = (column: BigInt64Array, has?: Uint8Array) => (chunk: DuckDBDataChunk, at: number) =>
    fillBigints(chunk, at, column.subarray(from, to), has?.subarray(from, to));
  const columns: readonly (readonly [DuckDBType, (chunk: DuckDBDataChunk, at: number) => void])[] = [
    n + CHUNK_ROWS < TWO_TO_31
      ? [INTEGER, (chunk, at) => fillIntegers(chunk, at, numbered(n, new Int32Array(to - from)))]
      : [
          BIGINT,
          (chunk, at) =>
            fillBigints(chunk, at, BigInt64Array.from(numbered(n, new Float64Array(to - from)), BigInt)),
        ],
    [INTEGER, (chunk, at) => fillIntegers(chunk, at, new Int32Array(to - from).fill(events.file))],
    [INTEGER, (chunk, at) => fillIntegers(chunk, at, events.lines.subarray(from, to))],
    [BIGINT, ids(events.ids, events.hasIds)],
    [words, (chunk, at) => fillWords(chunk, at, events.types.subarray(from, to))],
    [words, (chunk, at) => fillWords(chunk, at, events.actions.subarray(from, to))],
    [BIGINT, ids(events.ownerIds)],
    [BIGINT, ids(events.actorIds)],
    [BIGINT, ids(events.boardIds)],
    [BIGINT, ids(events.pinIds, events.hasPins)],
    [BIGINT, ids(events.timestampsMs)],
    // The body, and the record as it was read.
    [SQLNULL, () => {}],
    [SQLNULL, () => {}],
  ];
  const chunk = DuckDBDataChunk.create(
    columns.map(([type]) => type),
    to - from,
  );
  for (const [at, [, fill]] of columns.entries()) fill(chunk, at);
  return chunk;
}

function numbered<A extends Int32Array | Float64Array>(first: number, numbers: A): A {
  for (let at = 0; at < numbers.length; at += 1) numbers[at] = first + at;
  return numbers;
}

// `items`, the typed array behind a vector, is private in the driver's types. The public interface
// sets each value separately.

/** Sets a BIGINT column; `has` is 0 where there is no value. */
export function fillBigints(
  chunk: DuckDBDataChunk,
  column: number,
  values: BigInt64Array,
  has?: Uint8Array | Int32Array,
): void {
  const vector = chunk.getColumnVector(column);
  if (!(vector instanceof DuckDBBigIntVector)) throw new Error(`column ${column} is no BIGINT`);
  vector['items'].set(values);
  clearAbsent(vector, has);
  vector.flush();
}

/** Like `fillBigints`, for INTEGER. */
export function fillIntegers(
  chunk: DuckDBDataChunk,
  column: number,
  values: Int32Array,
  has?: Int32Array,
): void {
  const vector = chunk.getColumnVector(column);
  if (!(vector instanceof DuckDBIntegerVector)) throw new Error(`column ${column} is no INTEGER`);
  vector['items'].set(values);
  clearAbsent(vector, has);
  vector.flush();
}

function clearAbsent(vector: DuckDBBigIntVector | DuckDBIntegerVector, has?: Uint8Array | Int32Array): void {
  if (has === undefined) return;
  for (let at = has.indexOf(0); at !== -1; at = has.indexOf(0, at + 1)) vector.setItem(at, null);
}

function fillWords(chunk: DuckDBDataChunk, column: number, places: Uint8Array): void {
  const vector = chunk.getColumnVector(column);
  if (!(vector instanceof DuckDBEnum8Vector)) throw new Error(`column ${column} is no ENUM`);
  vector['items'].set(places);
  vector.flush();
}
