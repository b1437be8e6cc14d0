/** The memory in which DuckDB builds a version; it writes the rest to disk. */
import { AppError } from '../domain/app-error.ts';
import { inGigabytes } from '../domain/sizes.ts';
import { machineMemory } from '../system/machine-memory.ts';

/**
 * Left at least for this process, apart from DuckDB. What DuckDB does not count, and files that are
 * being written, take up to as much as what it counts.
 */
const LEFT_BYTES = 350e6;
/** DuckDB needs this much to open a version and to write anything to disk. */
export const LEAST_BUILD_BYTES = 256e6;

/** Enough for a million events. DuckDB would fill more before it writes to disk. */
const USUAL_BYTES = 768e6;
const BYTES_PER_RECORD = 30;
/** With less, DuckDB gives up after minutes: measured with a hundred million events. */
const LEAST_BYTES_PER_RECORD = 12;

/** How much memory the building of a version takes. */
export interface BuildMemory {
  readonly limitBytes: number;
  /** For a version with this many staged records, in bytes; up to the limit. */
  bytesFor(records: number): number;
}

/**
 * `givenBytes` if that is defined, whatever the number of records. Otherwise what they need, up to
 * `limitBytes`.
 */
export function buildMemory(givenBytes?: number, limitBytes = defaultBuildBytes()): BuildMemory {
  if (givenBytes !== undefined) return { limitBytes: givenBytes, bytesFor: () => givenBytes };
  const bytesFor = (records: number) =>
    Math.min(limitBytes, Math.max(USUAL_BYTES, BYTES_PER_RECORD * records));
  return { limitBytes, bytesFor };
}

/** What the memory of the machine allows, in bytes. */
export function defaultBuildBytes(memory = machineMemory()): number {
  return Math.floor(Math.max((memory - LEFT_BYTES) / 2, LEAST_BUILD_BYTES));
}

/** What a version with this many staged records needs at least, in bytes. */
export function leastBuildBytes(records: number): number {
  return LEAST_BYTES_PER_RECORD * records;
}

/** Throws `import-refused` if `limitBytes` do not suffice for a version with this many records. */
export function refuseMemoryShortage(records: number, limitBytes: number): void {
  const needed = leastBuildBytes(records);
  if (needed <= limitBytes) return;
  throw new AppError(
    'import-refused',
    `${records.toLocaleString('en')} records need at least ${inGigabytes(needed)} of memory for building a version, and ${inGigabytes(limitBytes)} are allowed. Nothing was changed. Allow more with --build-memory (CORKBOARD_BUILD_MEMORY), on a machine with at least twice as much.`,
  );
}
