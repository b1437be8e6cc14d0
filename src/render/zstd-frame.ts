/**
 * Zstandard (RFC 8878) taken apart: the blocks of frames that were compressed by themselves, to be put together in one
 * frame. Several frames in a row would be valid too, but not all clients read beyond the first.
 */
import { promisify } from 'node:util';
import { zstdCompressSync, zstdDecompress } from 'node:zlib';

const MAGIC = [0x28, 0xb5, 0x2f, 0xfd];
/** A window of 8 MiB, the most that clients of HTTP must allow (RFC 9659). */
const WINDOW = (23 - 10) << 3;

/** No content size, no checksum, no dictionary. */
export const FRAME_HEADER = Uint8Array.of(...MAGIC, 0, WINDOW);
/** A last, empty block. */
export const FRAME_END = Uint8Array.of(1, 0, 0);

const BLOCK_HEADER_BYTES = 3;
const LARGEST_BLOCK_BYTES = 128 * 1024;

/** Blocks that hold the bytes as they are. */
export function rawBlocks(plain: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < plain.length; at += LARGEST_BLOCK_BYTES) {
    const block = plain.subarray(at, at + LARGEST_BLOCK_BYTES);
    const header = Buffer.alloc(BLOCK_HEADER_BYTES);
    header.writeUIntLE(block.length << 3, 0, BLOCK_HEADER_BYTES);
    parts.push(header, block);
  }
  return Buffer.concat(parts);
}

/** The blocks of a frame that holds `plain`, so that they can stand anywhere in another frame. */
export async function blocksOfFrame(frame: Buffer, plain: Uint8Array): Promise<Uint8Array> {
  const blocks = frame.subarray(headerLength(frame));
  clearLast(blocks);
  return (await standsAnywhere(blocks, plain)) ? blocks : rawBlocks(plain);
}

/** Bytes before the first block (RFC 8878, 3.1.1.1). */
function headerLength(frame: Uint8Array): number {
  const descriptor = frame[4] ?? 0;
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const contentSize = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  const dictionary = [0, 1, 2, 4][descriptor & 3] ?? 0;
  return MAGIC.length + 1 + (isSingleSegment ? 0 : 1) + dictionary + contentSize;
}

/** Takes the mark of the last block away; the frame has no checksum after it. */
function clearLast(blocks: Buffer): void {
  for (let at = 0; ; ) {
    const header = blocks.readUIntLE(at, BLOCK_HEADER_BYTES);
    if ((header & 1) === 1) {
      blocks[at] = header & 0xfe;
      return;
    }
    // A block of one repeated byte holds that byte alone.
    at += BLOCK_HEADER_BYTES + (((header >> 1) & 3) === 1 ? 1 : header >> 3);
  }
}

/**
 * The one thing that a block takes over from the blocks before is the distances of the last three matches, and a
 * frame begins with agreed ones. Blocks that make use of these would be read wrongly behind other blocks. So they are
 * read behind some that leave distances into a part of bytes that occur in no text.
 */
async function standsAnywhere(blocks: Uint8Array, plain: Uint8Array): Promise<boolean> {
  strangeBlocks ??= makeStrangeBlocks();
  const { blocks: before, plainBytes } = strangeBlocks;
  const frame = Buffer.concat([FRAME_HEADER, before, blocks, FRAME_END]);
  try {
    return (await promisify(zstdDecompress)(frame)).subarray(plainBytes).equals(plain);
  } catch {
    return false;
  }
}

let strangeBlocks: { readonly blocks: Uint8Array; readonly plainBytes: number } | undefined;

/** Whoever makes use of a distance does so before: a piece without any match up to here is noise. */
const STRANGE_BYTES = 256 * 1024;
const STRANGE_LENGTH = 64;

/** Three matches far back, at the end of many bytes that no UTF-8 has. */
function makeStrangeBlocks() {
  // No run of four occurs twice among them.
  const start = Uint8Array.from({ length: 3 * STRANGE_LENGTH }, (_, at) => 0xc0 + (((at * at) >> 3) % 0x35));
  const plain = Buffer.alloc(STRANGE_BYTES, 0xff);
  plain.set(start);
  let end = plain.length;
  for (let match = 0; match < 3; match++) {
    // A byte in between, so that the three distances are three.
    end -= STRANGE_LENGTH + 1;
    plain[end] = 0xf5 + match;
    plain.set(start.subarray(match * STRANGE_LENGTH, (match + 1) * STRANGE_LENGTH), end + 1);
  }
  const frame = zstdCompressSync(plain);
  const blocks = frame.subarray(headerLength(frame));
  clearLast(blocks);
  return { blocks, plainBytes: plain.length };
}
