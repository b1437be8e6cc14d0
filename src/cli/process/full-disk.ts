/**
 * A disk without room: how it is recognized, and the reserve with which a key can be revoked all
 * the same.
 */
import { keepReserve, releaseReserve } from '../../keys/disk-reserve.ts';
import type { StorageOptions } from './storage.ts';

/** SQLITE_FULL, and SQLITE_IOERR_SHMSIZE: no room for the memory that its processes share. */
const SQLITE_CODES: ReadonlySet<unknown> = new Set([13, 4874]);
/**
 * Of the system: no room on the disk, and none in the user's share of it; and disk_full of
 * PostgreSQL.
 */
const CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', '53100']);

/**
 * The error that says that a disk is full, which may be the cause of the one that was thrown;
 * absent for any other.
 */
export function fullDiskError(error: unknown): Error | undefined {
  if (!(error instanceof Error)) return undefined;
  const isFull =
    ('code' in error && CODES.has(error.code)) ||
    ('errcode' in error && SQLITE_CODES.has(error.errcode)) ||
    // DuckDB tells its trouble with files in the text alone.
    /^IO Error: .*No space left on device/s.test(error.message);
  return isFull ? error : fullDiskError(error.cause);
}

/** Keeps room in the data folder for the next revocation; a database has its own. */
export function keepRoom({ data, database }: StorageOptions): void {
  if (!database) keepReserve(data);
}

/**
 * Runs `work`, once more with the reserve of the data folder when there was no room on its disk.
 */
export async function withReserve<T>(options: StorageOptions, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (options.database || fullDiskError(error) === undefined || !releaseReserve(options.data)) throw error;
    return await work();
  } finally {
    keepRoom(options);
  }
}
