/**
 * The quick test files, in a few processes. Most of them take less time than loading the product,
 * so each process runs a share of them, one after the other.
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { quickFiles } from '../sets.ts';

const ROOT = join(import.meta.dirname, '../..');
/** One file for each process, relative to the root. */
export const SHARES: readonly string[] = globSync('test/quick/share-*.ts', { cwd: ROOT }).sort();

/** `place` is the position of a share, from 0. */
export function describeShare(place: number): void {
  for (const file of quickFiles().filter((_, at) => at % SHARES.length === place)) {
    // Hooks at the top level of a file apply to its own tests only.
    describe(file, async () => {
      await import(join(ROOT, file));
    });
  }
}
