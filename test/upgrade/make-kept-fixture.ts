/**
 * Makes a fixture of a data folder or a database with the code of an earlier commit:
 * `node test/upgrade/make-kept-fixture.ts <checkout> <fixture> DuckDB|PostgreSQL`.
 * The checkout has its own node_modules; README.md names its commit.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { EMPTY_BUNDLE, writeBundle } from '../model/bundle.ts';
import {
  type Captured,
  capture,
  capturePages,
  INCREMENTS,
  laterPathsOf,
  ORGANIZATIONS,
  pagedPathsOf,
  pathsOf,
  UPRIGHT,
} from './captured.ts';
import { KEPT_KEYS, type KeptFixture, keptFixturePath } from './kept-fixture.ts';

const PG_DUMP = '/usr/lib/postgresql/15/bin/pg_dump';
const [checkout = '', name = '', kind] = process.argv.slice(2);
if (kind !== 'DuckDB' && kind !== 'PostgreSQL') throw new Error('the third argument is DuckDB or PostgreSQL');

/** Imports a module of the old checkout; its modules had the same types. */
async function old<T>(path: string): Promise<T> {
  return (await import(join(resolve(checkout), path))) as T;
}
const { openStorage } = await old<typeof import('../storage.ts')>('test/storage.ts');
const { publishRecords, WORLD } = await old<typeof import('../dataset/small-world.ts')>(
  'test/dataset/small-world.ts',
);
const { importBundle } = await old<typeof import('../../src/ingest/import.ts')>('src/ingest/import.ts');
/** Version 0.1 had this module in a different folder. */
const isFirst = existsSync(join(resolve(checkout), 'src/dataset/forgotten.ts'));
const { forgetUsers } = await old<typeof import('../../src/store/forgotten.ts')>(
  isFirst ? 'src/dataset/forgotten.ts' : 'src/store/forgotten.ts',
);
const { startServer } = await old<typeof import('../../src/server/start.ts')>('src/server/start.ts');

const folder = await mkdtemp(join(tmpdir(), 'corkboard-fixture-'));
const storage = await openStorage({ store: kind, resident: false }, folder);
const { store, keyring } = storage;
await makeSmall();
await store.createOrganization('later', { title: 'Later', policy: '{"goal":5}' });
const keys = { ...(await makeKeys('small')), ...(await makeKeys('later')) };
const before: Captured[] = [];
let server = await serve();
for (const key of Object.keys(keys)) {
  const named = ORGANIZATIONS[key.split('.')[0]!]!;
  for (const path of pathsOf(named)) before.push(await capture(server.address, keys, key, path));
  for (const path of pagedPathsOf(named)) {
    before.push(...(await capturePages(server.address, keys, key, path)));
  }
}
await server.stop();
const content = kind === 'PostgreSQL' ? { dump: dumpDatabase() } : { files: await readFiles() };
const bundle = join(folder, 'bundle');
await writeBundle(bundle, INCREMENTS['small'] ?? EMPTY_BUNDLE, 'ndjson');
const report = await importBundle({ store, organization: 'small', paths: [bundle] });
if (report.problemCount > 0) throw new Error(JSON.stringify(report));
// A running server switches to a new version a moment later; a starting one has it at once.
server = await serve();
const after: Captured[] = [];
for (const { key, path } of laterPathsOf(before)) after.push(await capture(server.address, keys, key, path));
await server.stop();
const fixture: KeptFixture = { keys, before, after, ...content };
await writeFile(keptFixturePath(name), gzipSync(JSON.stringify(fixture), { level: 9 }));
await storage.close();
await rm(folder, { recursive: true });
process.exit();

function serve() {
  return startServer({
    ...{ host: '127.0.0.1', port: 0, defaultVariant: 'a', logLevel: 'silent' },
    ...{ store: storage.served, keyring },
  });
}

/** Several versions, a policy, awards, an erased user; the earlier versions are kept. */
async function makeSmall(): Promise<void> {
  await store.createOrganization('small', { title: 'Small world', domain: 'small.example' });
  const rules = [
    { on: 'pin.created', to: 'actor', points: 10 },
    { on: 'pin.visited', to: 'owner', points: 4 },
    { on: 'pin.commented', to: 'actor', points: 5, minWords: 2 },
  ];
  const policy = JSON.stringify({ rules, goal: 30, weeklyMaximum: 12 });
  const lookups = { courseLookup: true, lmsUserProperties: ['sis'] };
  await publishRecords(store, 'small', WORLD, { policy, ...lookups });
  await forgetUsers(store, 'small', [3n], { waitMs: 0 });
  await publishRecords(store, 'small', {
    users: [{ id: 5n, email: 'eve@x.example', name: 'Eve "Evening" van Dam', lms: { sis: 'E\\5' } }],
    pins: [{ id: 71n, boardId: 8n, ownerId: UPRIGHT, title: 'Zweiter\tPin', body: "it's\n\\two lines 🌻" }],
  });
}

async function makeKeys(organization: string): Promise<Record<string, string>> {
  const made: Record<string, string> = {};
  for (const [label, grant] of Object.entries(KEPT_KEYS)) {
    const { entry, key } = await keyring.create({ organization, label, ...grant }, undefined);
    made[`${organization}.${label}`] = key;
    if (label === 'revoked') await keyring.revoke(entry.id);
  }
  return made;
}

/** The files of the data folder as in a snapshot of the file system, while they are in use. */
async function readFiles(): Promise<Record<string, string>> {
  const data = join(folder, 'data');
  const files: Record<string, string> = {};
  for (const path of (await readdir(data, { recursive: true })).sort()) {
    const whole = join(data, path);
    if ((await stat(whole)).isFile() && !path.endsWith('-shm')) {
      files[path] = (await readFile(whole)).toString('base64');
    }
  }
  return files;
}

function dumpDatabase(): string {
  const options = ['--schema=corkboard', '--inserts', '--no-owner', '--no-privileges'];
  const dump = execFileSync(PG_DUMP, [...options, String(storage.words[1])], { maxBuffer: 2 ** 28 });
  // Without the commands of psql.
  return dump.toString().replaceAll(/^\\(?:un)?restrict .*$/gm, '');
}
