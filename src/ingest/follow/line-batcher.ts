/**
 * Collects the lines of a stream until they are published: complete lines in order, with their
 * size.
 */
import { LONGEST_RECORD_BYTES } from '../input/lines.ts';

const LINE_FEED = 10;
/** From this size on, reading pauses until the lines are published. */
const MOST_BYTES = 32 * 1024 * 1024;

/** Consecutive lines. */
export interface Lines {
  readonly bytes: Buffer;
  readonly lines: number;
  /**
   * Number of bytes read for these lines. Larger than `bytes` if the bytes of an overlong line were
   * not all kept.
   */
  readonly bytesRead: number;
}

export class LineBatcher {
  #whole: Buffer[] = [];
  #lines = 0;
  #wholeBytesRead = 0;
  /** The last line, which is not complete yet. */
  #rest: Buffer[] = [];
  #restKept = 0;
  #restRead = 0;

  get isEmpty(): boolean {
    return this.#lines === 0;
  }

  get isFull(): boolean {
    return this.#wholeBytesRead + this.#restKept >= MOST_BYTES;
  }

  add(chunk: Buffer): void {
    const first = chunk.indexOf(LINE_FEED) + 1;
    const last = chunk.lastIndexOf(LINE_FEED) + 1;
    if (first > 0) {
      this.#addToLine(chunk.subarray(0, first), true);
      this.#endLine();
    }
    const between = chunk.subarray(first, last);
    this.#whole.push(between);
    this.#lines += countLines(between);
    this.#wholeBytesRead += between.length;
    this.#addToLine(chunk.subarray(last), false);
  }

  /** Call at the end of the stream: an incomplete last line becomes a line. */
  end(): void {
    if (this.#restRead > 0) this.#endLine();
  }

  take(): Lines {
    const taken = { bytes: Buffer.concat(this.#whole), lines: this.#lines, bytesRead: this.#wholeBytesRead };
    this.#whole = [];
    this.#lines = 0;
    this.#wholeBytesRead = 0;
    return taken;
  }

  #addToLine(piece: Buffer, isEnd: boolean): void {
    if (piece.length === 0) return;
    this.#restRead += piece.length;
    // The remaining bytes of an overlong line are not kept, except its line feed: the line will be
    // refused.
    const kept = this.#restKept <= LONGEST_RECORD_BYTES ? piece : piece.subarray(isEnd ? -1 : piece.length);
    this.#restKept += kept.length;
    this.#rest.push(kept);
  }

  #endLine(): void {
    for (const piece of this.#rest) this.#whole.push(piece);
    this.#lines += 1;
    this.#wholeBytesRead += this.#restRead;
    this.#rest = [];
    this.#restKept = 0;
    this.#restRead = 0;
  }
}

function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) count += 1;
  return count;
}

/** The first `count` lines. */
export function firstLines({ bytes }: Lines, count: number): Lines {
  let end = 0;
  for (let line = 0; line < count; line += 1) end = bytes.indexOf(LINE_FEED, end) + 1;
  return { bytes: bytes.subarray(0, end), lines: count, bytesRead: end };
}
