/**
 * The memory image of a version: its data in the form in which a server holds them, as named arrays
 * of numbers. Reading an image takes a fraction of the time of reading and indexing the version.
 */
import { TextColumn } from './text-column.ts';

export type ImageArray = Int32Array | Uint32Array | Float64Array | BigInt64Array | Uint8Array;

export type Image = ReadonlyMap<string, ImageArray>;

/**
 * An image to be written, in this order. An array can be in pieces of one type; there is at least
 * one piece.
 */
export type ImagePieces = ReadonlyMap<string, ImageArray | readonly ImageArray[]>;

export function piecesOf(array: ImageArray | readonly ImageArray[]): readonly ImageArray[] {
  return ArrayBuffer.isView(array) ? [array] : array;
}

/** The bytes of all arrays. */
export function imageBytes(image: ImagePieces): number {
  return Array.from(image.values())
    .flatMap(piecesOf)
    .reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/**
 * Memory into which an array of `bytes` bytes is read, at its start; undefined for memory of its
 * own.
 */
export type MemoryFor = (name: string, bytes: number) => SharedArrayBuffer | undefined;

/** Where the image of a version, or of its fragments, is kept. */
export interface ImagePlace {
  /** The size of the image in bytes, before it is verified; undefined if there is none. */
  size(): Promise<number | undefined>;
  /**
   * The arrays are in shared memory that can grow, for later versions, unless the image is small.
   * Undefined if there is no image of this version, or if it is damaged or has a different format.
   */
  read(memoryFor?: MemoryFor): Promise<Image | undefined>;
  /**
   * In time slices. Does nothing if there is one already, or no permission. Deletes the images of
   * earlier versions first; then writes nothing if there is no room.
   */
  write(image: ImagePieces): Promise<void>;
}

/** Reads the arrays of an image by name; throws if one is missing or has a different type. */
export class ImageReader {
  readonly #image: Image;

  constructor(image: Image) {
    this.#image = image;
  }

  integers(name: string): Int32Array {
    return this.#take(name, Int32Array);
  }

  positions(name: string): Uint32Array {
    return this.#take(name, Uint32Array);
  }

  doubles(name: string): Float64Array {
    return this.#take(name, Float64Array);
  }

  bigints(name: string): BigInt64Array {
    return this.#take(name, BigInt64Array);
  }

  flags(name: string): Uint8Array {
    return this.#take(name, Uint8Array);
  }

  texts(name: string, isJson: boolean): TextColumn {
    const offsets = this.#image.get(`${name} offsets`);
    if (!(offsets instanceof Uint32Array || offsets instanceof Float64Array)) throw lacking(name);
    return new TextColumn({ bytes: this.flags(`${name} bytes`), offsets, isJson });
  }

  #take<A extends ImageArray>(name: string, type: abstract new (...args: never) => A): A {
    const array = this.#image.get(name);
    if (!(array instanceof type)) throw lacking(name);
    return array;
  }
}

/** The arrays of a text column, for `ImageReader.texts`. */
export function textArrays(name: string, { parts }: TextColumn): readonly (readonly [string, ImageArray])[] {
  return [
    [`${name} bytes`, parts.bytes],
    [`${name} offsets`, parts.offsets],
  ];
}

function lacking(name: string): Error {
  return new Error(`a memory image has no "${name}" of the expected type`);
}
