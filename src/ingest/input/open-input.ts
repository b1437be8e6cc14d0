/**
 * Opens the inputs of a bundle: determines their form, and counts the bytes read for the progress.
 */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import type { Input, InputForm } from './bundle.ts';
import { fileSource, type Source, streamSource } from './bytes.ts';
import { findForm } from './found-form.ts';

/** An input with a known form, and its bytes. */
export interface OpenInput {
  readonly input: Input;
  readonly form: InputForm;
  readonly source: Source;
}

/**
 * Opens an input; reads only as much of it as is needed to determine its form. `onBytes` receives
 * the byte counts of the last reading only.
 */
export async function openInput(
  input: Input,
  stdin: Readable | undefined,
  onBytes: (bytes: number) => void,
): Promise<OpenInput> {
  const source = countedSource(sourceOf(input, stdin), onBytes);
  return { input, form: await findForm(input, source), source };
}

function sourceOf({ name, path, byteLength, identity }: Input, stdin: Readable | undefined): Source {
  if (path !== undefined && byteLength !== undefined) return fileSource(path, name, identity);
  // A named pipe can be read only once, like standard input.
  const stream = path === undefined ? stdin : createReadStream(path);
  if (stream === undefined) throw new Error('an import from standard input needs one');
  return streamSource(stream, name);
}

function countedSource(source: Source, onBytes: (bytes: number) => void): Source {
  return {
    async *read(last) {
      for await (const piece of source.read(last)) {
        if (last) onBytes(piece.length);
        yield piece;
      }
    },
  };
}
