/**
 * Room that is kept free on the disk of a data folder, so that a key can be revoked when the disk
 * is full: a file of bytes that nothing reads. It is removed to make room, and made again when
 * there is some.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** No organization has a name that begins with a full stop. */
const FILE = '.keys-reserve';
/**
 * What two SQLite files need for their companions and for a change of one row, several times over.
 */
const RESERVE_BYTES = 256 * 1024;
const BLOCK_BYTES = 4096;

/**
 * Makes the reserve of a data folder, or what is missing of it, as far as there is room. Never
 * throws.
 */
export function keepReserve(dataFolder: string): void {
  const path = join(dataFolder, FILE);
  let missing = RESERVE_BYTES - (statSync(path, { throwIfNoEntry: false })?.size ?? 0);
  if (missing <= 0) return;
  try {
    const file = openSync(path, 'a', 0o600);
    try {
      // No file system can store random bytes in less room.
      for (; missing > 0; missing -= BLOCK_BYTES) writeSync(file, randomBytes(BLOCK_BYTES));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch {
    // Without room, or without the right to write here, there is less of it.
  }
}

/** Frees the reserve. False when there is none. */
export function releaseReserve(dataFolder: string): boolean {
  const path = join(dataFolder, FILE);
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return false;
  rmSync(path);
  return true;
}
