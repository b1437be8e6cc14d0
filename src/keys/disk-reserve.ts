/**
 * Disk space reserved in a data folder, so that a key can be revoked when the disk is full: a file
 * that is never read. It is deleted to free space, and created again when there is enough.
 */
import { hash, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** No organization has a name that begins with a full stop. */
const FILE = '.keys-reserve';
/** Several times the space that two SQLite files need for their journals and one changed row. */
const RESERVE_BYTES = 256 * 1024;
const DIGEST_BYTES = 32;
const BLOCK_BYTES = 4096;

/**
 * Creates the reserve of a data folder, or writes it again unless it is complete, as far as there
 * is space. Never throws.
 */
export function keepReserve(dataFolder: string): void {
  try {
    if (readReserve(dataFolder) === 'whole') return;
    const file = openSync(join(dataFolder, FILE), 'w', 0o600);
    try {
      // Random bytes, because no file system can compress them. Their digest tells damage.
      const bytes = randomBytes(RESERVE_BYTES);
      const content = Buffer.concat([bytes, hash('sha256', bytes, 'buffer')]);
      for (let at = 0; at < content.length; at += BLOCK_BYTES) {
        writeSync(file, content, at, Math.min(BLOCK_BYTES, content.length - at));
      }
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch {
    // Without space or write permission, the reserve is smaller.
  }
}

/** The state of the reserve. One that is too small, or has no digest, is `incomplete`. */
export function readReserve(dataFolder: string): 'absent' | 'incomplete' | 'damaged' | 'whole' {
  const path = join(dataFolder, FILE);
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined) return 'absent';
  if (size !== RESERVE_BYTES + DIGEST_BYTES) return 'incomplete';
  const content = readFileSync(path);
  const digest = hash('sha256', content.subarray(0, RESERVE_BYTES), 'buffer');
  return digest.equals(content.subarray(RESERVE_BYTES)) ? 'whole' : 'damaged';
}

/** Frees the reserve. Returns false if there is none. */
export function releaseReserve(dataFolder: string): boolean {
  const path = join(dataFolder, FILE);
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return false;
  rmSync(path);
  return true;
}
