/** Arrays, initially all 0, that a different thread can read without a copy. */
import { inSlices } from '../system/time-slice.ts';

export function sharedIntegers(length: number): Int32Array {
  return new Int32Array(new SharedArrayBuffer(length * Int32Array.BYTES_PER_ELEMENT));
}

export function sharedFlags(length: number): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(length));
}

/** Smaller memory shares a mapping with others; Linux limits the number of mappings. */
export const LEAST_GROWABLE_BYTES = 128 * 1024;

/**
 * Shared memory that can grow in place by a quarter, unless it is small. Until then, the quarter
 * takes only address space.
 */
export function growableMemory(byteLength: number): SharedArrayBuffer {
  if (byteLength < LEAST_GROWABLE_BYTES) return new SharedArrayBuffer(byteLength);
  return new SharedArrayBuffer(byteLength, { maxByteLength: Math.ceil(byteLength * 1.25) });
}

export type PlainColumn = Int32Array | Uint32Array | Float64Array | BigInt64Array | Uint8Array;

interface PlainColumnType<C extends PlainColumn> {
  readonly BYTES_PER_ELEMENT: number;
  new (memory: ArrayBufferLike, at: number, length: number): C;
}

/** A column for which `extend` need not copy. */
export function growable<C extends PlainColumn>(type: PlainColumnType<C>, length: number): C {
  return new type(growableMemory(length * type.BYTES_PER_ELEMENT), 0, length);
}

/** Elements copied between two checks of the clock. */
const COPIED_AT_ONCE = 65_536;

/**
 * A column of `length` elements that begins with those of `column`, which does not change; the
 * others are 0. It takes the same memory, unless that cannot grow or has other elements behind the
 * column.
 */
export async function extend<C extends PlainColumn>(column: C, length: number): Promise<C> {
  const { buffer: memory, byteOffset, byteLength } = column;
  const bytes = length * column.BYTES_PER_ELEMENT;
  const type = column.constructor as PlainColumnType<C>;
  if (memory instanceof SharedArrayBuffer && memory.growable && byteOffset === 0) {
    if (memory.byteLength === byteLength && memory.maxByteLength >= bytes) {
      memory.grow(bytes);
      return new type(memory, 0, length);
    }
  }
  const copy = growable(type, length);
  await copyTo(copy, column, 0);
  return copy;
}

/** The elements of `added` behind those of `column`; otherwise as `extend`. */
export async function append<C extends PlainColumn>(column: C, added: C): Promise<C> {
  const longer = await extend(column, column.length + added.length);
  await copyTo(longer, added, column.length);
  return longer;
}

/** Writes `source` to `target`, from `at` on, in time slices. */
export async function copyTo<C extends PlainColumn>(target: C, source: C, at: number): Promise<void> {
  const copy = (from: number, to: number) => target.set(source.subarray(from, to) as never, at + from);
  await inSlices(0, source.length, copy, COPIED_AT_ONCE);
}
