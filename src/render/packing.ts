/**
 * Compressed pieces that can be joined: an answer of any length is a run of them, and whoever has a piece can put it
 * into every answer that holds the same bytes. With gzip these are blocks of deflate that end on a whole byte, inside
 * one member whose checksum is combined from those of the pieces; with Zstandard they are the blocks of one frame.
 */
import { promisify } from 'node:util';
import { crc32, deflateRaw, constants as zlib } from 'node:zlib';
import { combineCrc32 } from './crc32.ts';
import type { Packed, Packing } from './render-job.ts';
import { compressToBlocks, FRAME_END, FRAME_HEADER, rawBlocks } from './zstd-frame.ts';

/** The fastest level, as for Zstandard. */
const GZIP_LEVEL = 1;
/** What deflate may take beside the text itself. */
const DEFLATE_BYTES = 4096;

interface Format {
  readonly begin: Uint8Array;
  compress(plain: Uint8Array): Promise<Uint8Array>;
  /** A few bytes as they are. */
  store(plain: Buffer): Uint8Array;
  end(crc: number, plainBytes: number): Uint8Array;
}

const FORMATS: Readonly<Record<Packing, Format>> = {
  identity: {
    begin: new Uint8Array(),
    compress: async (plain) => plain,
    store: (plain) => plain,
    end: () => new Uint8Array(),
  },
  gzip: {
    // RFC 1952: deflate, no name, no time, the fastest level, an unknown system.
    begin: Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255),
    compress: async (plain) =>
      await promisify(deflateRaw)(plain, {
        level: GZIP_LEVEL,
        // All in one piece of memory; the system gives none for what stays empty.
        chunkSize: DEFLATE_BYTES + plain.length + (plain.length >> 7),
        finishFlush: zlib.Z_SYNC_FLUSH,
      }),
    store: storedBlock,
    end: endOfMember,
  },
  zstd: {
    begin: FRAME_HEADER,
    compress: async (plain) => await compressToBlocks(plain),
    store: rawBlocks,
    end: () => FRAME_END,
  },
};

/** Compresses a piece by itself; `plain` must stay as it is until then. An empty one takes no bytes. */
export async function pack(plain: Uint8Array, packing: Packing): Promise<Packed> {
  const bytes = plain.length === 0 ? plain : await FORMATS[packing].compress(plain);
  return { bytes, plainBytes: plain.length, crc: checksum(plain, packing) };
}

/** A few bytes of text as a piece, at once. */
export function packText(text: string, packing: Packing): Packed {
  const plain = Buffer.from(text);
  const bytes = plain.length === 0 ? plain : FORMATS[packing].store(plain);
  return { bytes, plainBytes: plain.length, crc: checksum(plain, packing) };
}

/** Only gzip says at its end what it held. */
function checksum(plain: Uint8Array, packing: Packing): number {
  return packing === 'gzip' ? crc32(plain) : 0;
}

/** A block of deflate that holds at most 65,535 bytes as they are (RFC 1951, 3.2.4). */
function storedBlock(plain: Buffer): Uint8Array {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(plain.length, 1);
  head.writeUInt16LE(~plain.length & 0xffff, 3);
  return Buffer.concat([head, plain]);
}

/** A last, empty block of deflate, then the checksum and the length modulo 2^32 (RFC 1952). */
function endOfMember(crc: number, plainBytes: number): Uint8Array {
  const end = Buffer.alloc(10);
  end[0] = 0x03;
  end.writeUInt32LE(crc, 2);
  end.writeUInt32LE(plainBytes % 2 ** 32, 6);
  return end;
}

/** Joins pieces, in order, to one whole answer. */
export class Joiner {
  readonly #packing: Packing;
  #plainBytes = 0;
  #crc = 0;

  constructor(packing: Packing) {
    this.#packing = packing;
  }

  /** What stands before the first piece. */
  begin(): Uint8Array {
    return FORMATS[this.#packing].begin;
  }

  /** To be called for every piece in order; answers its bytes. */
  add(piece: Packed): Uint8Array {
    this.count(piece);
    return piece.bytes;
  }

  /** The same for a piece whose bytes are elsewhere. */
  count({ plainBytes, crc }: Omit<Packed, 'bytes'>): void {
    if (this.#packing === 'gzip') this.#crc = combineCrc32(this.#crc, crc, plainBytes);
    this.#plainBytes += plainBytes;
  }

  get plainBytes(): number {
    return this.#plainBytes;
  }

  /** Checksum of what was added. */
  get crc(): number {
    return this.#crc;
  }

  /** What stands after the last piece. */
  end(): Uint8Array {
    return FORMATS[this.#packing].end(this.#crc, this.#plainBytes);
  }
}
