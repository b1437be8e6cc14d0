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
/**
 * With less, DuckDB can give up after minutes: 256 MB suffice for 40 million events, and 361 MB do
 * not for 100 million.
 */
const LEAST_BYTES_PER_RECORD = 6;

/** How much is computed at once where DuckDB keeps it in memory. */
export interface AtOnce {
  /** Events that are joined with users, boards and pins, and sorted. */
  readonly events: number;
  /**
   * Possible awards that are sorted to apply weekly maximums. Those of one board are not divided.
   */
  readonly candidates: number;
  /** Users on boards whose points totals are computed. */
  readonly pairs: number;
  /** Bytes of staged users that are merged. */
  readonly userBytes: number;
  /**
   * Bytes of memory for each new event if the tables that are derived from events are updated. With
   * more events than fit, they are computed from all events again, in portions.
   */
  readonly bytesOfUpdate: number;
}

/**
 * Of a hundred million events with six million users, boards and pins, 25 million fit into 860 MB,
 * and all of them do not. Their 13 million possible awards fit in some runs only. Of 40 million
 * events, the users on all boards do not fit into 256 MB. Updates for 10 million new events fit
 * into 768 MB, but not into 600 MB.
 */
const USUAL_AT_ONCE: AtOnce = {
  ...{ events: 25_000_000, candidates: 2_000_000, pairs: 2_000_000 },
  ...{ userBytes: 64_000_000, bytesOfUpdate: 100 },
};

/** How much memory the building of a version takes. */
export interface BuildMemory {
  readonly atOnce: AtOnce;
  readonly limitBytes: number;
  /** For a version with this many staged records, in bytes; up to the limit. */
  bytesFor(records: number): number;
}

/**
 * `givenBytes` if that is defined, whatever the number of records. Otherwise what they need, up to
 * `limitBytes`.
 */
export function buildMemory(givenBytes?: number, limitBytes = defaultBuildBytes()): BuildMemory {
  const atOnce = USUAL_AT_ONCE;
  if (givenBytes !== undefined) return { atOnce, limitBytes: givenBytes, bytesFor: () => givenBytes };
  const bytesFor = (records: number) =>
    Math.min(limitBytes, Math.max(USUAL_BYTES, BYTES_PER_RECORD * records));
  return { atOnce, limitBytes, bytesFor };
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
  if (leastBuildBytes(records) <= limitBytes) return;
  const most = Math.floor(limitBytes / LEAST_BYTES_PER_RECORD);
  throw new AppError(
    'import-refused',
    `The import has more than ${most.toLocaleString('en')} records, which is the most for ${inGigabytes(limitBytes)} of memory for building a version. Nothing was changed. Allow more with --build-memory (CORKBOARD_BUILD_MEMORY), on a machine with at least twice as much.`,
  );
}
