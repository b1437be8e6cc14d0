/** Columns that come in runs, joined. */

interface Column<Self> {
  readonly length: number;
  set(values: Self, at: number): void;
}

/** Puts parts behind one another into a column with room for them. */
export function joinColumn<C extends Column<C>>(parts: readonly C[], make: (length: number) => C): C {
  const joined = make(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** Everything that comes, in its order. */
export async function collectRuns<Rows>(runs: AsyncIterable<Rows>): Promise<Rows[]> {
  const collected: Rows[] = [];
  for await (const rows of runs) collected.push(rows);
  return collected;
}
