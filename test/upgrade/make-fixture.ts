/**
 * Makes the fixture with the code of version 0.1:
 * `node test/upgrade/make-fixture.ts <checkout of 0.1>`.
 * The checkout has its own node_modules; README.md names its commit.
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Store } from '../../src/store/store.ts';
import { EMPTY_BUNDLE, writeBundle } from '../model/bundle.ts';
import {
  CAPTURED,
  type Captured,
  capture,
  capturePages,
  DUMP,
  INCREMENTS,
  laterPathsOf,
  ORGANIZATIONS,
  pagedPathsOf,
  pathsOf,
  UPRIGHT,
} from './captured.ts';

const PG_DUMP = '/usr/lib/postgresql/15/bin/pg_dump';
const OLD = resolve(process.argv[2] ?? '');
const DEMO_EVENTS = 1_500;
const SHORT_BODY = 160;

/** Imports a module of the old checkout; its modules had the same types. */
async function old<T>(path: string): Promise<T> {
  return (await import(join(OLD, path))) as T;
}
const { openStorage } = await old<typeof import('../storage.ts')>('test/storage.ts');
const { publishRecords, WORLD } = await old<typeof import('../dataset/small-world.ts')>(
  'test/dataset/small-world.ts',
);
const { importBundle } = await old<typeof import('../../src/ingest/import.ts')>('src/ingest/import.ts');
const { forgetUsers } = await old<typeof import('../../src/store/forgotten.ts')>('src/store/forgotten.ts');
const { startServer } = await old<typeof import('../../src/server/start.ts')>('src/server/start.ts');

const folder = await mkdtemp(join(tmpdir(), 'corkboard-fixture-'));
const storage = await openStorage({ store: 'PostgreSQL', resident: false }, folder);
const { store, keyring } = storage;
const url = String(storage.words[1]);

await makeSmall(store);
await makeQuantum(store);
await store.createOrganization('later', { title: 'Later', policy: '{"goal":5}' });
const keys = {
  ...(await makeKeys('small', 7n)),
  ...(await makeKeys('Quantum', 1n)),
  ...(await makeKeys('later', 1n)),
};
let server = await serve();
const dump = execFileSync(
  PG_DUMP,
  ['--schema=corkboard', '--inserts', '--rows-per-insert=500', '--no-owner', '--no-privileges', url],
  { maxBuffer: 2 ** 28 },
);
const before: Captured[] = [];
for (const key of Object.keys(keys)) {
  const named = ORGANIZATIONS[key.split('.')[0]!]!;
  for (const path of pathsOf(named)) before.push(await capture(server.address, keys, key, path));
  for (const path of pagedPathsOf(named))
    before.push(...(await capturePages(server.address, keys, key, path)));
}
for (const [organization, bundle] of Object.entries(INCREMENTS)) {
  const files = join(folder, organization);
  await writeBundle(files, bundle, 'ndjson');
  await load(organization, [files]);
}
// A running server switches to new versions a moment later; a starting one has them at once.
await server.stop();
server = await serve();
const after: Captured[] = [];
for (const { key, path } of laterPathsOf(before)) after.push(await capture(server.address, keys, key, path));
await server.stop();
await writeFile(DUMP, gzipSync(dump, { level: 9 }));
await writeFile(CAPTURED, gzipSync(JSON.stringify({ keys, before, after }), { level: 9 }));
await storage.close();
await rm(folder, { recursive: true });

function serve() {
  return startServer({
    ...{ host: '127.0.0.1', port: 0, defaultVariant: 'a', logLevel: 'silent' },
    ...{ store: storage.served, keyring },
  });
}

async function load(organization: string, paths: readonly string[]): Promise<void> {
  const report = await importBundle({ store, organization, paths });
  if (report.problemCount > 0) throw new Error(JSON.stringify(report.problems[0]));
}

/**
 * Covers everything that the tables can contain at least once. Its ids are derived as before keyed
 * ids.
 */
async function makeSmall(store: Store): Promise<void> {
  await store.createOrganization('small', { title: 'Small world', domain: 'small.example' });
  const { Client } = await import('pg');
  const client = new Client(url);
  await client.connect();
  await client.query("UPDATE corkboard.organizations SET derived_ids = 'plain' WHERE name = 'small'");
  await client.end();
  const rules = [
    { on: 'pin.created', to: 'actor', points: 10 },
    { on: 'pin.visited', to: 'owner', points: 4 },
    { on: 'pin.commented', to: 'actor', points: 5, minWords: 2 },
  ];
  await publishRecords(store, 'small', WORLD, {
    ...{ policy: JSON.stringify({ rules, goal: 30 }), courseLookup: true, lmsUserProperties: ['sis'] },
  });
  await publishRecords(
    store,
    'small',
    {
      users: [{ id: 5n, email: 'eve@x.example', name: 'Eve "Evening" van Dam', lms: { sis: 'E\\5' } }],
      boards: [{ id: 8n, title: 'Eight, renamed' }],
      pins: [{ id: 71n, boardId: 8n, ownerId: UPRIGHT, title: 'Zweiter\tPin', body: "it's\n\\two lines 🌻" }],
      events: [
        {
          type: 'pin',
          action: 'commented',
          ownerId: 5n,
          actorId: 1n,
          boardId: 8n,
          pinId: 71n,
          timestampMs: 9_000,
        },
        {
          id: 44n,
          type: 'pin',
          action: 'visited',
          ownerId: 5n,
          actorId: UPRIGHT,
          boardId: 7n,
          pinId: 70n,
          timestampMs: 100,
        },
      ],
      memberships: [{ boardId: 9n, userId: 1n }],
      adjustments: [{ userId: 5n, boardId: 7n, points: 6, timestampMs: 3_600, reason: 'kind' }],
    },
    {
      policy: JSON.stringify({
        ...{ rules, goal: 30, weeklyMaximum: 12, weekStarts: { day: 'monday', time: '00:00', zone: 'UTC' } },
        boards: { 8: { goal: 40, participationScore: 'points' } },
      }),
      title: 'Small world, later',
    },
  );
  await forgetUsers(store, 'small', [3n], { waitMs: 0 });
  await publishRecords(store, 'small', { users: [{ id: 4n, email: 'member@x.example', name: 'Member' }] });
}

/** The first events of the demo organization, in three publications. */
async function makeQuantum(store: Store): Promise<void> {
  const demo = join(OLD, 'demo');
  const linesOf = async (name: string) =>
    gunzipSync(await readFile(join(demo, name)))
      .toString()
      .trimEnd()
      .split('\n');
  const [heading = '', ...rows] = await linesOf('events.csv.gz');
  const events = rows.slice(0, DEMO_EVENTS);
  const cells = events.map((row) => row.split(','));
  const people = new Set(cells.flatMap(([, , , owner, actor]) => [owner, actor]));
  const pins = new Set(cells.map((row) => row[6]));
  const [userHeading = '', ...users] = await linesOf('users.csv.gz');
  const files = {
    'users.csv': [userHeading, ...users.filter((row) => people.has(row.split(',')[0]))].join('\n'),
    'pins.ndjson': (await linesOf('pins.ndjson.gz'))
      .map((line): { id: number; body: string } => JSON.parse(line))
      .filter(({ id }) => pins.has(String(id)))
      .map((pin) => JSON.stringify({ ...pin, body: pin.body.slice(0, SHORT_BODY) }))
      .join('\n'),
    'boards.csv': (await linesOf('boards.csv.gz')).join('\n'),
    'events.csv': [heading, ...events.slice(0, 1_000)].join('\n'),
  };
  const first = join(folder, 'first');
  await writeBundle(first, EMPTY_BUNDLE, 'csv');
  for (const [name, text] of Object.entries(files)) await writeFile(join(first, name), `${text}\n`);
  await store.createOrganization('Quantum', {
    ...{ title: 'Quantum computing', policy: await readFile(join(demo, 'policy.json'), 'utf8') },
    ...{ userPointsKey: 'board-id', courseLookup: true, lmsUserProperties: ['sis_user_id'] },
  });
  await load('Quantum', [first]);
  for (const [at, part] of [events.slice(1_000, 1_400), events.slice(1_400)].entries()) {
    const next = join(folder, `next-${at}`);
    await writeBundle(next, EMPTY_BUNDLE, 'csv');
    await writeFile(join(next, 'events.csv'), `${[heading, ...part].join('\n')}\n`);
    await load('Quantum', [next]);
  }
  await forgetUsers(store, 'Quantum', [1_000_027n], { waitMs: 0 });
}

async function makeKeys(organization: string, board: bigint): Promise<Record<string, string>> {
  const full = { boards: 'all', users: 'all' } as const;
  const nothing = { email: false, name: false, id: false };
  const make = async (name: string, more: object = {}, expiresMs?: number) => {
    const grant = { organization, label: name, scope: full, redact: nothing, ...more };
    const { key } = await keyring.create(grant, expiresMs);
    return [`${organization}.${name}`, key] as const;
  };
  const idOf = (key: string) => key.split('_')[1]!;
  const made = [
    await make('full'),
    await make('board', { scope: { boards: [board], users: 'of-boards' } }),
    await make('people', { scope: { boards: 'all', users: ORGANIZATIONS[organization]!.users.slice(0, 2) } }),
    await make('redacted', { redact: { email: true, name: true, id: true } }),
    await make('nameless', { redact: { ...nothing, email: true }, allowLmsLookup: true }),
    await make('limited', { rateLimit: { requests: 100_000, perSeconds: 1 } }),
    await make('revoked'),
    await make('rotated'),
    await make('overlapping'),
    await make('expired', {}, Date.now() - 1_000),
  ] as const;
  await keyring.revoke(idOf(made[6][1]));
  const successor = await keyring.rotate(idOf(made[7][1]), 0);
  await keyring.rotate(idOf(made[8][1]), 1e12);
  return { ...Object.fromEntries(made), [`${organization}.successor`]: successor.key };
}
