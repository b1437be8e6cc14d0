/** The limit for the compressed size of all scripts and styles of the console together. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const BUDGET_BYTES = 350_000;
const BEST_LEVEL = 9;

/** Throws if the build in the folder exceeds the limit. */
export function checkBudget(folder: string): void {
  const names = readdirSync(folder).filter((name) => /\.(js|css)$/.test(name));
  const sizes = names.map((name) => gzipSync(readFileSync(join(folder, name)), { level: BEST_LEVEL }).length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const text = `The console weighs ${total} bytes compressed in ${names.length} files; ${BUDGET_BYTES} are allowed.\n`;
  if (total > BUDGET_BYTES) throw new Error(text);
  process.stdout.write(text);
}
