/** Recognizes the error of DuckDB when its memory does not suffice, although it writes to disk. */
export function isMemoryShortage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /^Out of Memory Error: /.test(error.message) || isMemoryShortage(error.cause);
}
