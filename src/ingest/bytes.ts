/**
 * The plain bytes of an input: from a file or standard input, uncompressed on the way, and what their first ones
 * tell about the form of the rest.
 */
import { createReadStream } from 'node:fs';
import type { Readable, Transform } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import type { Compression, Form } from './bundle.ts';
import { type FileIdentity, openFound } from './found-file.ts';
import { Damage } from './refusal.ts';
import { refuseFile } from './refuse-file.ts';

/** Bytes that can be read from their start more than once. */
export interface Source {
  /** `last` says that nothing will be read again, so that nothing need be kept. */
  read(last: boolean): AsyncIterable<Buffer>;
}

/** More at a time would make texts that are too large for the young part of the heap, which takes longer. */
const CHUNK_BYTES = 65_536;

/** With an `identity` only this very file is read. */
export function fileSource(path: string, name: string, identity?: FileIdentity): Source {
  return {
    async *read() {
      try {
        const options = { highWaterMark: CHUNK_BYTES };
        const file = identity && (await openFound(path, identity));
        yield* file?.createReadStream(options) ?? createReadStream(path, options);
      } catch (error) {
        refuseFile(name, error);
      }
    },
  };
}

/** A stream that can be read once, made a source by keeping what has been read until the last reading began. */
export function streamSource(stream: Readable, name: string): Source {
  const rest: AsyncIterator<Buffer> = stream[Symbol.asyncIterator]();
  const kept: Buffer[] = [];
  return {
    async *read(last) {
      for (let at = 0; ; at += 1) {
        const known = last ? kept.shift() : kept[at];
        if (known !== undefined) {
          yield known;
          continue;
        }
        const next = await rest.next().catch((error: unknown) => refuseFile(name, error));
        if (next.done === true) return;
        if (!last) kept.push(next.value);
        yield next.value;
      }
    },
  };
}

/** The plain bytes. Throws `Damage` after the last of them when the compressed ones are cut short or broken. */
export async function* unpack(
  packed: AsyncIterable<Buffer>,
  compression: Compression,
): AsyncGenerator<Buffer> {
  if (compression === 'none') yield* packed;
  else if (compression === 'gzip') {
    yield* decompress(packed, createGunzip({ chunkSize: CHUNK_BYTES }), compression);
  } else {
    yield* decompress(packed, createZstdDecompress({ chunkSize: CHUNK_BYTES }), compression);
  }
}

/**
 * Pushes piece by piece and takes what came out, because a stream that fails throws away what it has ready, and the
 * records before the damage are wanted.
 */
async function* decompress(
  packed: AsyncIterable<Buffer>,
  transform: Transform,
  compression: Compression,
): AsyncGenerator<Buffer> {
  const ready: Buffer[] = [];
  let failure: Error | undefined;
  const ended = new Promise<void>((resolve) => {
    transform.on('data', (piece: Buffer) => ready.push(piece));
    transform.on('error', (error) => {
      failure = error;
    });
    transform.on('close', resolve);
  });
  try {
    let isEmpty = true;
    for await (const piece of packed) {
      isEmpty = false;
      await Promise.race([new Promise((resolve) => transform.write(piece, resolve)), ended]);
      yield* ready.splice(0);
      if (failure !== undefined) break;
    }
    if (isEmpty) return;
    transform.end();
    await ended;
    yield* ready.splice(0);
    if (failure !== undefined)
      throw new Damage(`the ${compression} data is broken or cut short: ${failure.message}`);
  } finally {
    transform.destroy();
  }
}

/** What the first bytes tell; when they tell nothing else, `otherwise`. */
export async function sniff(source: Source, otherwise: 'csv' | 'ndjson' | 'xml'): Promise<Form> {
  const start = await readStart(source.read(false));
  const compression: Compression =
    start.readUInt16BE(0) === 0x1f8b ? 'gzip' : start.readUInt32LE(0) === 0xfd2fb528 ? 'zstd' : 'none';
  const plain = compression === 'none' ? start : await readStart(unpack(source.read(false), compression));
  if (plain.toString('latin1', 0, 4) === 'PAR1') return { format: 'parquet', compression };
  const first = plain
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimStart()[0];
  return { format: first === '{' ? 'ndjson' : first === '[' ? 'json' : otherwise, compression };
}

const START_BYTES = 64;

/** The first bytes, filled up with zeros. */
async function readStart(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of bytes) {
      pieces.push(piece);
      length += piece.length;
      if (length >= START_BYTES) break;
    }
  } catch (error) {
    // Reading it for good will say so, with the line reached.
    if (!(error instanceof Damage)) throw error;
  }
  return Buffer.concat(pieces, START_BYTES);
}
