import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, createReadStream, openSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { it } from 'node:test';
import { temporaryFolder } from './command.ts';

const SHARED_LOG = join(import.meta.dirname, '../../src/cli/process/shared-log.ts');
const LINES = 400;
/** Writes `done` to standard output when all lines are written or waiting. */
const WRITER = `
  import { openSharedLog } from ${JSON.stringify(SHARED_LOG)};
  const log = openSharedLog();
  for (let line = 0; line < ${LINES}; line += 1) {
    log.write(JSON.stringify({ pid: process.pid, line, text: 'é'.repeat((line * 37) % 1900) }) + '\\n');
  }
  console.log('done');`;

it('log lines of several processes on one full pipe stay whole and in order', async () => {
  // Shells use pipes like this one; the pipes that Node.js creates are sockets.
  const pipe = join(temporaryFolder(), 'pipe');
  execFileSync('sh', ['-c', 'mkfifo "$0"', pipe]);
  const writeEnd = openSync(pipe, 'r+');
  const writers = [1, 2].map(() =>
    spawn(process.execPath, ['--input-type=module', '--eval', WRITER], {
      stdio: ['ignore', 'pipe', writeEnd],
    }),
  );
  const readEnd = openSync(pipe, 'r');
  closeSync(writeEnd);
  await Promise.all(writers.map(({ stdout }) => once(stdout!, 'data')));
  const log = await text(createReadStream(pipe, { fd: readEnd }));
  const byProcess = new Map<number, number[]>();
  for (const line of log.trimEnd().split('\n')) {
    const { pid, line: number }: { pid: number; line: number } = JSON.parse(line);
    byProcess.set(pid, [...(byProcess.get(pid) ?? []), number]);
  }
  const all = Array.from({ length: LINES }, (_, line) => line);
  assert.deepEqual([...byProcess.values()], [all, all]);
});
