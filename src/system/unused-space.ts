/**
 * Looks for flipped bits in the parts of a SQLite file that hold no data, which SQLite itself never
 * reads. They harm nothing, but tell that the disk fails.
 */
import { readFileSync } from 'node:fs';

/** Parts of the header that are zero in files of Corkboard: offset and length. */
const ZERO_IN_HEADER = [
  [20, 1],
  [48, 8],
  [64, 4],
  [72, 20],
] as const;
const HEADER_BYTES = 100;
/** The counter of changes is stored twice. */
const CHANGES_AT = 24;
const CHANGES_AGAIN_AT = 92;
/** Sizes of the headers of pages by their types; other pages are not examined. */
const PAGE_HEADERS = new Map([
  [2, 12],
  [5, 12],
  [10, 8],
  [13, 8],
]);

/** Whether a bit has flipped in space that should be zero. */
export function hasFlippedUnusedBit(path: string): boolean {
  const file = readFileSync(path);
  if (file.length < HEADER_BYTES) return false;
  if (ZERO_IN_HEADER.some(([at, length]) => file.subarray(at, at + length).some((byte) => byte !== 0))) {
    return true;
  }
  if (isSingleBit(file.readUInt32BE(CHANGES_AT) ^ file.readUInt32BE(CHANGES_AGAIN_AT))) return true;
  // The size 65,536 does not fit into the field, and is 1 there.
  const stored = file.readUInt16BE(16);
  const pageBytes = stored === 1 ? 65_536 : stored;
  if (pageBytes < 512) return false;
  for (let start = 0; start + pageBytes <= file.length; start += pageBytes) {
    if (hasFlippedBit(gapOf(file.subarray(start, start + pageBytes), start === 0 ? HEADER_BYTES : 0))) {
      return true;
    }
  }
  return false;
}

/** The space between the list of rows and the rows. */
function gapOf(page: Buffer, header: number): Buffer {
  const headerBytes = PAGE_HEADERS.get(page[header] ?? 0);
  if (headerBytes === undefined) return Buffer.alloc(0);
  // After the list, the number of a removed row may be left.
  const start = header + headerBytes + 2 * (page.readUInt16BE(header + 3) + 1);
  return page.subarray(start, Math.max(start, page.readUInt16BE(header + 5) || page.length));
}

/** One bit among zeros: remains of rows have many. */
function hasFlippedBit(gap: Buffer): boolean {
  const bytes = gap.filter((byte) => byte !== 0);
  return bytes.length === 1 && isSingleBit(bytes[0] ?? 0);
}

function isSingleBit(value: number): boolean {
  const bits = value >>> 0;
  return bits !== 0 && (bits & (bits - 1)) === 0;
}
