/** Compressed files that are broken, joined, nested, or expand to far more than their size. */
import { gzipSync, zstdCompressSync } from 'node:zlib';
import type { Random } from '../../../bench/random.ts';
import { changeBytes } from './bytes.ts';
import { type Files, mutateFiles } from './documents.ts';

type Pack = (bytes: Buffer) => Buffer;

const PACKERS: Readonly<Record<string, Pack>> = {
  '.gz': (bytes) => gzipSync(bytes),
  '.zst': (bytes) => zstdCompressSync(bytes),
};

/** Large enough to be noticed, small enough to be survived. */
const BOMB_BYTES = [100e6, 800e6];

/** Compresses all files, and makes one of them irregular: see `broken`. */
export function mutatePacked(random: Random, files: Files): Files {
  const ending = random.pick(Object.keys(PACKERS));
  const pack = PACKERS[ending] ?? ((bytes: Buffer) => bytes);
  const plain = random.below(3) === 0 ? mutateFiles(random, files) : files;
  const packed = Object.fromEntries(
    Object.entries(plain).map(([name, bytes]) => [`${name}${ending}`, pack(bytes)]),
  );
  const name = random.pick(Object.keys(packed));
  const bytes = plain[name.slice(0, -ending.length)] ?? Buffer.alloc(0);
  return { ...packed, [name]: broken(random, bytes, pack, packed[name] ?? bytes) };
}

function broken(random: Random, plain: Buffer, pack: Pack, packed: Buffer): Buffer {
  const half = Math.floor(plain.length / 2);
  const kind = random.below(40);
  if (kind === 0) return bomb(random, pack, plain);
  if (kind < 4) return pack(packed);
  if (kind < 8) return Buffer.concat([pack(plain.subarray(0, half)), pack(plain.subarray(half))]);
  if (kind < 12) return Buffer.concat([packed, changeBytes(random, packed, plain)]);
  if (kind < 14) return plain;
  if (kind < 16) return pack(Buffer.alloc(0));
  return changeBytes(random, packed, plain);
}

const BLOCK = Buffer.alloc(1e6, ' ');

/** Blanks, which may follow any record. Made of small parts, so that making it takes no memory. */
function bomb(random: Random, pack: Pack, plain: Buffer): Buffer {
  const bytes = random.pick(BOMB_BYTES);
  if (pack === PACKERS['.zst']) return zstdBomb(plain, bytes);
  const member = gzipSync(BLOCK);
  const blanks = Array.from({ length: bytes / BLOCK.length }, () => member);
  return Buffer.concat([gzipSync(plain), ...blanks, gzipSync(plain)]);
}

const LARGEST_BLOCK_BYTES = 128 * 1024;
/** The magic number, no flags, and a window of 2 MiB (RFC 8878). */
const FRAME_HEADER = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58]);
const RAW = 0;
const REPEATED = 1;

/** Blocks that repeat one blank: four bytes expand to 128 KiB. */
function zstdBomb(plain: Buffer, bytes: number): Buffer {
  const beginning = plain.subarray(0, LARGEST_BLOCK_BYTES);
  const blanks = Buffer.concat([blockHeader(REPEATED, LARGEST_BLOCK_BYTES, false), Buffer.from(' ')]);
  return Buffer.concat([
    FRAME_HEADER,
    ...[blockHeader(RAW, beginning.length, false), beginning],
    ...Array.from({ length: Math.ceil(bytes / LARGEST_BLOCK_BYTES) }, () => blanks),
    blockHeader(RAW, 0, true),
  ]);
}

function blockHeader(type: number, bytes: number, isLast: boolean): Buffer {
  const header = Buffer.alloc(3);
  header.writeUIntLE((bytes << 3) | (type << 1) | Number(isLast), 0, 3);
  return header;
}
