/** The place of a record in its file. A store keeps it as one number. */

export interface RecordPlace {
  /** From 1; 0 for the whole file. */
  readonly line: number;
  /** Position in the array of the file, from 1; absent if no other element begins on the line. */
  readonly index?: number | undefined;
}

/** Two numbers below it fit into one that is exact. */
const MOST = 2 ** 26;

/** Negative if there is an index. Without the index if it or the line is too large. */
export function encodePlace({ line, index }: RecordPlace): number {
  return index === undefined || line >= MOST || index >= MOST ? line : -(index * MOST + line);
}

export function decodePlace(place: number): RecordPlace {
  return place >= 0 ? { line: place } : { line: -place % MOST, index: Math.floor(-place / MOST) };
}

/** `users.csv:7`, `array.json:1[2]`, or the name of the file alone. */
export function renderPlace(file: string, { line, index }: RecordPlace): string {
  if (line === 0) return file;
  return `${file}:${line}${index === undefined ? '' : `[${index}]`}`;
}
