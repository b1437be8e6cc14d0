/** The bytes of an input, from a file or standard input. */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { CHUNK_BYTES } from './decompression.ts';
import { type FileIdentity, openFound } from './found-file.ts';
import { refuseFile } from './refuse-file.ts';

/** Bytes that can be read from the start more than once. */
export interface Source {
  /** `last` means that the bytes will not be read again, so none need to be kept. */
  read(last: boolean): AsyncIterable<Buffer>;
}

/** With an `identity`, only this exact file is read. Throws `file-unreadable`. */
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

/**
 * Makes a source of a stream that can be read only once: keeps all bytes read before the last
 * reading begins.
 */
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
