/**
 * Cuts bytes into lines of text: UTF-8 only, without a byte order mark and without NUL characters, each line of
 * bounded length.
 */
import { isUtf8 } from 'node:buffer';
import { Damage } from './refusal.ts';

export interface Line {
  /** From 1. */
  readonly line: number;
  /** Without the line feed; a carriage return before it is kept. */
  readonly text: string;
  /** Why the line cannot be taken as it is. */
  readonly problem?: string;
}

/** The longest line, and the longest record, in bytes. */
export const LONGEST_RECORD_BYTES = 16 * 1024 * 1024;
export const TOO_LONG = 'is longer than 16 MiB';

/** What spreadsheets and older systems of the West write. */
const WINDOWS_1252 = new TextDecoder('windows-1252');

const LINE_FEED = 10;
const MARK = Buffer.from('\ufeff');
/** How much of an overlong line is kept to recognize it by. */
export const KEPT_OF_OVERLONG = 1000;

/** Whole lines as bytes, the last one without its line feed. */
export interface Block {
  readonly bytes: Buffer;
  /** Whether the first line is too long, so that only pieces of it are here. */
  readonly isOverlong: boolean;
}

/** The lines in order, many at a time. Throws `Damage` when there is not a single byte. */
export async function* readLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<readonly Line[]> {
  let line = 1;
  for await (const block of readBlocks(bytes)) {
    const lines = cutLines(block, line);
    yield lines;
    line += lines.length;
  }
}

/** Like `readLines`, not cut into lines yet. */
export async function* readBlocks(bytes: AsyncIterable<Buffer>): AsyncGenerator<Block> {
  let rest: Buffer[] = [];
  let restLength = 0;
  let isOverlong = false;
  for await (const chunk of withoutMark(bytes)) {
    const end = chunk.lastIndexOf(LINE_FEED);
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
    // What is too long is not gathered any further.
    if (tail.length > 0 && !isOverlong) rest.push(tail);
  }
  if (restLength > 0) yield { bytes: Buffer.concat(rest), isOverlong };
}

/** The lines of a block of which the first is `firstLine`. Foreign ones that are not UTF-8 are taken for Windows-1252. */
export function cutLines({ bytes, isOverlong }: Block, firstLine: number, isForeign = false): Line[] {
  const isClean = isUtf8(bytes) && !bytes.includes(0);
  const texts = bytes.toString('utf8').split('\n');
  const lines: Line[] = new Array(texts.length);
  for (let at = 0; at < texts.length; at += 1) lines[at] = { line: firstLine + at, text: texts[at] ?? '' };
  if (!isClean) markUncleanLines(bytes, lines, isForeign);
  if (isOverlong && lines[0] !== undefined) {
    lines[0] = { line: firstLine, text: lines[0].text.slice(0, KEPT_OF_OVERLONG), problem: TOO_LONG };
  }
  return lines;
}

/** Finds the lines that are not UTF-8, or hold NUL, in a block that has such lines. */
function markUncleanLines(block: Buffer, lines: Line[], isForeign: boolean): void {
  let from = 0;
  for (const [at, { line, text }] of lines.entries()) {
    const end = block.indexOf(LINE_FEED, from);
    const piece = block.subarray(from, end === -1 ? block.length : end);
    from += piece.length + 1;
    if (piece.includes(0)) lines[at] = { line, text, problem: 'must not hold a NUL character' };
    else if (isUtf8(piece)) continue;
    else if (isForeign) lines[at] = { line, text: WINDOWS_1252.decode(piece) };
    else lines[at] = { line, text, problem: 'is not UTF-8; save the file as UTF-8' };
  }
}

/** The bytes without the byte order mark of UTF-8. Throws `Damage` when there is not a single byte. */
export async function* withoutMark(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let start: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of bytes) {
    if (start === undefined) {
      yield chunk;
      continue;
    }
    start = Buffer.concat([start, chunk]);
    if (start.length < MARK.length) continue;
    yield start.subarray(start.subarray(0, MARK.length).equals(MARK) ? MARK.length : 0);
    start = undefined;
  }
  if (start?.length === 0) throw new Damage('the file is empty');
  if (start !== undefined) yield start;
}
