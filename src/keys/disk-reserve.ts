/**
 * Disk space reserved in a data folder, so that a key can be revoked when the disk is full: a file
 * that is never read. It is deleted to free space, and created again when there is enough.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** No organization has a name that begins with a full stop. */
const FILE = '.keys-reserve';
/** Several times the space that two SQLite files need for their journals and one changed row. */
const RESERVE_BYTES = 256 * 1024;
const BLOCK_BYTES = 4096;

/**
 * Creates the reserve of a data folder, or extends it to its full size, as far as there is space.
 * Never throws.
 */
export function keepReserve(dataFolder: string): void {
  const path = join(dataFolder, FILE);
  let missing = RESERVE_BYTES - (statSync(path, { throwIfNoEntry: false })?.size ?? 0);
  if (missing <= 0) return;
  try {
    const file = openSync(path, 'a', 0o600);
    try {
      // Random bytes, because no file system can compress them.
      for (; missing > 0; missing -= BLOCK_BYTES) writeSync(file, randomBytes(BLOCK_BYTES));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch {
    // Without space or write permission, the reserve is smaller.
  }
}

/** Frees the reserve. Returns false if there is none. */
export function releaseReserve(dataFolder: string): boolean {
  const path = join(dataFolder, FILE);
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return false;
  rmSync(path);
  return true;
}
