/** The version of the product, from `package.json`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

// The same path is valid from src/system and from dist/system.
const PACKAGE_FILE = join(import.meta.dirname, '../../package.json');

let known: string | undefined;

/** Reads the file once: a server asks for each version that it opens. */
export function readProductVersion(): string {
  known ??= (JSON.parse(readFileSync(PACKAGE_FILE, 'utf8')) as { readonly version: string }).version;
  return known;
}
