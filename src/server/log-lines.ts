/**
 * The log on its way out: the lines of one turn of the event loop leave in one piece, because every piece costs as
 * much as a small answer. Warnings and what is worse leave at once, so that no crash can swallow them.
 */
export interface LogStream {
  /** Takes one line or several, each with its line break. */
  write(lines: string): void;
}

/** As the logger numbers its levels. */
const WARN = 40;

export function gatherLines(stream: LogStream) {
  let gathered = '';

  function flush(): void {
    const lines = gathered;
    gathered = '';
    if (lines !== '') stream.write(lines);
  }

  return {
    // Has the logger tell the level of each line, as `lastLevel`.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string): void {
      if (gathered === '') setImmediate(flush);
      gathered += line;
      if (this.lastLevel >= WARN) flush();
    },
  };
}
