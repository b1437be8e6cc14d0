/** Says before a large import that the disk may not suffice for it. */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { freeDiskBytes } from '../../system/free-disk.ts';
import { remark } from '../terminal/output.ts';

/**
 * Bytes on the disk while files are imported, for each of their bytes: staged records, and the new
 * version with its larger tables once more. Measured with a hundred million events as CSV.
 */
const ROOM = 2.6;
/** A smaller import is not worth a word. */
const LEAST_BYTES = 100e6;

/**
 * Remarks if the disk has less free space than an import of `inputBytes` into the folder takes. The
 * folder need not exist.
 */
export function checkRoom(folder: string, inputBytes: number): void {
  if (inputBytes < LEAST_BYTES) return;
  const needed = inputBytes * ROOM;
  const free = freeDiskBytes(existing(resolve(folder)));
  if (free >= needed) return;
  remark(
    `The disk may not suffice: this import takes about ${inGigabytes(needed)} in ${folder}, and ${inGigabytes(free)} are free. If it does not, nothing is published.`,
  );
}

function inGigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}

/** The folder, or the nearest one above it that exists. */
function existing(folder: string): string {
  return existsSync(folder) ? folder : existing(dirname(folder));
}
