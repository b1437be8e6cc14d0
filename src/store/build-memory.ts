/** The memory in which DuckDB builds a version; it writes the rest to disk. */
import { machineMemory } from '../system/machine-memory.ts';

/** For this process, the page cache, and what DuckDB does not count. */
const LEFT_SHARE = 1 / 2;
const LEFT_AT_LEAST_BYTES = 512e6;
/** DuckDB needs this much to open a version and to write anything to disk. */
export const LEAST_BUILD_BYTES = 256e6;

/** Enough for a million events, whatever their texts. More would be used, and gain nothing. */
const USUAL_BYTES = 768e6;
const BYTES_PER_RECORD = 30;

/** What the machine allows. */
export function defaultBuildBytes(): number {
  const memory = machineMemory();
  const left = Math.max(memory * LEFT_SHARE, LEFT_AT_LEAST_BYTES);
  return Math.floor(Math.max(memory - left, LEAST_BUILD_BYTES));
}

/** What a version with this many staged records needs, of the `limitBytes` that it may use. */
export function buildBytes(records: number, limitBytes: number): number {
  return Math.min(limitBytes, Math.max(USUAL_BYTES, BYTES_PER_RECORD * records));
}
