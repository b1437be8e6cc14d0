/** The digests of all chunks of a file. */
import { open } from 'node:fs/promises';
import { inParallel } from '../../system/in-parallel.ts';
import { CHUNK_BYTES, chunkCount, digestOf, readChunk } from './manifest.ts';

/** Reading ahead while the digest of a chunk is computed. */
const PARALLEL = 4;

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
    // A chunk of the similar file that cannot be read is different.
    const readOther = async (index: number, buffer: Buffer) =>
      other && (await readChunk(other, index, similar!.bytes, buffer).catch(() => undefined));
    const digestWith = (buffer: Buffer, otherBuffer: Buffer) => async (index: number) => {
      const chunk = await readChunk(file, index, size, buffer);
      const known = similar?.digests[index];
      const held = known === undefined ? undefined : await readOther(index, otherBuffer);
      digests[index] = held?.equals(chunk) === true ? known! : digestOf(chunk);
      onBytes?.(chunk.length);
    };
    await inParallel(Array(chunkCount(size)).keys(), PARALLEL, () =>
      digestWith(Buffer.allocUnsafe(CHUNK_BYTES), Buffer.allocUnsafe(CHUNK_BYTES)),
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
