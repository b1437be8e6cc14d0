/**
 * Brings the copy at the given address up to date, with the batches and the token that follow. With
 * `KILL_BEFORE=n` the process is killed before the nth call that changes the file system. What it
 * has written by then stays: this is not a power failure.
 */
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const fatal = Number(process.env['KILL_BEFORE'] ?? 0);
let calls = 0;

function killBefore(name: 'rename' | 'mkdir' | 'rm' | 'rmdir' | 'chmod' | 'chown' | 'open'): void {
  const original = fs[name] as (...values: unknown[]) => unknown;
  Object.assign(fs, {
    [name]: (...values: unknown[]) => {
      calls += 1;
      if (calls === fatal) process.kill(process.pid, 'SIGKILL');
      return original(...values);
    },
  });
}

if (fatal > 0) {
  for (const name of ['rename', 'mkdir', 'rm', 'rmdir', 'chmod', 'chown', 'open'] as const) killBefore(name);
  syncBuiltinESMExports();
}
const { runWith } = await import('./scripted.ts');
const [, , address = '', batches = '', token = ''] = process.argv;
await runWith({ address, rows: async () => [] }, JSON.parse(batches), token);
