/**
 * The package as shipped: the built command line finds the built console and prints its address.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { it } from 'node:test';
import '../without-coverage.ts';

const MAIN = join(import.meta.dirname, '../../dist/cli/main.js');

it('the built command prints the address of the console, which exists', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-announcement-'));
  const args = ['serve', '--data', folder, '--port', '0', '--workers', '1'];
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
  t.after(async () => {
    child.kill('SIGKILL');
    await rm(folder, { recursive: true });
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^Console: +(http:\/\/127\.0\.0\.1:\d+\/)$/.exec(line)?.[1];
    assert.ok(url, `the first line is ${line}`);
    const page = await (await fetch(url)).text();
    const script = /src="(\/console\/assets\/[^"]+\.js)"/.exec(page)?.[1] ?? '';
    assert.equal((await fetch(new URL(script, url))).status, 200);
    return;
  }
  assert.fail('nothing was said');
});
