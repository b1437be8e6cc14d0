/** Arrays, initially all 0, that a different thread can read without a copy. */

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
