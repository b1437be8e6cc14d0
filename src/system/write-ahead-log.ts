/**
 * The log of recent changes beside a SQLite file (`-wal`). Its frames have checksums that SQLite
 * verifies only when it opens a file that no process has open, and then it drops everything from
 * the first damaged frame on, as after a power failure.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { hasCode } from './file-errors.ts';

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The last bit says whether checksums read words in big-endian order. */
const MAGIC = 0x377f0682;
/** Another process may be writing the last frame. */
const ATTEMPTS = 5;
const PAUSE_MS = 100;

/** Whether frames of the log are damaged. False if there is no log. */
export async function isLogDamaged(path: string): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    if (!hasDamage(readLog(path))) return false;
    if (attempt === ATTEMPTS) return true;
    await delay(PAUSE_MS);
  }
}

function readLog(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return Buffer.alloc(0);
    throw error;
  }
}

type Sum = readonly [number, number];

/** Whether a frame that belongs to the current log comes after the last one that is whole. */
function hasDamage(log: Buffer): boolean {
  if (log.length === 0) return false;
  if (log.length < HEADER_BYTES) return true;
  const magic = log.readUInt32BE(0);
  const isBigEndian = (magic & 1) === 1;
  let sum: Sum = sumOf(log.subarray(0, HEADER_BYTES - 8), [0, 0], isBigEndian);
  if ((magic & ~1) >>> 0 !== MAGIC || !isSum(log, HEADER_BYTES - 8, sum)) return true;
  const salt = log.readBigUInt64BE(16);
  const frameBytes = FRAME_HEADER_BYTES + log.readUInt32BE(8);
  let isWhole = true;
  for (let start = HEADER_BYTES; start + frameBytes <= log.length; start += frameBytes) {
    const frame = log.subarray(start, start + frameBytes);
    if (isWhole) {
      sum = sumOf(frame.subarray(0, 8), sum, isBigEndian);
      sum = sumOf(frame.subarray(FRAME_HEADER_BYTES), sum, isBigEndian);
      isWhole = frame.readBigUInt64BE(8) === salt && isSum(frame, 16, sum);
    }
    // Frames of earlier logs follow, with a salt of their own; one changed bit makes no such salt.
    if (!isWhole && bitsOf(frame.readBigUInt64BE(8) ^ salt) <= 1) return true;
  }
  return false;
}

function isSum(bytes: Buffer, at: number, [first, second]: Sum): boolean {
  return bytes.readUInt32BE(at) === first && bytes.readUInt32BE(at + 4) === second;
}

/** The checksum of SQLite's file format: "WAL Frame Checksum Algorithm". */
function sumOf(bytes: Buffer, [first, second]: Sum, isBigEndian: boolean): Sum {
  const word = (at: number) => (isBigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at));
  for (let at = 0; at < bytes.length; at += 8) {
    first = (first + word(at) + second) >>> 0;
    second = (second + word(at + 4) + first) >>> 0;
  }
  return [first, second];
}

function bitsOf(value: bigint): number {
  return value.toString(2).replaceAll('0', '').length;
}
