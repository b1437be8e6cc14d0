/**
 * The manifest lists the chunks of a version. The file is cut after the header of DuckDB (12 KiB)
 * and then every 256 KiB, which is DuckDB's block size, so that a publication changes only the
 * chunks of the blocks that it writes.
 */
import { hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { AppError, ASK_CHECK } from '../../domain/app-error.ts';
import type { FilePart } from '../../system/file-part.ts';

const HEADER_BYTES = 12 * 1024;
export const CHUNK_BYTES = 256 * 1024;
const DIGEST_BYTES = 32;
const EPOCH_BYTES = 8;
const ENTRY_BYTES = EPOCH_BYTES + DIGEST_BYTES;
const SIZE_BYTES = 8;

export interface NamedChunk {
  /** SHA-256 of its bytes, in hexadecimal digits. */
  readonly digest: string;
  /**
   * Epoch of the lease under which it was stored. It is part of the name, so that a process that
   * has lost its lease cannot delete a chunk that was stored later.
   */
  readonly epoch: bigint;
}

export interface Manifest {
  /** Size of the file. */
  readonly bytes: number;
  /** In the order of the file. */
  readonly chunks: readonly NamedChunk[];
}

/** The name of a chunk at its place. `folder`: the folder of its organization. */
export function chunkName(folder: string, { epoch, digest }: NamedChunk): string {
  return `${folder}/${epoch}-${digest}`;
}

/** The digest in the name of a chunk. */
export function digestIn(name: string): string {
  return name.slice(name.lastIndexOf('-') + 1);
}

export function epochIn(name: string): bigint {
  return BigInt(name.slice(name.indexOf('/') + 1, name.lastIndexOf('-')));
}

/** The position of a chunk in its file, in bytes. */
export function chunkSpan(index: number, fileBytes: number): FilePart {
  const start = index === 0 ? 0 : HEADER_BYTES + (index - 1) * CHUNK_BYTES;
  const end = HEADER_BYTES + index * CHUNK_BYTES;
  return { start, length: Math.min(end, fileBytes) - start };
}

export function chunkCount(fileBytes: number): number {
  return 1 + Math.max(0, Math.ceil((fileBytes - HEADER_BYTES) / CHUNK_BYTES));
}

export function digestOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex');
}

/** The indices of the chunks in which a part of the file lies. */
export function chunksIn({ start, length }: FilePart): readonly number[] {
  const first = chunkCount(start + 1) - 1;
  return Array.from({ length: chunkCount(start + length) - first }, (_, at) => first + at);
}

/** Reads a chunk into the buffer. Throws when the file is shorter than expected. */
export async function readChunk(
  file: FileHandle,
  index: number,
  fileBytes: number,
  buffer: Buffer = Buffer.allocUnsafe(CHUNK_BYTES),
): Promise<Buffer> {
  const { start, length } = chunkSpan(index, fileBytes);
  const { bytesRead } = await file.read(buffer, 0, length, start);
  if (bytesRead !== length) throw new Error('a version file is shorter than it was when it was opened');
  return buffer.subarray(0, length);
}

/** Size of the file, then epoch and digest of each chunk; integers are big-endian. */
export function encodeManifest({ bytes, chunks }: Manifest): Buffer {
  const encoded = Buffer.alloc(SIZE_BYTES + chunks.length * ENTRY_BYTES);
  encoded.writeBigUInt64BE(BigInt(bytes));
  for (const [index, { epoch, digest }] of chunks.entries()) {
    const start = SIZE_BYTES + index * ENTRY_BYTES;
    encoded.writeBigUInt64BE(epoch, start);
    encoded.write(digest, start + EPOCH_BYTES, 'hex');
  }
  return encoded;
}

/** Throws `data-unreadable` when the manifest is incomplete. */
export function decodeManifest(encoded: Uint8Array): Manifest {
  const view = Buffer.from(encoded.buffer, encoded.byteOffset, encoded.byteLength);
  const bytes = view.length < SIZE_BYTES ? 0 : Number(view.readBigUInt64BE());
  if (view.length !== SIZE_BYTES + chunkCount(bytes) * ENTRY_BYTES) {
    throw new AppError('data-unreadable', `The list of the chunks of a version is damaged. ${ASK_CHECK}`);
  }
  const chunks = Array.from({ length: chunkCount(bytes) }, (_, index) => {
    const start = SIZE_BYTES + index * ENTRY_BYTES;
    return {
      epoch: view.readBigUInt64BE(start),
      digest: view.toString('hex', start + EPOCH_BYTES, start + ENTRY_BYTES),
    };
  });
  return { bytes, chunks };
}
