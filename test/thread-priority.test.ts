import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { it } from 'node:test';

const SOURCE = join(import.meta.dirname, '../src');
/** Prints the nice values of the process's threads once that of the render thread has changed. */
const SCRIPT = `
  import { readdirSync, readFileSync } from 'node:fs';
  import { setImmediate } from 'node:timers/promises';
  import { RenderThread } from ${JSON.stringify(join(SOURCE, 'render/thread/render-thread.ts'))};

  const values = () => Object.groupBy(readdirSync('/proc/self/task').map((id) => {
    const [, name, rest] = /\\((.*)\\) (.*)/.exec(readFileSync('/proc/self/task/' + id + '/stat', 'utf8'));
    return { name, nice: Number(rest.split(' ')[16]) };
  }), ({ name }) => name);
  const before = values();
  const thread = new RenderThread();
  await thread.deflate(new Uint8Array(new SharedArrayBuffer(1000)));
  while (values().WorkerThread[0].nice === before.MainThread[0].nice) await setImmediate();
  const more = Object.entries(values()).map(([name, threads]) =>
    [name, threads.map(({ nice }) => nice - before.MainThread[0].nice)]);
  console.log(JSON.stringify(Object.fromEntries(more)));
  await thread.close();`;

const LINUX = { skip: process.platform === 'linux' ? false : 'threads have no nice values' };

function moreThanServing(command: string, ...args: readonly string[]): Record<string, number[]> {
  const script = ['--eval', SCRIPT];
  const options = { encoding: 'utf8', timeout: 60_000 } as const;
  const { stdout, stderr } = spawnSync(command, [...args, ...script], options);
  assert.equal(stderr, '');
  return JSON.parse(stdout);
}

it('rendering, compression and reading of files give way to the thread that serves', LINUX, () => {
  const { MainThread, WorkerThread, 'libuv-worker': pool, V8Worker } = moreThanServing(process.execPath);
  assert.deepEqual([MainThread, WorkerThread, new Set(pool)], [[0], [10], new Set([10])]);
  // The thread that serves waits for collectors of garbage.
  assert.deepEqual(new Set(V8Worker), new Set([0]));
});

it('gives way in a process that is nice itself, and never beyond what there is', LINUX, () => {
  const { WorkerThread, 'libuv-worker': pool } = moreThanServing('nice', '-n', '15', process.execPath);
  assert.deepEqual([WorkerThread, new Set(pool)], [[4], new Set([4])]);
});
