/** Lines of a stream that have come and wait to be published: whole ones, in order, with how many bytes they were. */
import { LONGEST_RECORD_BYTES } from '../input/lines.ts';

const LINE_FEED = 10;
/** From here on nothing more is read before these are published. */
const MOST_BYTES = 32 * 1024 * 1024;

/** Lines that follow each other. */
export interface Lines {
  readonly bytes: Buffer;
  readonly lines: number;
  /** As many as have been read for them: of a line that is far too long, not all are kept. */
  readonly bytesRead: number;
}

export class GatheredLines {
  #whole: Buffer[] = [];
  #lines = 0;
  #wholeBytesRead = 0;
  /** The line that has not ended yet. */
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

  /** Nothing will come any more, so what has come of a line is one. */
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
    // What is too long is refused, and not gathered any further; its end is kept.
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

/** The first of the lines. */
export function firstLines({ bytes }: Lines, count: number): Lines {
  let end = 0;
  for (let line = 0; line < count; line += 1) end = bytes.indexOf(LINE_FEED, end) + 1;
  return { bytes: bytes.subarray(0, end), lines: count, bytesRead: end };
}
