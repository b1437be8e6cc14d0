/** Arrays, initially all 0, that a different thread can read without a copy. */

export function sharedIntegers(length: number): Int32Array {
  return new Int32Array(new SharedArrayBuffer(length * Int32Array.BYTES_PER_ELEMENT));
}

export function sharedFlags(length: number): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(length));
}

/**
 * Memory that can grow by a quarter where it is. Until it does, that quarter takes only addresses.
 */
export function growableMemory(byteLength: number): SharedArrayBuffer {
  return new SharedArrayBuffer(byteLength, { maxByteLength: Math.ceil(byteLength * 1.25) });
}
