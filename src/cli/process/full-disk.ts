/**
 * Full disks: recognizes their errors, and uses a reserve of disk space so that a key can still be
 * revoked.
 */
import { keepReserve, releaseReserve } from '../../keys/disk-reserve.ts';
import type { StorageOptions } from './storage.ts';

/** SQLITE_FULL, and SQLITE_IOERR_SHMSIZE: no room for the shared memory file of SQLite. */
const SQLITE_CODES: ReadonlySet<unknown> = new Set([13, 4874]);
/**
 * The codes of the system for a full disk and for an exhausted disk quota, and `disk_full` of
 * PostgreSQL.
 */
const CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', '53100']);

/**
 * DuckDB reports a full disk only in the message, which begins with "Failed to append" for staged
 * rows. It fails to offload a block when it has written as much as it may: nine tenths of the disk
 * space that was free at first.
 */
const DUCKDB = /(^|: )(IO Error: .*No space left on device|failed to offload data block)/s;

/**
 * Returns the error that reports a full disk: the given error, or one in its chain of causes.
 * Returns undefined for any other error.
 */
export function fullDiskError(error: unknown): Error | undefined {
  if (!(error instanceof Error)) return undefined;
  const isFull =
    ('code' in error && CODES.has(error.code)) ||
    ('errcode' in error && SQLITE_CODES.has(error.errcode)) ||
    DUCKDB.test(error.message);
  return isFull ? error : fullDiskError(error.cause);
}

/**
 * Reserves disk space in the data folder for the next revocation. Does nothing for a database,
 * which has its own disk.
 */
export function keepRoom({ data, database }: StorageOptions): void {
  if (!database) keepReserve(data);
}

/**
 * Runs `work`. If the disk of the data folder is full, releases the reserve and runs `work` once
 * more. Restores the reserve afterwards.
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
