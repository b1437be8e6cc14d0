/** Text in other code pages than UTF-8, as the Encoding Standard of the web defines them. */
import { TextDecoder } from 'node:util';
import type { Line } from './lines.ts';

/** The text of the line, or the reason why it has none. */
type DecodedLine = Pick<Line, 'text' | 'problem'>;

/** The encoding of files from spreadsheets and older systems in Western languages. */
const WINDOWS_1252 = new TextDecoder('windows-1252');
/** What decoders make of bytes that a code page does not define; no text contains it. */
const UNDEFINED = /[\ufffd\u0080-\u009f]/;
const UTF8_MARK = Buffer.from('\ufeff');

export function isCodePage(name: string): boolean {
  try {
    new TextDecoder(name);
    return true;
  } catch {
    return false;
  }
}

/** A line that is not UTF-8, read as Windows-1252. */
export function decodeWindows1252(bytes: Buffer): DecodedLine {
  const text = WINDOWS_1252.decode(bytes);
  const found = UNDEFINED.exec(text)?.[0].charCodeAt(0);
  if (found === undefined) return { text };
  const byte = found.toString(16).toUpperCase();
  const problem = `is neither UTF-8 nor Windows-1252 (byte ${byte}); give the code page of the file, like --encoding shift_jis`;
  return { text, problem };
}

/** The bytes as UTF-8. A byte order mark of UTF-8 takes precedence over `encoding`. */
export async function* toUtf8(bytes: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  let decoder: TextDecoder | undefined;
  for await (const chunk of bytes) {
    decoder ??= new TextDecoder(startsWithMark(chunk) ? 'utf-8' : encoding);
    yield Buffer.from(decoder.decode(chunk, { stream: true }));
  }
  if (decoder !== undefined) yield Buffer.from(decoder.decode());
}

function startsWithMark(chunk: Buffer): boolean {
  return chunk.subarray(0, UTF8_MARK.length).equals(UTF8_MARK);
}

/** The line of a text made by `toUtf8`, with a problem if it has bytes that `encoding` lacks. */
export function checkDecoded(line: Line, encoding: string): Line {
  if (line.problem !== undefined || !UNDEFINED.test(line.text)) return line;
  return { ...line, problem: `has bytes that ${encoding} does not define; check --encoding` };
}
