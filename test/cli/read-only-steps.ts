/**
 * Runs commands on a data folder that can only be read: a program for `read-only.test.ts`, which
 * runs it with a folder that is a small disk of its own, and with `mount`, `permissions` or
 * `backup`: how the folder is withdrawn from writing. Prints what it has seen as JSON.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import { until } from '../server/stand.ts';
import { readKeptFixture, unpackFolder } from '../upgrade/kept-fixture.ts';
import { type Result, run, runJson } from './command.ts';
import { ask, serving, stop } from './serving.ts';
import { writeSmallBundle } from './small-bundle.ts';

const [, , disk = '', means] = process.argv;
const data = join(disk, 'data');
/** Data of an earlier version of Corkboard. */
const earlier = join(disk, 'earlier');
/** Not on the disk. */
const beside = join(disk, '../beside', String(means));
mkdirSync(beside, { recursive: true });
const at = ['--data', data];
const school = ['--organization', 'school', ...at];
const PATH = '/v1/users';
/** What makes a data folder a backup. */
const BACKUP_FILES = ['backup.json', 'SHA256SUMS'];

const ends: (() => void)[] = [];
const t = { after: (end: () => void) => void ends.push(end) };

/** What every file below a folder is, so that any change shows. */
function stateOf(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const { mode, size, mtimeNs } = statSync(join(folder, name), { bigint: true });
      return `${name} ${mode} ${size} ${mtimeNs}`;
    });
}

function contentOf(folder: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );
}

async function answers(key: string, path: string, ...options: readonly string[]) {
  const server = await serving(t, ['serve', ...options, '--data', path, '--workers', '1']);
  const base = server.printed['Variant A']!;
  const [users, unknown, ready] = [
    await ask(`${base}${PATH}`, key),
    await ask(`${base}${PATH}`, `${key.slice(0, -6)}AAAAAA`),
    await ask(new URL('/readyz', base).href),
  ];
  return { server, users: [users.status, users.body], unknown: unknown.status, ready: ready.body };
}

await unpackFolder(await readKeptFixture('folder-0.2'), earlier);
const bundle = writeSmallBundle(join(beside, 'bundle'));
await runJson(['import', bundle, ...school]);
await runJson([
  'import',
  writeSmallBundle(join(beside, 'next'), { 'boards.csv': 'id,title\n8,New\n' }),
  ...school,
]);
await runJson(['export', join(beside, 'before'), ...school]);
await runJson(['backup', join(beside, 'earlier'), ...at]);
// The server is killed while its last changes are only in the logs of SQLite.
const killed = await serving(t, ['serve', ...at, '--workers', '1']);
const { key } = await runJson(['keys', 'create', ...school]);
const expected = await ask(`${killed.printed['Variant A']!}${PATH}`, key);
const id = key.split('_')[1];
killed.child.kill('SIGKILL');
await once(killed.child, 'close');
cpSync(data, join(beside, 'writable'), { recursive: true });
const logBytes = statSync(join(data, 'keys.db-wal')).size;

function allow(isWritable: boolean): void {
  if (means === 'backup') {
    for (const file of [data, earlier].flatMap((one) => BACKUP_FILES.map((name) => join(one, name)))) {
      if (isWritable) rmSync(file);
      else writeFileSync(file, '');
    }
    return;
  }
  const remount = `mount -o remount,${isWritable ? 'rw' : 'ro'} "$0"`;
  const change = `chmod -R ${isWritable ? 'u+w' : 'a-w'} "$@"`;
  execFileSync('sh', ['-c', means === 'mount' ? remount : change, disk, data, earlier]);
}

allow(false);
const before = stateOf(disk);

const { server, ...served } = await answers(key, data, '--audit-access');
await stop(server, 'SIGTERM');
const commands: Record<string, Result> = {};
for (const [name, ...words] of [
  ['keys list', 'keys', 'list', '--json'],
  ['keys show', 'keys', 'show', id],
  ['organizations list', 'organizations', 'list'],
  ['organizations show', 'organizations', 'show', 'school'],
  ['versions list', 'versions', 'list', '--organization', 'school'],
  ['audit', 'audit'],
  ['audit --access', 'audit', '--access'],
  ['points', 'points', 'explain', '--organization', 'school', '--board', '7', '--user', '1'],
  ['export', 'export', join(beside, 'after'), '--organization', 'school'],
  ['backup', 'backup', join(beside, 'backup')],
  ['copy', 'copy', '--from', data, '--to', join(beside, 'copy')],
  ['check', 'check'],
] as const) {
  commands[name] = await run([...words, ...(name === 'copy' ? [] : at)]);
}
const refused: Record<string, Result> = {};
for (const [name, ...words] of [
  ['import', 'import', bundle, '--organization', 'school'],
  ['import into a new organization', 'import', bundle, '--organization', 'new'],
  ['keys create', 'keys', 'create', '--organization', 'school'],
  ['keys configure', 'keys', 'configure', id, '--label', 'new'],
  ['keys rotate', 'keys', 'rotate', id],
  ['keys revoke', 'keys', 'revoke', id],
  ['organizations create', 'organizations', 'create', 'new'],
  ['organizations configure', 'organizations', 'configure', 'school', '--title', 'New'],
  ['rules', 'organizations', 'configure', 'school', '--keep-versions', '9'],
  ['organizations rename', 'organizations', 'rename', 'school', 'college'],
  ['organizations remove', 'organizations', 'remove', 'school', '--yes'],
  ['forget', 'forget', '--organization', 'school', '--user', '2'],
  ['rollback', 'rollback', '--organization', 'school'],
  ['restore', 'restore', join(beside, 'earlier'), '--replace'],
  ['pull', 'pull', 'http://127.0.0.1:9/', '--organization', 'school'],
] as const) {
  refused[name] = await run([...words, ...at], { environment: { CORKBOARD_PULL_KEY: key } });
}
const store = await openFolderStore(data);
const { file } = await store.original('school');
const spillFolder = file?.spillFolder;
await store.close();
const former: Record<string, Result> = {};
for (const [name, ...words] of [
  ['keys list', 'keys', 'list'],
  ['export', 'export', join(beside, 'former'), '--organization', 'small'],
  ['check', 'check'],
] as const) {
  former[name] = await run([...words, '--data', earlier]);
}
const after = stateOf(disk);
const left = readdirSync(tmpdir());

const restored = await run(['restore', join(beside, 'backup'), '--data', join(beside, 'restored')]);
const again = await answers(key, join(beside, 'restored'));
await stop(again.server, 'SIGTERM');

// The folder can be written again, and a command does so, while the server still has a copy.
const lasting = await answers(key, data);
allow(true);
const revoked = await run(['keys', 'revoke', id, ...at]);
const users = `${lasting.server.printed['Variant A']!}${PATH}`;
await until(async () => (await ask(users, key)).status === 401);
await stop(lasting.server, 'SIGTERM');
process.stdout.write(
  JSON.stringify({
    ...{ expected: [expected.status, expected.body], served, remarks: server.remarks, id, logBytes },
    ...{
      commands,
      former,
      refused,
      revoked,
      restored,
      spillFolder,
      disk,
      before,
      after,
      left,
      users: again.users,
    },
    exports: [contentOf(join(beside, 'before')), contentOf(join(beside, 'after'))],
  }),
);
for (const end of ends) end();
