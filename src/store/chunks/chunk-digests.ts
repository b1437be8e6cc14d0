/** The digests of all chunks of a file. */
import { open } from 'node:fs/promises';
import { inParallel } from '../../system/in-parallel.ts';
import { slice } from '../../system/time-slice.ts';
import { CHUNK_BYTES, type ChunkRange, chunkCount, digestOf, readChunks } from './manifest.ts';

/** Reading ahead while the digest of a chunk is computed. */
const PARALLEL = 4;
/** Chunks that are read at once: the call takes as long as copying two or three of them. */
const CHUNKS_PER_READ = 8;

export interface ChunkDigests {
  /** Size of the file. */
  readonly bytes: number;
  /** In the order of the file. */
  readonly digests: readonly string[];
}

/** A file with its digests. */
export interface DigestedFile extends ChunkDigests {
  readonly path: string;
}

interface DigestOptions {
  /**
   * A file with mostly the same chunks. Comparing a chunk is faster than computing its digest.
   */
  readonly similar?: DigestedFile | undefined;
  /** Called with the number of bytes read since its last call. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

/** Reads the whole file, and as much of the similar one. */
export async function digestsOf(
  path: string,
  { similar, onBytes }: DigestOptions = {},
): Promise<ChunkDigests> {
  const file = await open(path, 'r');
  const other = similar && (await open(similar.path, 'r').catch(() => undefined));
  try {
    const { size } = await file.stat();
    const digests: string[] = [];
    // Chunks of the similar file that cannot be read are different.
    const readOther = async (range: ChunkRange, buffer: Buffer | undefined) =>
      other && (await readChunks(other, range, similar!.bytes, buffer).catch(() => undefined));
    const digestWith = (buffer: Buffer, otherBuffer: Buffer | undefined) => async (first: number) => {
      const range = { first, count: CHUNKS_PER_READ };
      const chunks = await readChunks(file, range, size, buffer);
      const held = await readOther(range, otherBuffer);
      for (const [at, chunk] of chunks.entries()) {
        const isKnown = held?.[at]?.equals(chunk) === true;
        digests[first + at] = isKnown ? similar!.digests[first + at]! : digestOf(chunk);
        onBytes?.(chunk.length);
        if (slice.isOver()) await slice.pass();
      }
    };
    const ranges = Math.ceil(chunkCount(size) / CHUNKS_PER_READ);
    const newBuffer = () => Buffer.allocUnsafe(Math.min(CHUNKS_PER_READ, chunkCount(size)) * CHUNK_BYTES);
    await inParallel(
      Array.from({ length: ranges }, (_, range) => range * CHUNKS_PER_READ),
      PARALLEL,
      () => digestWith(newBuffer(), other && newBuffer()),
    );
    return { bytes: size, digests };
  } finally {
    await file.close();
    await other?.close();
  }
}

/** Indices of the chunks of `wanted` that `held` lacks. */
export function differingChunks(wanted: readonly string[], held: readonly string[]): readonly number[] {
  return [...wanted.keys()].filter((index) => wanted[index] !== held[index]);
}
