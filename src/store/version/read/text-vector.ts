/**
 * Copies the texts of a column from the memory of DuckDB. The driver makes a JavaScript string of
 * each text, with a call into native code for each that is longer than twelve bytes.
 */
import { type DuckDBDataChunk, DuckDBVarCharVector } from '@duckdb/node-api';
import duckdb from '@duckdb/node-bindings';
import { TextColumn } from '../../../dataset/text-column.ts';

// DuckDB describes a text in 16 bytes: the length, then the bytes themselves if they are at most
// twelve, or else the first four of them and the address of all.
const ITEM_BYTES = 16;
const LENGTH = 0;
const INLINE = 4;
const ADDRESS = 8;
const MOST_INLINE = 12;

/**
 * Texts are read in one call if there are at most this many bytes between them: both ends are in
 * memory that can be read, so the pages between them are as well.
 */
const MOST_BETWEEN = 4_095;
/** Shorter texts are copied byte by byte, which is faster than with a view of each. */
const SHORT_BYTES = 64;

interface TextVector {
  readonly dataView: DataView;
  readonly validity: { itemValid(row: number): boolean };
}

/** The texts of a column without nulls. */
export function textColumn(chunk: DuckDBDataChunk, column: number): TextColumn {
  const vector = chunk.getColumnVector(column);
  if (!(vector instanceof DuckDBVarCharVector)) throw new Error(`column ${column} is no VARCHAR`);
  // Private in the driver's types.
  const { dataView, validity } = vector as unknown as TextVector;
  const items = new Items(dataView);
  // Each reading of it is a call into native code.
  const { rowCount } = chunk;
  const offsets = new Float64Array(rowCount + 1);
  for (let row = 0; row < rowCount; row++) {
    // The memory of a null is not a text.
    if (!validity.itemValid(row)) throw new Error(`column ${column} has a null`);
    offsets[row + 1] = offsets[row]! + items.length(row);
  }
  const bytes = new Uint8Array(offsets[rowCount]!);
  let row = 0;
  while (row < rowCount) {
    if (items.length(row) > MOST_INLINE) row = copyNeighbours(items, row, bytes, offsets);
    else items.copyInline(row, bytes, offsets[row++]!);
  }
  return new TextColumn({ bytes, offsets, isJson: false });
}

/** Copies texts from row `first` on that lie beside each other; returns the row after them. */
function copyNeighbours(items: Items, first: number, bytes: Uint8Array, offsets: Float64Array): number {
  let start = items.address(first);
  let end = start + items.length(first);
  let lowest = first;
  let next = first + 1;
  for (; next < offsets.length - 1; next++) {
    const length = items.length(next);
    if (length <= MOST_INLINE) continue;
    const address = items.address(next);
    if (address > end + MOST_BETWEEN || address + length < start - MOST_BETWEEN) break;
    if (address < start) lowest = next;
    start = Math.min(start, address);
    end = Math.max(end, address + length);
  }
  const memory = items.memoryAt(lowest, end - start);
  for (let row = first; row < next; row++) {
    const length = items.length(row);
    if (length <= MOST_INLINE) items.copyInline(row, bytes, offsets[row]!);
    else copy(memory, items.address(row) - start, length, bytes, offsets[row]!);
  }
  return next;
}

function copy(source: Uint8Array, from: number, length: number, target: Uint8Array, at: number): void {
  if (length >= SHORT_BYTES) target.set(source.subarray(from, from + length), at);
  else for (let byte = 0; byte < length; byte++) target[at + byte] = source[from + byte]!;
}

class Items {
  readonly #view: DataView;
  readonly #bytes: Uint8Array;

  constructor(view: DataView) {
    this.#view = view;
    this.#bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  }

  length(row: number): number {
    return this.#view.getUint32(row * ITEM_BYTES + LENGTH, true);
  }

  /** Addresses have at most 48 bits. */
  address(row: number): number {
    const at = row * ITEM_BYTES + ADDRESS;
    return this.#view.getUint32(at, true) + this.#view.getUint32(at + 4, true) * 2 ** 32;
  }

  copyInline(row: number, target: Uint8Array, at: number): void {
    copy(this.#bytes, row * ITEM_BYTES + INLINE, this.length(row), target, at);
  }

  /** The memory from the address of a row on; valid as long as the chunk. */
  memoryAt(row: number, byteLength: number): Uint8Array {
    const { buffer, byteOffset } = this.#view;
    return duckdb.get_data_from_pointer(
      buffer as ArrayBuffer,
      byteOffset + row * ITEM_BYTES + ADDRESS,
      byteLength,
    );
  }
}
