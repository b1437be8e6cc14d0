/**
 * Shares of the test files. Loading the product and compiling its hot functions takes about a
 * second, which is more than many files need, so each process runs a share of them, one file after
 * the other.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';

const ROOT = join(import.meta.dirname, '..');

/**
 * Writes at most `count` files for the runner into a temporary folder, which goes with this
 * process, and returns their paths. Each has the tests of its share of `files`, which are relative
 * to the root.
 */
export function makeShares(files: readonly string[], count: number): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'corkboard-shares-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const own = JSON.stringify(pathToFileURL(import.meta.filename));
  return Array.from({ length: Math.min(count, files.length) }, (_, place) => {
    const share = files.filter((_file, at) => at % count === place);
    const path = join(folder, `share-${place}.mjs`);
    writeFileSync(path, `import { describeFiles } from ${own};\ndescribeFiles(${JSON.stringify(share)});\n`);
    return path;
  });
}

/** Called by the files that `makeShares` writes. */
export function describeFiles(files: readonly string[]): void {
  for (const file of files) {
    // Hooks at the top level of a file apply to its own tests only.
    describe(file, async () => {
      await import(pathToFileURL(join(ROOT, file)).href);
    });
  }
}
