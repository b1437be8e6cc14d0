/**
 * Builds the documents into `dist/docs`, where the server finds them. With the name of a folder it
 * builds them there as a static site, for any server of files: `npm run docs -- DIR`.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeBundle } from './bundle.ts';
import { renderSite } from './pages.ts';

const OUTPUT = join(import.meta.dirname, '../../dist/docs');

const [given] = process.argv.slice(2);
const folder = given ?? OUTPUT;
if (given !== undefined && existsSync(given) && readdirSync(given).length > 0) {
  process.stderr.write(`${given} is not empty. Name a new folder.\n`);
  process.exit(1);
}
const { bundle, folder: bundled } = await makeBundle();
const files = renderSite(bundle, { isStatic: given !== undefined });
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const name of ['assets', 'licenses.md'])
  cpSync(join(bundled, name), join(folder, name), { recursive: true });
for (const [path, content] of files) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}
process.stdout.write(`${files.size} files of documents in ${folder}\n`);
