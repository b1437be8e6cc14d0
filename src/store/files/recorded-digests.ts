/**
 * The digests of a version, recorded beside its file: one for each chunk, so that a publication
 * computes those of the chunks that it has changed. Earlier releases recorded one digest of the
 * whole file, in the form of `sha256sum`.
 *
 *     <publication>.manifest    the list of chunks, and the SHA-256 of that list
 *     <publication>.sha256      of earlier releases
 */
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { AppError } from '../../domain/app-error.ts';
import { digestFile, readDigests } from '../../system/file-digest.ts';
import { readIfExists } from '../../system/if-exists.ts';
import { type ChunkDigests, digestsIn, digestsOf } from '../chunks/chunk-digests.ts';
import { decodeManifest, encodeManifest } from '../chunks/manifest.ts';

const SEAL_BYTES = 32;
/** No lease is needed to store chunks in a data folder. */
const NO_EPOCH = 0n;

export function manifestName(publication: number): string {
  return `${publication}.manifest`;
}

export function encodeDigests({ bytes, digests }: ChunkDigests): Buffer {
  const list = encodeManifest({ bytes, chunks: digests.map((digest) => ({ digest, epoch: NO_EPOCH })) });
  return Buffer.concat([list, hash('sha256', list, 'buffer')]);
}

/**
 * Absent if they were not recorded chunk by chunk. Throws `data-unreadable` when they are damaged.
 */
export async function readChunkDigests(
  folder: string,
  publication: number,
): Promise<ChunkDigests | undefined> {
  const path = join(folder, manifestName(publication));
  const encoded = await readIfExists(path);
  if (encoded === undefined) return undefined;
  const list = encoded.subarray(0, -SEAL_BYTES);
  if (!hash('sha256', list, 'buffer').equals(encoded.subarray(-SEAL_BYTES))) throw isDamaged(path);
  return digestsIn(decodeManifest(list));
}

/**
 * Whether the file of a version is what was published; absent if nothing was recorded. Throws
 * `data-unreadable` when the record is damaged.
 */
export async function isAsRecorded(
  folder: string,
  publication: number,
  onBytes?: (bytes: number) => void,
): Promise<boolean | undefined> {
  const file = join(folder, `${publication}.duckdb`);
  const recorded = await readChunkDigests(folder, publication);
  if (recorded !== undefined) {
    const { bytes, digests } = await digestsOf(file, { onBytes });
    return bytes === recorded.bytes && digests.every((digest, index) => digest === recorded.digests[index]);
  }
  const digest = await readFileDigest(folder, publication);
  return digest === undefined ? undefined : (await digestFile(file, onBytes)).sha256 === digest;
}

/** The digest of the whole file that an earlier release has recorded. */
async function readFileDigest(folder: string, publication: number): Promise<string | undefined> {
  const path = join(folder, `${publication}.sha256`);
  const text = await readIfExists(path);
  if (text === undefined) return undefined;
  const digest = readDigests(text.toString())?.get(`${publication}.duckdb`);
  if (digest === undefined) throw isDamaged(path);
  return digest;
}

export function isDamaged(path: string): AppError {
  return new AppError(
    'data-unreadable',
    `The file ${path} is damaged. Restore it from a backup, or restore the organization with "corkboard restore --replace".`,
  );
}
