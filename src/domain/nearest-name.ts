/** Suggestions for misspelt names. */

/**
 * Returns the name in `known` with the fewest edits (a swap of neighbours is one), ignoring case.
 * Returns undefined if none is close enough to be a typo: at most one edit per three characters,
 * but at least one edit is allowed. The first of equally near names wins. Only the first 100
 * characters of `name` count.
 */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  const wanted = name.slice(0, 100).toLowerCase();
  let nearest: string | undefined;
  let fewest = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of known) {
    const edits = countEdits(wanted, candidate.toLowerCase());
    if (edits < fewest) {
      nearest = candidate;
      fewest = edits;
    }
  }
  return nearest;
}

function countEdits(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      let edits = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (swapped) edits = Math.min(edits, (beforeLast[column - 2] ?? 0) + 1);
      current.push(edits);
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? 0;
}
