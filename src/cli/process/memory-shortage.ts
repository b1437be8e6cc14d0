/** For staged rows, the message names no kind of error. */
const DUCKDB = /^(Out of Memory Error: |Failed to append: .*could not allocate block)/;

/** Recognizes the error of DuckDB when its memory does not suffice, although it writes to disk. */
export function isMemoryShortage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return DUCKDB.test(error.message) || isMemoryShortage(error.cause);
}
