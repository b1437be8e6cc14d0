/**
 * Opens the data folder given as the argument, like any command. With `KILL_BEFORE=n` the process
 * is killed before the nth call that changes the file system, to simulate a power failure.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const fatal = Number(process.env['KILL_BEFORE'] ?? 0);
let calls = 0;

function killBefore(name: 'renameSync' | 'mkdirSync' | 'rmSync' | 'fsyncSync'): void {
  const original = fs[name] as (...values: unknown[]) => unknown;
  Object.assign(fs, {
    [name]: (...values: unknown[]) => {
      calls += 1;
      if (calls === fatal) process.kill(process.pid, 'SIGKILL');
      return original(...values);
    },
  });
}

const { openFolderStore } = await import('../src/store/files/open-folder.ts');
const { openSqliteKeyring } = await import('../src/keys/sqlite-keyring.ts');
if (fatal > 0) {
  for (const name of ['renameSync', 'mkdirSync', 'rmSync', 'fsyncSync'] as const) killBefore(name);
  syncBuiltinESMExports();
}
const folder = process.argv[2] ?? '';
await openSqliteKeyring(folder).close();
const store = await openFolderStore(folder);
for (const { name, version } of await store.organizations()) {
  const dataset = await store.openDataset(name);
  if (dataset?.version !== version) throw new Error(`${name} has another version than its catalog says`);
  await dataset?.close();
}
await store.close();
