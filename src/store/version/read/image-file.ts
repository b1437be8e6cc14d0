/**
 * The memory image of a version, or of its fragments, as a file beside it: a line with the names,
 * types and lengths of the arrays as JSON, then the arrays, each at a multiple of eight bytes, then
 * the SHA-256 of all that. It can be deleted at any time.
 */
import { createHash, type Hash, randomUUID } from 'node:crypto';
import { access, type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { endianness } from 'node:os';
import { basename, dirname, join } from 'node:path';
import {
  type Image,
  type ImageArray,
  type ImagePieces,
  type ImagePlace,
  imageBytes,
  type MemoryFor,
  piecesOf,
} from '../../../dataset/image.ts';
import { growableMemory } from '../../../dataset/shared-arrays.ts';
import { freeDiskBytes } from '../../../system/free-disk.ts';
import { slice } from '../../../system/time-slice.ts';
import { writeWhole } from '../../../system/write-whole.ts';

/** Increment when the arrays, the head, or their meaning change: servers then write new images. */
const FORMAT = 4;

interface ArrayType {
  readonly BYTES_PER_ELEMENT: number;
  new (memory: SharedArrayBuffer, at: number, length: number): ImageArray;
}

const TYPES: Readonly<Record<string, ArrayType>> = {
  Int32Array,
  Uint32Array,
  Float64Array,
  BigInt64Array,
  Uint8Array,
};

const ALIGNED = 8;
const DIGEST_BYTES = 32;
/** Free disk that an image leaves to imports and keys: once more its own size. */
const ROOM = 2;
/** Hashing this much takes a millisecond or two. */
const PIECE_BYTES = 2 * 1024 * 1024;
const MOST_HEADER_BYTES = 64 * 1024;
/** A longer head of a version is left out. */
const MOST_HEAD_LENGTH = 16 * 1024;
/** The arrays of an image of at most this size share their memory. */
const SMALL_BYTES = 32 * 1024 * 1024;

/** The image of a version or of its fragments, or one that is being written. */
const IMAGE = /^(\d+)\.image(?:\.|$)/;

interface Header {
  readonly format: number;
  readonly endianness: string;
  /** The version that it is the image of, and for fragments what rendered them. */
  readonly version: string;
  readonly arrays: readonly { readonly name: string; readonly type: string; readonly length: number }[];
  /** The head of the version, and the SHA-256 of that. */
  readonly head?: { readonly text: string; readonly digest: string };
}

/** The number of a version whose image, or part of it, has this name; undefined for other files. */
export function versionOfImage(name: string): number | undefined {
  const version = IMAGE.exec(name)?.[1];
  return version === undefined ? undefined : Number(version);
}

/** The image of fragments, beside that of the version. */
export function fragmentsPath(imagePath: string): string {
  return `${imagePath}.fragments`;
}

export class ImageFile implements ImagePlace {
  readonly #path: string;
  readonly #version: string;
  readonly #versionPath: string;
  readonly #head: string;

  /**
   * `versionPath` is the file of the version; an image of a different `version` is not read.
   * `head`: what `readImageHead` returns; empty for none.
   */
  constructor(path: string, version: string, versionPath: string, head = '') {
    this.#path = path;
    this.#version = version;
    this.#versionPath = versionPath;
    this.#head = head;
  }

  async size(): Promise<number | undefined> {
    return (await stat(this.#path).catch(() => undefined))?.size;
  }

  async read(memoryFor?: MemoryFor): Promise<Image | undefined> {
    try {
      await using file = await open(this.#path, 'r');
      const image = await readImage(file, this.#version, memoryFor);
      if (image !== undefined) return image;
    } catch {
      // Whatever is wrong with it, the version itself can be read instead.
    }
    await rm(this.#path, { force: true }).catch(() => undefined);
    return undefined;
  }

  async write(image: ImagePieces): Promise<void> {
    const partial = `${this.#path}.${randomUUID()}.tmp`;
    try {
      if (await exists(this.#path)) return;
      await this.#removeOthers();
      if (freeDiskBytes(dirname(this.#path)) < ROOM * imageBytes(image)) return;
      await using file = await open(partial, 'wx', 0o600);
      await writeImage(file, this.#version, image, this.#head);
      await file.sync();
      await rename(partial, this.#path);
    } catch {
      // A full disk, or a folder that cannot be written: the next start takes longer.
      await rm(partial, { force: true }).catch(() => undefined);
    }
    // If the version has been deleted meanwhile, with all of its data, its image must not stay.
    if (!(await exists(this.#versionPath))) await rm(this.#path, { force: true }).catch(() => undefined);
  }

  /**
   * Removes the images of earlier versions, and what killed servers have left of this one. If a
   * different worker is still writing it, its image is lost, and this one takes its place.
   */
  async #removeOthers(): Promise<void> {
    const folder = dirname(this.#path);
    const own = basename(this.#path);
    const version = versionOfImage(own) ?? 0;
    for (const name of await readdir(folder)) {
      const isPartial = name.startsWith(`${own}.`) && name.endsWith('.tmp');
      const isOlder = (versionOfImage(name) ?? version) < version;
      if (isOlder || (isPartial && !name.startsWith(fragmentsPath(own)))) {
        await rm(join(folder, name), { force: true });
      }
    }
  }
}

/** Whether there is an image of at most `SMALL_BYTES`. */
export async function hasSmallImage(path: string): Promise<boolean> {
  const { size = Number.POSITIVE_INFINITY } = (await stat(path).catch(() => undefined)) ?? {};
  return size <= SMALL_BYTES;
}

/** The head in an image of the version; undefined if it has none, or is damaged. */
export async function readImageHead(path: string, version: string): Promise<string | undefined> {
  try {
    await using file = await open(path, 'r');
    const head = (await readHeader(file, version))?.value.head;
    return head !== undefined && head.digest === digestOf(head.text) ? head.text : undefined;
  } catch {
    return undefined;
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

async function writeImage(
  file: FileHandle,
  version: string,
  image: ImagePieces,
  head: string,
): Promise<void> {
  const arrays = Array.from(image, ([name, array]) => {
    const pieces = piecesOf(array);
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    return { name, type: pieces[0]![Symbol.toStringTag], length };
  });
  const hasHead = head.length > 0 && head.length <= MOST_HEAD_LENGTH;
  const header: Header = {
    ...{ format: FORMAT, endianness: endianness(), version, arrays },
    ...(hasHead && { head: { text: head, digest: digestOf(head) } }),
  };
  const hash = createHash('sha256');
  await writePart(file, hash, padded(`${JSON.stringify(header)}\n`));
  for (const [place, array] of [...image.values()].entries()) {
    for (const { buffer, byteOffset, byteLength } of piecesOf(array))
      await writePart(file, hash, new Uint8Array(buffer, byteOffset, byteLength));
    await writePart(file, hash, new Uint8Array(paddingOf(byteLengthOf(arrays[place]!))));
  }
  await writeWhole(file, hash.digest());
}

async function writePart(file: FileHandle, hash: Hash, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    const piece = bytes.subarray(at, at + PIECE_BYTES);
    hash.update(piece);
    await writeWhole(file, piece);
    if (slice.isOver()) await slice.pass();
  }
}

/** Undefined if it is not a whole image of the version. */
async function readImage(
  file: FileHandle,
  version: string,
  memoryFor: MemoryFor | undefined,
): Promise<Image | undefined> {
  const header = await readHeader(file, version);
  if (header === undefined) return undefined;
  // Before any memory is taken, because a damaged header can name any length.
  const lengths = header.value.arrays.map(byteLengthOf);
  const expected = lengths.reduce(
    (sum, bytes) => sum + bytes + paddingOf(bytes),
    header.bytes.length + DIGEST_BYTES,
  );
  if ((await file.stat()).size !== expected) return undefined;
  const hash = createHash('sha256').update(header.bytes);
  const source = { file, hash, arrays: header.value.arrays, at: header.bytes.length };
  const image =
    memoryFor === undefined && expected <= SMALL_BYTES
      ? await readTogether(source, expected - DIGEST_BYTES)
      : await readApart(source, memoryFor);
  return image !== undefined && (await isWhole(file, hash, expected)) ? image : undefined;
}

interface ArraysInFile {
  readonly file: FileHandle;
  readonly hash: Hash;
  readonly arrays: Header['arrays'];
  /** The position of the first one. */
  readonly at: number;
}

/** All arrays in one memory; they end at `end`. Undefined if the file ends before. */
async function readTogether(
  { file, hash, arrays, at }: ArraysInFile,
  end: number,
): Promise<Image | undefined> {
  const memory = new SharedArrayBuffer(end - at);
  if (!(await readPart(file, hash, new Uint8Array(memory), at))) return undefined;
  const image = new Map<string, ImageArray>();
  let from = 0;
  for (const array of arrays) {
    image.set(array.name, new TYPES[array.type]!(memory, from, array.length));
    const bytes = byteLengthOf(array);
    from += bytes + paddingOf(bytes);
  }
  return image;
}

/** Each array in a memory of its own. Undefined if the file ends before. */
async function readApart(
  { file, hash, arrays, at: first }: ArraysInFile,
  memoryFor: MemoryFor | undefined,
): Promise<Image | undefined> {
  const image = new Map<string, ImageArray>();
  let at = first;
  for (const array of arrays) {
    const bytes = byteLengthOf(array);
    const memory = memoryFor?.(array.name, bytes) ?? growableMemory(bytes);
    const padding = new Uint8Array(paddingOf(bytes));
    if (!(await readPart(file, hash, new Uint8Array(memory, 0, bytes), at))) return undefined;
    if (!(await readPart(file, hash, padding, at + bytes))) return undefined;
    image.set(array.name, new TYPES[array.type]!(memory, 0, array.length));
    at += bytes + padding.length;
  }
  return image;
}

/** Whether the file of `size` bytes ends with the digest of what was read. */
async function isWhole(file: FileHandle, hash: Hash, size: number): Promise<boolean> {
  const digest = Buffer.alloc(DIGEST_BYTES);
  const { bytesRead } = await file.read(digest, 0, DIGEST_BYTES, size - DIGEST_BYTES);
  return bytesRead === DIGEST_BYTES && digest.equals(hash.digest());
}

/** Without the padding. Throws for an unknown type. */
function byteLengthOf({ type, length }: Header['arrays'][number]): number {
  return length * TYPES[type]!.BYTES_PER_ELEMENT;
}

/** Reads the next piece while the last one is hashed. Returns false if the file ends before. */
async function readPart(file: FileHandle, hash: Hash, bytes: Uint8Array, position: number): Promise<boolean> {
  const pieceAt = (at: number) => {
    const piece = bytes.subarray(at, at + PIECE_BYTES);
    return { piece, reading: file.read(piece, 0, piece.length, position + at) };
  };
  let next = bytes.length > 0 ? pieceAt(0) : undefined;
  for (let at = PIECE_BYTES; next !== undefined; at += PIECE_BYTES) {
    const { piece, reading } = next;
    if ((await reading).bytesRead !== piece.length) return false;
    next = at < bytes.length ? pieceAt(at) : undefined;
    hash.update(piece);
    if (slice.isOver()) await slice.pass();
  }
  return true;
}

async function readHeader(
  file: FileHandle,
  version: string,
): Promise<{ value: Header; bytes: Buffer } | undefined> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(MOST_HEADER_BYTES), 0, MOST_HEADER_BYTES, 0);
  const end = buffer.subarray(0, bytesRead).indexOf('\n') + 1;
  if (end === 0) return undefined;
  const value: Header = JSON.parse(buffer.toString('utf8', 0, end));
  if (value.format !== FORMAT || value.endianness !== endianness()) return undefined;
  if (value.version !== version) return undefined;
  return { value, bytes: buffer.subarray(0, end + paddingOf(end)) };
}

function padded(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  return Buffer.concat([bytes, Buffer.alloc(paddingOf(bytes.length))]);
}

function paddingOf(bytes: number): number {
  return (ALIGNED - (bytes % ALIGNED)) % ALIGNED;
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
