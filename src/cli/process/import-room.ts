/** Says before a large import that the disk may not suffice for it. */
import { statfsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { remark } from '../terminal/output.ts';

/**
 * Bytes on the disk while files are imported, for each of their bytes: staged records, and the new
 * version with its larger tables once more. Measured with a hundred million events as CSV.
 */
const ROOM = 2.6;
/** A smaller import is not worth a word. */
const LEAST_BYTES = 100e6;

/** Remarks once if the free disk is less than an import of `inputBytes` into the folder takes. */
export function checkRoom(folder: string, inputBytes: number): void {
  const needed = inputBytes * ROOM;
  if (inputBytes < LEAST_BYTES) return;
  const free = freeBytes(folder);
  if (free === undefined || free >= needed) return;
  remark(
    `The disk may not suffice: this import takes about ${inGigabytes(needed)} in ${folder}, and ${inGigabytes(free)} are free. If it does not, nothing is published.`,
  );
}

function inGigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}

/** Of the folder, or of the nearest one above it that exists. */
function freeBytes(folder: string): number | undefined {
  for (let path = resolve(folder); ; path = dirname(path)) {
    try {
      const { bavail, bsize } = statfsSync(path);
      return bavail * bsize;
    } catch {
      if (path === dirname(path)) return undefined;
    }
  }
}
