/** Rows in sections, of which each can lie anywhere. */

/** The rows of value `v`, such as the index of a board, are at `[starts[v], ends[v])`. */
export interface Sections {
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

/** The rows of a value; none for one that came later. */
export function sectionOf({ starts, ends }: Sections, value: number) {
  return { from: starts[value] ?? 0, to: ends[value] ?? 0 };
}

/** The number of rows in all sections. */
export function countRows({ starts, ends }: Sections): number {
  let count = 0;
  for (let value = 0; value < starts.length; value++) count += ends[value]! - starts[value]!;
  return count;
}

/** Sections of the same lengths, one after the other. */
export function withoutGaps({ starts, ends }: Sections): Sections {
  const moved = { starts: new Int32Array(starts.length), ends: new Int32Array(starts.length) };
  let at = 0;
  for (let value = 0; value < starts.length; value++) {
    moved.starts[value] = at;
    at += ends[value]! - starts[value]!;
    moved.ends[value] = at;
  }
  return moved;
}
