/** Opens the inputs of a bundle: their bytes, their form, and a count of the bytes read for the progress. */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import type { Input, InputForm } from './bundle.ts';
import { fileSource, type Source, streamSource } from './bytes.ts';
import { findForm } from './found-form.ts';

/** What can be read: an input whose form is known, and its bytes. */
export interface OpenInput {
  readonly input: Input;
  readonly form: InputForm;
  readonly source: Source;
}

/** Opens an input without reading more of it than its form takes. `onBytes` counts the bytes of the last reading. */
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
  // A pipe with a name can be read only once, like standard input.
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
