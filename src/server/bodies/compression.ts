/**
 * Compression of a stream; the same input always gives the same bytes. gzip uses several cores:
 * deflate blocks that end on a byte boundary are compressed independently of each other and joined
 * in one member. Zstandard is one stream in one thread, which is about as fast. (It can use several
 * threads, but Node takes input that they have not consumed at once for the end of the stream.)
 */
import type { Writable } from 'node:stream';
import { promisify } from 'node:util';
import { crc32, createZstdCompress, gzip, constants as zlib, zstdCompress } from 'node:zlib';
import { BLOCK_BYTES, GZIP_LEVEL } from '../../render/thread/deflate-block.ts';
import type { RenderThread } from '../../render/thread/render-thread.ts';
import { release } from '../../system/memory-reclaimer.ts';

export type BodyCompression = 'gzip' | 'zstd';

const SMALL_GZIP = { level: GZIP_LEVEL, chunkSize: 64 * 1024 };
const SMALL_ZSTD = { params: { [zlib.ZSTD_c_compressionLevel]: 1 }, chunkSize: 64 * 1024 };
/** As fast a level as that of gzip. */
const LARGE_ZSTD = { params: { [zlib.ZSTD_c_compressionLevel]: 3 }, chunkSize: 256 * 1024 };

/** Number of blocks that are compressed at the same time. */
const BLOCKS_AHEAD = 4;
/** RFC 1952: deflate, no name, no time, the fastest level, an unknown system. */
const GZIP_HEADER = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255);

/** Compresses all bytes at once. */
export async function compressSmall(bytes: Buffer, compression: BodyCompression): Promise<Buffer> {
  return compression === 'gzip'
    ? await promisify(gzip)(bytes, SMALL_GZIP)
    : await promisify(zstdCompress)(bytes, SMALL_ZSTD);
}

export type BodyChunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/**
 * A chunk may be overwritten once the second chunk after it is requested. The same applies to
 * chunks of the source. `thread`: compresses the blocks of gzip.
 */
export function compress(
  plain: BodyChunks,
  compression: BodyCompression,
  thread: RenderThread,
): AsyncGenerator<Uint8Array, void> {
  return compression === 'gzip' ? compressGzip(plain, thread) : compressZstd(plain);
}

async function* compressGzip(plain: BodyChunks, thread: RenderThread): AsyncGenerator<Uint8Array, void> {
  yield GZIP_HEADER;
  let crc = 0;
  let plainBytes = 0;
  let before: Uint8Array | undefined;
  const see = (bytes: Uint8Array) => {
    crc = crc32(bytes, crc);
    plainBytes += bytes.length;
  };
  try {
    for await (const block of deflateAhead(plain, thread, see)) {
      yield block;
      // Otherwise tens of megabytes of blocks wait for the garbage collector.
      if (before !== undefined) release(before);
      before = block;
    }
  } finally {
    const blocks = Math.min(Math.ceil(plainBytes / BLOCK_BYTES), BLOCKS_AHEAD);
    thread.reclaimer.add(blocks * BLOCK_BYTES);
  }
  // A last, empty block of deflate, then the checksum and the length modulo 2^32.
  const end = Buffer.alloc(10);
  end[0] = 0x03;
  end.writeUInt32LE(crc, 2);
  end.writeUInt32LE(plainBytes % 2 ** 32, 6);
  yield end;
}

/** The compressed blocks of a source, in order. `see` receives each block before compression. */
async function* deflateAhead(
  plain: BodyChunks,
  thread: RenderThread,
  see: (bytes: Uint8Array) => void,
): AsyncGenerator<Uint8Array, void> {
  const ahead: Promise<Uint8Array>[] = [];
  for await (const block of blocksOf(plain)) {
    see(block);
    const deflated = thread.deflate(block);
    // Awaited later, or never if the reader leaves.
    deflated.catch(() => undefined);
    ahead.push(deflated);
    if (ahead.length === BLOCKS_AHEAD) yield await ahead.shift()!;
  }
  for (const deflated of ahead) yield await deflated;
}

/**
 * Divides the bytes into blocks of equal length. A block is valid until `BLOCKS_AHEAD` more are
 * requested.
 */
async function* blocksOf(chunks: BodyChunks): AsyncGenerator<Uint8Array, void> {
  const memory: Uint8Array[] = [];
  let turn = 0;
  let filled = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      memory[turn] ??= new Uint8Array(new SharedArrayBuffer(BLOCK_BYTES));
      const block = memory[turn]!;
      const part = chunk.subarray(at, at + BLOCK_BYTES - filled);
      block.set(part, filled);
      at += part.length;
      filled += part.length;
      if (filled < BLOCK_BYTES) continue;
      yield block;
      filled = 0;
      turn = (turn + 1) % BLOCKS_AHEAD;
    }
  }
  if (filled > 0) yield memory[turn]!.subarray(0, filled);
}

async function* compressZstd(plain: BodyChunks): AsyncGenerator<Uint8Array, void> {
  const compressor = createZstdCompress(LARGE_ZSTD);
  const feeding = feed(plain, compressor);
  try {
    yield* compressor;
  } finally {
    compressor.destroy();
    // The source must also have ended before the data that it reads is released.
    await feeding;
  }
}

/** Writes a source to a target. An error of the source destroys the target with that error. */
async function feed(source: BodyChunks, target: Writable): Promise<void> {
  try {
    for await (const chunk of source) await writeChunk(chunk, target);
    target.end();
  } catch (error) {
    target.destroy(error instanceof Error ? error : new Error('The source has failed.', { cause: error }));
  }
}

/**
 * Resolves when the target, a socket or a compressor, has taken the chunk and no longer needs its
 * memory. Rejects when the target fails or closes.
 */
export function writeChunk(chunk: Uint8Array, target: Writable): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = () => reject(new Error('The connection was closed.'));
    target.once('close', refuse);
    target.write(chunk, (error) => {
      target.off('close', refuse);
      if (error) reject(error);
      else resolve();
    });
  });
}
