/** The memory in which DuckDB builds a version; it writes the rest to disk. */
import { machineMemory } from '../system/machine-memory.ts';

/** Left at least for this process, the page cache, and what DuckDB does not count. */
const LEFT_BYTES = 512e6;
/** DuckDB needs this much to open a version and to write anything to disk. */
export const LEAST_BUILD_BYTES = 256e6;

/** Enough for a million events. DuckDB would fill more before it writes to disk. */
const USUAL_BYTES = 768e6;
const BYTES_PER_RECORD = 30;

/** What the machine allows, in bytes: half of its memory, or less on small machines. */
export function defaultBuildBytes(): number {
  const memory = machineMemory();
  return Math.floor(Math.max(Math.min(memory / 2, memory - LEFT_BYTES), LEAST_BUILD_BYTES));
}

/** What a version with this many staged records needs, of the `limitBytes` that it may use. */
export function buildBytes(records: number, limitBytes: number): number {
  return Math.min(limitBytes, Math.max(USUAL_BYTES, BYTES_PER_RECORD * records));
}
