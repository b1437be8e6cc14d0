/** Temporary folders of several processes at once. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { promisify } from 'node:util';

const MODULE = join(import.meta.dirname, '../../src/system/temporary-folder.ts');
/** Opens folders one after the other, and prints how many of them disappeared while in use. */
const SCRIPT = `
  import { existsSync, writeFileSync } from 'node:fs';
  import { join } from 'node:path';
  import { openTemporaryFolder } from ${JSON.stringify(MODULE)};
  let lost = 0;
  for (let at = 0; at < 100; at += 1) {
    using folder = openTemporaryFolder();
    const file = join(folder.path, 'file');
    try {
      writeFileSync(file, '');
    } catch {}
    if (!existsSync(file)) lost += 1;
  }
  console.log(lost);`;

it('a temporary folder is never a leftover to other processes, and none is left', async () => {
  const temporary = mkdtempSync(join(tmpdir(), 'corkboard-temporary-folders-'));
  try {
    const options = { env: { ...process.env, TMPDIR: temporary } };
    const run = () => promisify(execFile)(process.execPath, ['--eval', SCRIPT], options);
    const ended = await Promise.all(Array.from({ length: 6 }, run));
    assert.deepEqual(
      ended.map(({ stdout, stderr }) => [stdout, stderr]),
      ended.map(() => ['0\n', '']),
    );
    assert.deepEqual(readdirSync(temporary), []);
  } finally {
    rmSync(temporary, { recursive: true });
  }
});
