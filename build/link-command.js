// Part of `npm ci` in a checkout: puts the command into `node_modules/.bin`. Without it, `npx
// corkboard` installs the checkout into the cache of npx, and builds it there, each time.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../node_modules/.bin/', import.meta.url));
const command = join(folder, 'corkboard');
mkdirSync(folder, { recursive: true });
if (process.platform === 'win32') {
  writeFileSync(`${command}.cmd`, '@node "%~dp0\\..\\..\\bin\\corkboard.js" %*\r\n');
} else {
  rmSync(command, { force: true });
  symlinkSync('../../bin/corkboard.js', command);
}
