/** The version of the product, from `package.json`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

// The same path is valid from src/system and from dist/system.
const PACKAGE_FILE = join(import.meta.dirname, '../../package.json');

export function readProductVersion(): string {
  const { version }: { version: string } = JSON.parse(readFileSync(PACKAGE_FILE, 'utf8'));
  return version;
}
