/** Transfers chunks between a file and their place, in parallel, and verifies their digests. */
import type { FileHandle } from 'node:fs/promises';
import { AppError, ASK_CHECK } from '../../domain/app-error.ts';
import { inParallel } from '../../system/in-parallel.ts';
import { writeWhole } from '../../system/write-whole.ts';
import type { KnownDigests } from './chunk-digests.ts';
import type { ChunkPlace } from './chunk-place.ts';
import {
  CHUNK_BYTES,
  chunkCount,
  chunkName,
  chunkSpan,
  digestIn,
  digestOf,
  type NamedChunk,
  readChunk,
} from './manifest.ts';

/** A damaged response may succeed on a retry; a damaged chunk does not. */
const ATTEMPTS = 3;

export interface Transfer {
  readonly place: ChunkPlace;
  /** Of the organization. */
  readonly folder: string;
  readonly file: FileHandle;
  readonly fileBytes: number;
  /** Called after each chunk. */
  readonly onChunk?: ((bytes: number) => void) | undefined;
}

/** A chunk and its index in the file. */
export interface PlacedChunk extends NamedChunk {
  readonly index: number;
}

export interface Uploaded {
  /** All chunks of the file, in order. */
  readonly chunks: readonly NamedChunk[];
  /** Size of the chunks that were stored now. */
  readonly bytes: number;
}

/** What need not be stored again, and what need not be read. */
export interface Held {
  /** The epochs of the chunks at the place, by their digests. */
  readonly stored: ReadonlyMap<string, bigint>;
  readonly known?: KnownDigests | undefined;
}

/**
 * Stores the chunks of the file that the place lacks. Reads those whose digests are not known, or
 * that the place lacks, once.
 */
export async function upload(
  { place, folder, file, fileBytes, onChunk }: Transfer,
  { stored, known }: Held,
  epoch: bigint,
): Promise<Uploaded> {
  const epochs = new Map(stored);
  const chunks: NamedChunk[] = [];
  let uploaded = 0;
  const uploadWith = (buffer: Buffer) => async (index: number) => {
    const { length } = chunkSpan(index, fileBytes);
    const digest = length === CHUNK_BYTES ? known?.get(index) : undefined;
    const heldEpoch = digest === undefined ? undefined : epochs.get(digest);
    chunks[index] =
      digest === undefined || heldEpoch === undefined
        ? await uploadOne(await readChunk(file, index, fileBytes, buffer))
        : { digest, epoch: heldEpoch };
    onChunk?.(length);
  };
  const uploadOne = async (bytes: Buffer): Promise<NamedChunk> => {
    const digest = digestOf(bytes);
    const isNew = !epochs.has(digest);
    const chunk = { digest, epoch: epochs.get(digest) ?? epoch };
    epochs.set(digest, chunk.epoch);
    if (isNew) {
      await place.put(chunkName(folder, chunk), bytes);
      uploaded += bytes.length;
    }
    return chunk;
  };
  // One more worker than useful transfers: it computes digests while the others wait.
  await inParallel(Array(chunkCount(fileBytes)).keys(), place.parallel + 1, () =>
    uploadWith(Buffer.allocUnsafe(CHUNK_BYTES)),
  );
  return { chunks, bytes: uploaded };
}

/** Writes chunks into the file. Throws `data-unreadable` when one is missing or damaged. */
export async function download(chunks: readonly PlacedChunk[], transfer: Transfer): Promise<void> {
  const { place, folder, file, fileBytes, onChunk } = transfer;
  await inParallel(chunks, place.parallel, () => async (chunk) => {
    const { start, length } = chunkSpan(chunk.index, fileBytes);
    const bytes = await fetchVerified(place, chunkName(folder, chunk), chunk.digest);
    await writeWhole(file, bytes, start);
    onChunk?.(length);
  });
}

export interface Move {
  readonly source: ChunkPlace;
  readonly target: ChunkPlace;
  /** Called with the number of chunks that are stored so far. */
  readonly onChunk: (done: number) => void;
}

/** Copies chunks by their names to a different place. Throws the errors of `download`. */
export async function moveChunks(names: readonly string[], { source, target, onChunk }: Move): Promise<void> {
  let done = 0;
  await inParallel(names, Math.min(source.parallel, target.parallel), () => async (name) => {
    await target.put(name, await fetchVerified(source, name, digestIn(name)));
    done += 1;
    onChunk(done);
  });
}

async function fetchVerified(place: ChunkPlace, name: string, digest: string): Promise<Uint8Array> {
  let bytes: Uint8Array | undefined;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    bytes = await place.get(name);
    if (bytes !== undefined && digestOf(bytes) === digest) return bytes;
  }
  throw new AppError(
    'data-unreadable',
    `A stored chunk of the version is ${bytes === undefined ? 'missing' : 'damaged'} (${name}). ${ASK_CHECK}`,
  );
}
