/** Columns that come in runs, joined. */

interface Column<Self> {
  readonly length: number;
  set(values: Self, at: number): void;
}

/** Puts parts behind one another into a column with room for them. */
function joinColumn<C extends Column<C>>(parts: readonly C[], make: (length: number) => C): C {
  const joined = make(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

export function joinIntegers(parts: readonly Int32Array[]): Int32Array {
  return joinColumn(parts, (length) => new Int32Array(length));
}

export function joinDoubles(parts: readonly Float64Array[]): Float64Array {
  return joinColumn(parts, (length) => new Float64Array(length));
}

export function joinIds(parts: readonly BigInt64Array[]): BigInt64Array {
  return joinColumn(parts, (length) => new BigInt64Array(length));
}

/** Everything that comes, in its order. */
export async function collectRuns<Rows>(runs: AsyncIterable<Rows>): Promise<Rows[]> {
  const collected: Rows[] = [];
  for await (const rows of runs) collected.push(rows);
  return collected;
}
