/**
 * Runs commands on a full disk: a program for `full-disk.test.ts`, which runs it with a folder that
 * is a small disk of its own. Prints the results as JSON.
 */
import { randomBytes } from 'node:crypto';
import { appendFileSync, closeSync, openSync, readdirSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { NewKey } from '../../src/keys/keyring.ts';
import { openSqliteKeyring } from '../../src/keys/sqlite-keyring.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import { GRANT } from '../keys/keyring-contract.ts';
import { type Result, runProcess as run } from './command.ts';

const disk = process.argv[2] ?? '';
const data = join(disk, 'data');
const filler = join(disk, 'filler');

/** Fills the disk to the last byte. */
function fillDisk(): void {
  const file = openSync(filler, 'a');
  for (let bytes = 1 << 20; bytes >= 1; ) {
    try {
      writeSync(file, Buffer.alloc(bytes));
    } catch {
      bytes >>= 1;
    }
  }
  closeSync(file);
}

const importInto = (organization: string) =>
  run(['import', '-', '--as', 'users', '--organization', organization, '--data', data], {
    input: '{"id":1,"email":"a@x.example","name":"A"}\n',
  });

// The handles that a running server holds open.
const store = await openFolderStore(data);
await store.createOrganization('school', {});
const served = openSqliteKeyring(data);
const keys: NewKey[] = [];
for (let count = 0; count < 3; count += 1) keys.push(await served.create(GRANT, undefined));
const revoke = ({ entry }: NewKey) =>
  run(['keys', 'revoke', entry.id, '--organization', 'school', '--data', data]);

// The command creates the reserve file.
await run(['keys', 'create', '--organization', 'school', '--data', data]);

// The folder next to the disk has free space.
const packed = join(disk, '../users.parquet.gz');
writeFileSync(packed, gzipSync(randomBytes(2_500_000)));
const spooled = await run(
  ['import', packed, '--organization', 'school', '--data', join(disk, '../elsewhere')],
  { environment: { TMPDIR: disk } },
);

// More text than an import holds in memory, and more than the disk has room for.
const large = join(disk, '../users.ndjson.gz');
const LONG_NAME = 'N'.repeat(20_000);
for (let id = 1; id <= 15_000; ) {
  let records = '';
  for (const end = id + 1_000; id < end; id += 1)
    records += `{"id":${id},"email":"u${id}@x.example","name":"${LONG_NAME}"}\n`;
  appendFileSync(large, gzipSync(records, { level: 1 }));
}
const spilled = await run([
  ...['import', large, '--organization', 'large', '--data', data],
  ...['--build-memory', '256MB'],
]);

fillDisk();
const imported = await importInto('new');
const beside = await revoke(keys[0]!);
const accepted = await served.find(keys[0]!.key).then(
  () => 'still',
  (error: { code?: string }) => error.code,
);
await served.close();
await store.close();
const alone: Result[] = [];
for (const key of keys.slice(1)) {
  fillDisk();
  alone.push(await revoke(key));
}
fillDisk();
const importedAlone = await importInto('new');
rmSync(filler);
const listed = await run(['keys', 'list', '--json', '--data', data]);
process.stdout.write(
  JSON.stringify({
    spooled,
    spilled,
    left: readdirSync(join(data, 'organizations/large/generations')),
    beside,
    accepted,
    alone,
    imported,
    importedAlone,
    listed: JSON.parse(listed.stdout),
  }),
);
