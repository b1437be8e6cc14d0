/** Says before a large import that the disk or the memory may not suffice for it. */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { inGigabytes } from '../../domain/sizes.ts';
import { leastBuildBytes } from '../../store/build-memory.ts';
import { freeDiskBytes } from '../../system/free-disk.ts';
import { remark } from '../terminal/output.ts';

/**
 * Bytes on the disk while files are imported, for each of their bytes: staged records, and the new
 * version with its larger tables once more. Measured with a hundred million events as CSV.
 */
const ROOM = 2.6;
/** Fewer than this per record, in CSV, are rare. */
const LEAST_BYTES_OF_RECORD = 80;
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

/**
 * Remarks if the memory for building a version is less than the records of an import of
 * `inputBytes` can need. Whether they do is known only when they have been read.
 */
export function checkMemory(allowedBytes: number, inputBytes: number): void {
  const needed = leastBuildBytes(inputBytes / LEAST_BYTES_OF_RECORD);
  if (inputBytes < LEAST_BYTES || needed <= allowedBytes) return;
  remark(
    `The memory may not suffice: this import takes up to ${inGigabytes(needed)} for building a version, and ${inGigabytes(allowedBytes)} are allowed (--build-memory). If it does not, nothing is published.`,
  );
}

/** The folder, or the nearest one above it that exists. */
function existing(folder: string): string {
  return existsSync(folder) ? folder : existing(dirname(folder));
}
