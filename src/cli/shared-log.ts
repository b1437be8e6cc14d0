/**
 * The log on standard error, which several processes share. Up to 4 KiB one write into a pipe is never mixed with
 * another (POSIX: PIPE_BUF), so lines go in pieces of at most that; `process.stderr` would join what has to wait.
 */
import { writeSync } from 'node:fs';
import { stderr } from 'node:process';

const UNMIXED_BYTES = 4_096;
const LINE_BREAK = 10;
/** While nobody reads and the pipe is full. */
const RETRY_MS = 5;

export function openSharedLog(): { write(lines: string): void } {
  const waiting: Buffer[] = [];

  function writeWaiting(): void {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const written = writeOnce(next);
      if (written < next.length) {
        waiting[0] = next.subarray(written);
        setTimeout(writeWaiting, RETRY_MS);
        return;
      }
      waiting.shift();
    }
  }

  return {
    write(lines) {
      const isIdle = waiting.length === 0;
      waiting.push(...piecesOf(Buffer.from(lines)));
      if (isIdle) writeWaiting();
    },
  };
}

/** As many whole lines each as fit; a longer line stands alone. */
function* piecesOf(lines: Buffer): Generator<Buffer> {
  for (let start = 0, end: number; start < lines.length; start = end) {
    end = lines.length;
    if (end - start > UNMIXED_BYTES) {
      const before = lines.lastIndexOf(LINE_BREAK, start + UNMIXED_BYTES - 1);
      end = (before < start ? lines.indexOf(LINE_BREAK, start) : before) + 1;
    }
    yield lines.subarray(start, end);
  }
}

/** Bytes that are done with. */
function writeOnce(piece: Buffer): number {
  try {
    return writeSync(stderr.fd, piece);
  } catch (error) {
    // Of any other trouble nobody could be told.
    return error instanceof Error && 'code' in error && error.code === 'EAGAIN' ? 0 : piece.length;
  }
}
