/** The digests of all chunks of a file. */
import { open } from 'node:fs/promises';
import type { FilePart } from '../../system/file-part.ts';
import { inParallel } from '../../system/in-parallel.ts';
import { slice } from '../../system/time-slice.ts';
import {
  CHUNK_BYTES,
  chunkCount,
  chunkSpan,
  chunksIn,
  digestOf,
  type Manifest,
  readChunk,
} from './manifest.ts';

/** Reading ahead while the digest of a chunk is computed. */
const PARALLEL = 4;

export interface ChunkDigests {
  /** Size of the file. */
  readonly bytes: number;
  /** In the order of the file. */
  readonly digests: readonly string[];
}

/** The digests of chunks that have not changed since a file was copied, by index. */
export type KnownDigests = ReadonlyMap<number, string>;

interface DigestOptions {
  readonly known?: KnownDigests | undefined;
  /** Called with the number of bytes read since its last call. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

/** The digests of all chunks. Reads only the chunks whose digests are not known. */
export async function digestsOf(path: string, options: DigestOptions = {}): Promise<ChunkDigests> {
  const { known = new Map<number, string>(), onBytes } = options;
  await using file = await open(path, 'r');
  const { size } = await file.stat();
  const digests = Array.from({ length: chunkCount(size) }, (_, index) => known.get(index) ?? '');
  const unknown = [...digests.keys()].filter((index) => !known.has(index) || !isWhole(index, size));
  await inParallel(unknown, PARALLEL, () => {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    return async (index) => {
      const chunk = await readChunk(file, index, size, buffer);
      digests[index] = digestOf(chunk);
      onBytes?.(chunk.length);
      if (slice.isOver()) await slice.pass();
    };
  });
  return { bytes: size, digests };
}

/**
 * The digests of the chunks of a copy to which nothing was written. None if the writes are not
 * known for certain (decision 106).
 */
export function digestsWithout(
  { bytes, digests }: ChunkDigests,
  written: readonly FilePart[] | undefined,
): KnownDigests {
  const changed = written?.flatMap(chunksIn) ?? [];
  // A checkpoint of DuckDB writes one header at last, and may cut the file then. If there were
  // several, a later one may not have written all that an earlier one has cut off.
  if (changed.filter((index) => index === 0).length !== 1) return new Map();
  const whole = [...digests.entries()].filter(([index]) => isWhole(index, bytes));
  const known = new Map(whole);
  for (const index of changed) known.delete(index);
  return known;
}

function isWhole(index: number, fileBytes: number): boolean {
  return chunkSpan(index, fileBytes).length === CHUNK_BYTES;
}

export function digestsIn({ bytes, chunks }: Manifest): ChunkDigests {
  return { bytes, digests: chunks.map(({ digest }) => digest) };
}

/** Indices of the chunks of `wanted` that `held` lacks. */
export function differingChunks(wanted: readonly string[], held: readonly string[]): readonly number[] {
  return [...wanted.keys()].filter((index) => wanted[index] !== held[index]);
}
