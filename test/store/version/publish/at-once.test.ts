/** A version that is built in small portions has the same rows as one that is built at once. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { type AtOnce, buildMemory } from '../../../../src/store/build-memory.ts';
import { openSqliteCatalog } from '../../../../src/store/catalog/sqlite-catalog.ts';
import { LocalFiles } from '../../../../src/store/files/local-files.ts';
import { VersionStore } from '../../../../src/store/files/version-store.ts';
import { publishRecords, type Records } from '../../../dataset/small-world.ts';

const TABLES = [
  ...['users', 'boards', 'pins', 'events', 'board_events', 'actor_events', 'board_people'],
  ...['awards', 'standings', 'out_of_order'],
];
const BOARDS = 7;
const USERS = 23;
const DAY_MS = 86_400_000;
const POLICY = JSON.stringify({
  rules: [
    { on: 'pin.commented', to: 'actor', points: 5 },
    { on: 'pin.commented', to: 'owner', points: 2 },
  ],
  weeklyMaximum: 20,
  boards: { 3: { weeklyMaximum: 7, weekStarts: { day: 'friday', time: '18:00', zone: 'Europe/Berlin' } } },
});

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corkboard-at-once-'));
});
after(() => rm(folder, { recursive: true }));

const ids = (count: number) => Array.from({ length: count }, (_, at) => BigInt(at));

function userOf(id: bigint) {
  const email = `user${id}@x.example`;
  return id % 2n === 0n
    ? { id, email, firstName: `First ${id}`, lastName: 'Last' }
    : { id, email, name: `Whole ${id}` };
}

/** Before and after 1970, with several events at the same time. */
function eventOf(id: bigint) {
  const place = Number(id);
  const follows = place % 11 === 0;
  return {
    ...{ id, type: follows ? 'board' : 'pin', timestampMs: (((place * 37) % 101) - 50) * DAY_MS },
    action: follows ? (place % 3 === 0 ? 'unfollowed' : 'followed') : 'commented',
    ...{
      ownerId: (id * 5n) % BigInt(USERS),
      actorId: (id * id) % BigInt(USERS),
      boardId: id % BigInt(BOARDS),
    },
    ...(!follows && { pinId: id % BigInt(BOARDS) }),
  };
}

const FIRST: Records = {
  // Some users occur twice, with other forms of their names.
  users: [...ids(USERS).map(userOf), ...ids(9).map((id) => ({ id, name: `Second ${id}` }))],
  boards: ids(BOARDS).map((id) => ({ id, title: `Board ${id}` })),
  // Some pins occur twice, so that new ones are sorted, and no boards, which are not.
  pins: [...ids(BOARDS), ...ids(3)].map((id) => ({ id, boardId: id, ownerId: id, title: `Pin ${id}` })),
  events: ids(400).map(eventOf),
  adjustments: [{ userId: 1n, boardId: 6n, points: 3, timestampMs: 5, reason: 'more' }],
};

const SECOND: Records = {
  users: ids(USERS).map((id) => ({ id, name: id % 3n === 0n ? `Third ${id}` : undefined })),
  events: ids(60).map((at) => eventOf(at + 390n)),
};

async function rowsOf(name: string, change: Partial<AtOnce>): Promise<Record<string, unknown>> {
  const data = join(folder, name);
  const catalog = openSqliteCatalog(data);
  const memory = buildMemory();
  const atOnce = { ...memory.atOnce, ...change };
  const store = new VersionStore(catalog, new LocalFiles(data, catalog), { ...memory, atOnce });
  await store.createOrganization('school', { policy: POLICY });
  for (const records of [FIRST, SECOND])
    assert.deepEqual((await publishRecords(store, 'school', records)).problems, []);
  await store.close();
  const file = join(data, 'organizations', 'school', 'generations', '2.duckdb');
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  const rows: Record<string, unknown> = {};
  for (const table of TABLES)
    rows[table] = (await connection.runAndReadAll(`FROM ${table} ORDER BY ALL`)).getRows();
  rows['steps back'] = (
    await connection.runAndReadAll(
      `SELECT count(*) FROM (SELECT timestamp_ms < lag(timestamp_ms) OVER (ORDER BY rowid) AS back FROM events
       WHERE publication = 1) WHERE back`,
    )
  ).getRows();
  rows['out of place'] = (
    await connection.runAndReadAll(
      `FROM boards SELECT id WHERE ix <> id UNION ALL FROM pins SELECT id WHERE ix <> id`,
    )
  ).getRows();
  connection.closeSync();
  instance.closeSync();
  return rows;
}

it('a version in small portions of events, awards, users on boards or users is the same as in one', async () => {
  const expected = await rowsOf('whole', {});
  assert.deepEqual(expected['steps back'], [[0n]]);
  assert.deepEqual(expected['out of place'], []);
  for (const [name, portions] of [
    ['events', { events: 13 }],
    ['awards', { candidates: 17 }],
    ['pairs', { pairs: 5 }],
    ['users', { userBytes: 1_500 }],
  ] as const) {
    assert.deepEqual(await rowsOf(name, portions), expected, name);
  }
});

it('tables that are computed again because many events are new are the same as updated ones', async () => {
  const { out_of_order: ofUpdates, ...updated } = await rowsOf('updated', {});
  const { out_of_order: ofAll, ...computed } = await rowsOf('computed', { bytesOfUpdate: 2 ** 40 });
  assert.deepEqual(computed, updated);
  assert.notDeepEqual(ofAll, ofUpdates);
});
