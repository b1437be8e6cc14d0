/** A limit for the compressed size of all scripts and styles that a page loads. */
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const BEST_LEVEL = 9;

/** Prints the size of the files; throws if it exceeds the limit. `name` begins the sentence. */
export function checkBudget(name: string, paths: readonly string[], mostBytes: number): void {
  const sizes = paths.map((path) => gzipSync(readFileSync(path), { level: BEST_LEVEL }).length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const text = `${name}: ${total} bytes compressed in ${paths.length} files; ${mostBytes} are allowed.\n`;
  if (total > mostBytes) throw new Error(text);
  process.stdout.write(text);
}
