/**
 * Brings the copy at the given address up to date, with the batches and the token that follow. With
 * `KILL_BEFORE=n` the process is killed before the nth call that changes the file system, or before
 * the nth request that changes the bucket. What it has written by then stays: this is not a power
 * failure.
 */
import fs from 'node:fs/promises';
import http, { type ClientRequest, type RequestOptions } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';

const FILE_CALLS = ['rename', 'mkdir', 'rm', 'rmdir', 'chmod', 'chown', 'open'] as const;
const [, , address = '', batches = '', token = ''] = process.argv;
const fatal = Number(process.env['KILL_BEFORE'] ?? 0);
let calls = 0;

/** Whether the process is to be killed before the call that is about to be made. */
function isFatal(): boolean {
  calls += 1;
  return calls === fatal;
}

function kill(): void {
  process.kill(process.pid, 'SIGKILL');
}

/**
 * The lock is renewed at any time. Renewals that have been sent are waited for, and nothing else is
 * sent meanwhile: one that arrives after the process has ended would look like that of a live run.
 */
function killBeforeRequests(): void {
  const original = http.request as (...values: unknown[]) => ClientRequest;
  const renewals = new Set<ClientRequest>();
  let isDying = false;
  Object.assign(http, {
    request: (options: RequestOptions, ...values: unknown[]) => {
      const request = original(options, ...values);
      const isRenewal = String(options.path).includes('/locks/');
      if (options.method !== 'GET' && !isRenewal) isDying ||= isFatal();
      if (isDying) {
        Object.assign(request, { write: () => true, end: () => request });
        if (renewals.size === 0) kill();
      } else if (isRenewal) {
        renewals.add(request);
        request.once('close', () => {
          renewals.delete(request);
          if (isDying && renewals.size === 0) kill();
        });
      }
      return request;
    },
  });
}

function killBefore(name: (typeof FILE_CALLS)[number]): void {
  const original = fs[name] as (...values: unknown[]) => unknown;
  Object.assign(fs, {
    [name]: (...values: unknown[]) => {
      if (isFatal()) kill();
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
