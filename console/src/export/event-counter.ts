/**
 * Counts the events in the bytes of an export exactly, while they arrive. Not in Parquet, which is
 * compressed and has its row count at the end.
 */
export const FORMATS = ['json', 'ndjson', 'csv', 'parquet'] as const;
export type Format = (typeof FORMATS)[number];

const [NEW_LINE, QUOTE, BACKSLASH, OPEN, CLOSE] = [10, 34, 92, 123, 125];

export interface EventCounter {
  /**
   * Adds the next bytes and returns the number of events that have ended so far; undefined if the
   * format cannot be counted.
   */
  add(bytes: Uint8Array): number | undefined;
}

export function countEvents(format: Format): EventCounter {
  switch (format) {
    case 'json':
      return objects();
    case 'ndjson':
      return lines();
    case 'csv':
      return rows();
    case 'parquet':
      return { add: () => undefined };
  }
}

/** Counts objects that are not inside a different object. */
function objects(): EventCounter {
  let [count, depth] = [0, 0];
  let [isText, isEscaped] = [false, false];
  return {
    add(bytes) {
      for (const byte of bytes) {
        if (isEscaped) isEscaped = false;
        else if (isText && byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) isText = !isText;
        else if (isText) continue;
        else if (byte === OPEN) depth += 1;
        else if (byte === CLOSE) {
          depth -= 1;
          if (depth === 0) count += 1;
        }
      }
      return count;
    },
  };
}

function lines(): EventCounter {
  let count = 0;
  return {
    add(bytes) {
      for (const byte of bytes) if (byte === NEW_LINE) count += 1;
      return count;
    },
  };
}

/** Counts rows after the header row; a quoted cell may contain line ends. */
function rows(): EventCounter {
  let count = -1;
  let isQuoted = false;
  return {
    add(bytes) {
      for (const byte of bytes) {
        if (byte === QUOTE) isQuoted = !isQuoted;
        else if (byte === NEW_LINE && !isQuoted) count += 1;
      }
      return Math.max(0, count);
    },
  };
}
