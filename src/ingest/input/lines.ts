/**
 * Divides bytes into lines of text: UTF-8 only, without a byte order mark and without NUL
 * characters, each line of bounded length.
 */
import { isUtf8 } from 'node:buffer';
import { Damage } from '../fields/refusal.ts';

export interface Line {
  /** Line number, from 1. */
  readonly line: number;
  /** Position in its array, from 1, if another element begins on the same line. */
  readonly index?: number;
  /** The text without its line end. A carriage return before a line feed is kept. */
  readonly text: string;
  /** Why the line is refused. */
  readonly problem?: string;
}

/** Maximum length of a line, and of a record, in bytes. */
export const LONGEST_RECORD_BYTES = 16 * 1024 * 1024;
export const TOO_LONG = 'is longer than 16 MiB';
export const NOT_UTF8 = 'is not UTF-8; save the file as UTF-8';

export const LINE_FEED = 10;
export const RETURN = 13;
const MARK = Buffer.from('\ufeff');
/** Enough to recognize data that is not UTF-8 text. A shorter text is read whole. */
const START_BYTES = 64;

/** Data often mistaken for text, recognized by its first bytes in hexadecimal digits. */
const MISTAKEN: readonly { readonly begins: RegExp; readonly advice: string }[] = [
  // UTF-16 with a byte order mark, or with Latin letters, where every other byte is 0.
  {
    begins: /^(?:fffe|feff|(?:(?!00)..00){4,}$|(?:00(?!00)..){4,}$)/,
    advice: 'the file is UTF-16 text; save it as UTF-8',
  },
  {
    begins: /^504b0304/,
    advice: 'the file is a zip archive or a workbook; unpack it, or save its sheets as CSV (UTF-8)',
  },
  { begins: /^1f8b/, advice: 'the file is compressed with gzip; give it a name that ends in .gz' },
  { begins: /^28b52ffd/, advice: 'the file is compressed with Zstandard; give it a name that ends in .zst' },
];

/** Number of characters kept of an overlong line, to identify it in reports. */
export const KEPT_OF_OVERLONG = 1000;

/** The byte at which lines end. */
export type LineEnd = typeof LINE_FEED | typeof RETURN;

/** Whole lines as bytes, the last one without its line end. */
export interface LineBlock {
  readonly bytes: Buffer;
  /** Whether the first line is too long; then only a part of it is contained. */
  readonly isOverlong: boolean;
}

/** The lines in order, many at a time. Throws `Damage` when the input is empty. */
export async function* readLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<readonly Line[]> {
  let line = 1;
  for await (const block of readBlocks(bytes)) {
    const lines = cutLines(block, line);
    yield lines;
    line += lines.length;
  }
}

/** Like `readLines`, but not divided into lines. */
export async function* readBlocks(
  bytes: AsyncIterable<Buffer>,
  lineEnd: LineEnd = LINE_FEED,
): AsyncGenerator<LineBlock> {
  let rest: Buffer[] = [];
  let restLength = 0;
  let isOverlong = false;
  for await (const chunk of withoutMark(bytes)) {
    const end = chunk.lastIndexOf(lineEnd);
    if (end !== -1) {
      const whole = chunk.subarray(0, end);
      yield { bytes: rest.length === 0 ? whole : Buffer.concat([...rest, whole]), isOverlong };
      rest = [];
      restLength = 0;
      isOverlong = false;
    }
    const tail = chunk.subarray(end + 1);
    restLength += tail.length;
    isOverlong ||= restLength > LONGEST_RECORD_BYTES;
    // The remaining bytes of a line that is too long are not kept.
    if (tail.length > 0 && !isOverlong) rest.push(tail);
  }
  if (restLength > 0) yield { bytes: Buffer.concat(rest), isOverlong };
}

/** Reads a line that is not UTF-8; `line` is its number. */
export type ReadOther = (bytes: Buffer, line: number) => Pick<Line, 'text' | 'problem'>;

const refuseOther: ReadOther = (bytes) => ({ text: bytes.toString(), problem: NOT_UTF8 });

/** The lines of a block; `firstLine` is the number of the first. */
export function cutLines(
  { bytes, isOverlong }: LineBlock,
  firstLine: number,
  readOther: ReadOther = refuseOther,
  lineEnd: LineEnd = LINE_FEED,
): Line[] {
  const isClean = isUtf8(bytes) && !bytes.includes(0);
  const texts = bytes.toString('utf8').split(String.fromCharCode(lineEnd));
  const lines: Line[] = new Array(texts.length);
  for (let at = 0; at < texts.length; at += 1) lines[at] = { line: firstLine + at, text: texts[at] ?? '' };
  if (!isClean) markUncleanLines(bytes, lines, readOther, lineEnd);
  if (isOverlong && lines[0] !== undefined) {
    lines[0] = { line: firstLine, text: lines[0].text.slice(0, KEPT_OF_OVERLONG), problem: TOO_LONG };
  }
  return lines;
}

/** Marks the lines that are not UTF-8, or contain NUL, in a block that has such lines. */
function markUncleanLines(block: Buffer, lines: Line[], readOther: ReadOther, lineEnd: LineEnd): void {
  let from = 0;
  for (const [at, { line, text }] of lines.entries()) {
    const end = block.indexOf(lineEnd, from);
    const piece = block.subarray(from, end === -1 ? block.length : end);
    from += piece.length + 1;
    if (piece.includes(0)) lines[at] = { line, text, problem: 'must not contain a NUL character' };
    else if (!isUtf8(piece)) lines[at] = { line, ...readOther(piece, line) };
  }
}

/**
 * The bytes without the byte order mark of UTF-8. Throws `Damage` when the input is empty, or is
 * not UTF-8 text at all.
 */
export async function* withoutMark(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let start: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of bytes) {
    if (start === undefined) {
      yield chunk;
      continue;
    }
    start = Buffer.concat([start, chunk]);
    if (start.length < START_BYTES) continue;
    yield textFrom(start);
    start = undefined;
  }
  if (start?.length === 0) throw new Damage('the file is empty');
  if (start !== undefined) yield textFrom(start);
}

/** Removes the byte order mark. Throws `Damage` when the input is not UTF-8 text. */
function textFrom(start: Buffer): Buffer {
  const digits = start.toString('hex', 0, Math.min(start.length & ~1, START_BYTES));
  const mistaken = MISTAKEN.find(({ begins }) => begins.test(digits));
  if (mistaken !== undefined) throw new Damage(mistaken.advice);
  return start.subarray(start.subarray(0, MARK.length).equals(MARK) ? MARK.length : 0);
}
