/**
 * The bytes of an input, from a file or standard input, and what the first ones tell about the form
 * of the rest.
 */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import type { Compression, Form } from './bundle.ts';
import { CHUNK_BYTES, unpack } from './decompression.ts';
import { type FileIdentity, openFound } from './found-file.ts';
import { Damage } from './refusal.ts';
import { refuseFile } from './refuse-file.ts';

/** Bytes that can be read from their start more than once. */
export interface Source {
  /** `last` says that nothing will be read again, so that nothing need be kept. */
  read(last: boolean): AsyncIterable<Buffer>;
}

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
