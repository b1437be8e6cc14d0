/** Joins columns that are read in batches. */
import { slice } from '../system/time-slice.ts';
import { copyTo, type PlainColumn } from './shared-arrays.ts';

/** Concatenates parts into one new column that has room for them, in time slices. */
async function joinColumn<C extends PlainColumn>(
  parts: readonly C[],
  make: (length: number) => C,
): Promise<C> {
  const joined = make(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    if (slice.isOver()) await slice.pass();
    await copyTo(joined, part, at);
    at += part.length;
  }
  return joined;
}

export async function joinIntegers(parts: readonly Int32Array[]): Promise<Int32Array> {
  return await joinColumn(parts, (length) => new Int32Array(length));
}

export async function joinDoubles(parts: readonly Float64Array[]): Promise<Float64Array> {
  return await joinColumn(parts, (length) => new Float64Array(length));
}

/** The result is in shared memory. */
export async function joinIds(parts: readonly BigInt64Array[]): Promise<BigInt64Array> {
  return await joinColumn(parts, (length) => new BigInt64Array(new SharedArrayBuffer(8 * length)));
}

export async function joinFlags(parts: readonly Uint8Array[]): Promise<Uint8Array> {
  return await joinColumn(parts, (length) => new Uint8Array(length));
}

/** Collects all batches, in order. */
export async function collectRuns<Rows>(runs: AsyncIterable<Rows>): Promise<Rows[]> {
  const collected: Rows[] = [];
  for await (const rows of runs) collected.push(rows);
  return collected;
}
