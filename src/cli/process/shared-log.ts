/**
 * The log on standard error, which several processes share. A write of up to 4 KiB to a pipe is
 * atomic (POSIX: PIPE_BUF), so each line is one write. `process.stderr` and pino's own destination
 * would join waiting lines, or block the process while the reader is slow (decision 74).
 */
import { writeSync } from 'node:fs';
import { stderr } from 'node:process';

/** Pause before the next attempt if the reader is slow and the pipe is full. */
const RETRY_MS = 5;

export function openSharedLog(): { write(line: string): void } {
  const waiting = new Set<Buffer>();
  /** Bytes of the first waiting line that are already written. */
  let written = 0;

  function writeWaiting(): void {
    for (const line of waiting) {
      written += writeOnce(line.subarray(written));
      if (written < line.length) {
        setTimeout(writeWaiting, RETRY_MS);
        return;
      }
      waiting.delete(line);
      written = 0;
    }
  }

  return {
    write(line) {
      const isIdle = waiting.size === 0;
      waiting.add(Buffer.from(line));
      if (isIdle) writeWaiting();
    },
  };
}

/**
 * Returns the number of bytes written: 0 if the pipe is full, and the whole length after any other
 * error, which drops the line.
 */
function writeOnce(line: Buffer): number {
  try {
    return writeSync(stderr.fd, line);
  } catch (error) {
    // Any other error cannot be reported anywhere.
    return error instanceof Error && 'code' in error && error.code === 'EAGAIN' ? 0 : line.length;
  }
}
