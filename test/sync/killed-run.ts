/**
 * Brings the copy at the given address up to date, with the batches and the token that follow. With
 * `KILL_BEFORE=n` the process is killed before the nth call that changes the file system, or before
 * the nth request that changes the bucket. What it has written by then stays: this is not a power
 * failure.
 */
import fs from 'node:fs/promises';
import http, { type RequestOptions } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';

const FILE_CALLS = ['rename', 'mkdir', 'rm', 'rmdir', 'chmod', 'chown', 'open'] as const;
const [, , address = '', batches = '', token = ''] = process.argv;
const fatal = Number(process.env['KILL_BEFORE'] ?? 0);
let calls = 0;

function count(): void {
  calls += 1;
  if (calls === fatal) process.kill(process.pid, 'SIGKILL');
}

function killBeforeRequests(): void {
  const original = http.request as (...values: unknown[]) => unknown;
  Object.assign(http, {
    request: (options: RequestOptions, ...values: unknown[]) => {
      // The lock is renewed at any time.
      if (options.method !== 'GET' && !String(options.path).includes('/locks/')) count();
      return original(options, ...values);
    },
  });
}

function killBefore(name: (typeof FILE_CALLS)[number]): void {
  const original = fs[name] as (...values: unknown[]) => unknown;
  Object.assign(fs, {
    [name]: (...values: unknown[]) => {
      count();
      return original(...values);
    },
  });
}

if (fatal > 0) {
  if (address.startsWith('s3:')) killBeforeRequests();
  else for (const name of FILE_CALLS) killBefore(name);
  syncBuiltinESMExports();
}
const { runWith } = await import('./scripted.ts');
await runWith({ address, rows: async () => [] }, JSON.parse(batches), token);
