/** The views in version files: the same rows as the API, in DuckDB. */
import assert from 'node:assert/strict';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { openFolderStore } from '../../../../src/store/files/open-folder.ts';
import type { VersionStore } from '../../../../src/store/files/version-store.ts';
import { forgetUsers } from '../../../../src/store/forgotten.ts';
import { checkVersion } from '../../../../src/store/version/read/version-check.ts';
import { BOARDS, EVENTS, USERS } from '../../../../src/sync/tables.ts';
import { VIEWS } from '../../../../src/sync/views.ts';
import { publishRecords, WORLD } from '../../../dataset/small-world.ts';
import { ORGANIZATION, openStand, type Stand } from '../../../server/stand.ts';

type Row = Readonly<Record<string, unknown>>;

const RECORDS = {
  ...WORLD,
  pins: [
    ...(WORLD.pins ?? []),
    { id: 71n, boardId: 8n, ownerId: 1n, title: '', tags: ['ä "b"\\', '\u2028', ''] },
    { id: -72n, boardId: 8n, ownerId: 3n, title: 'x\ny', webUrl: 'https://x.example/?a=1&b' },
  ],
  events: [
    ...(WORLD.events ?? []),
    ...[71n, -72n].map((pinId) => ({
      ...{ type: 'pin', action: 'visited', ownerId: 1n, actorId: 4n, boardId: 8n, pinId },
      timestampMs: -62_135_596_799_999,
    })),
    ...[86_399_999, 86_400_000].map((timestampMs) => ({
      ...{ type: 'board', action: 'followed', ownerId: 1n, actorId: 3n, boardId: 8n, timestampMs },
    })),
  ],
};

let folder: string;
let stand: Stand;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corkboard-views-'));
  stand = await openStand({ records: RECORDS });
});
after(async () => {
  await stand.close();
  await rm(folder, { recursive: true });
});

const fileOf = (data: string, version: number) =>
  join(data, 'organizations', ORGANIZATION, 'generations', `${version}.duckdb`);

/** Queries a copy of a version, attached to a database that has tables of the same names. */
async function queryFile(file: string, sql: string): Promise<readonly Row[]> {
  const copy = join(folder, 'copy.duckdb');
  await copyFile(file, copy);
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run(`SET TimeZone = 'Asia/Tokyo';
      CREATE TABLE events (x INTEGER); CREATE SCHEMA bi; CREATE TABLE bi.events (y INTEGER);
      ATTACH '${copy}' AS school (READ_ONLY);`);
    return (await connection.runAndReadAll(sql)).getRowObjectsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

async function query(sql: string): Promise<readonly Row[]> {
  return await queryFile(fileOf(join(stand.folder, 'data'), 1), sql);
}

/** The rows of a Parquet response, as DuckDB reads them. */
async function parquetOf(path: string): Promise<string> {
  const response = await stand.get(`${path}?format=parquet`);
  assert.equal(response.status, 200);
  const file = join(folder, `${path.replaceAll('/', '-')}.parquet`);
  await writeFile(file, Buffer.from(await response.arrayBuffer()));
  return `read_parquet('${file}')`;
}

const namesOf = ([row = {}]: readonly Row[]) => Object.keys(row);

describe('the views in a version file', () => {
  it('have the rows of events, users, boards and points of the API', async () => {
    // JSON in Parquet files.
    const tags = `REPLACE (from_json(pin_tags, '["VARCHAR"]') AS pin_tags)`;
    for (const [view, path, columns] of [
      [
        'SELECT * EXCLUDE (sequence) FROM school.bi.events ORDER BY "timestamp", sequence',
        '/a/v1/events',
        `* ${tags}`,
      ],
      ['SELECT id, first_name, last_name, email FROM school.bi.users ORDER BY id', '/a/v1/users', '*'],
      ['SELECT id, email, role, name FROM school.bi.users ORDER BY id', '/b/v1/users', '*'],
      ['SELECT id, title, category FROM school.bi.boards ORDER BY id', '/b/v1/boards', '*'],
      ['FROM school.bi.points ORDER BY board_id, user_id', '/insights/v1/points', '*'],
    ] as const) {
      const expected = await query(`SELECT ${columns} FROM ${await parquetOf(path)}`);
      const rows = await query(view);
      assert.ok(expected.length > 2, path);
      assert.deepEqual(rows, expected, path);
      assert.deepEqual(namesOf(rows), namesOf(expected));
    }
  });

  it('have the activity of each day in UTC, whatever the time zone of the session', async () => {
    const events: {
      type: string;
      action: string;
      timestamp: string;
      actor: { id: number };
      board: { id: number; title: string; category: string };
    }[] = JSON.parse(await (await stand.get('/a/v1/events')).text());
    const groups = Map.groupBy(events, ({ timestamp, board, type, action }) =>
      [timestamp.slice(0, 10), board.id, type, action].join(),
    );
    const expected = [...groups.values()].map((of) => {
      const [{ timestamp, board, type, action }] = of as [(typeof events)[number]];
      return {
        ...{ day: timestamp.slice(0, 10), board_id: `${board.id}`, board_title: board.title },
        ...{ board_category: board.category, type, action },
        ...{ events: `${of.length}`, people: `${new Set(of.map(({ actor }) => actor.id)).size}` },
      };
    });
    const rows = await query('FROM school.bi.activity_daily');
    const sorted = (some: readonly Row[]) => some.map((row) => JSON.stringify(row)).sort();
    assert.deepEqual(sorted(rows), sorted(expected));
    assert.ok(rows.some(({ events: count }) => count !== '1'));
  });

  it('have the names and the types of the tables and views of copies', async () => {
    const described = async (view: string) =>
      (await query(`SELECT column_name, column_type FROM (DESCRIBE school.bi.${view})`)).map(
        ({ column_name, column_type }) => `${column_name} ${column_type}`,
      );
    const types = {
      ...{ integer: 'BIGINT', text: 'VARCHAR', texts: 'VARCHAR[]' },
      instant: 'TIMESTAMP WITH TIME ZONE',
    };
    for (const { name, columns } of [EVENTS, USERS, BOARDS]) {
      const expected = columns.map((column) => `${column.name} ${types[column.type]}`);
      if (name === 'events') expected[0] = 'sequence BIGINT';
      assert.deepEqual(await described(name), expected);
    }
    const daily = VIEWS.find(({ name }) => name === 'activity_daily');
    assert.deepEqual(
      (await described('activity_daily')).map((column) => column.split(' ')[0]),
      daily?.columns.map(({ name }) => name),
    );
  });
});

describe('a version file', () => {
  const VIEWS_OF =
    "SELECT view_name, sql, comment FROM duckdb_views() WHERE database_name = 'school' AND NOT internal";
  let data: string;
  let store: VersionStore;
  before(async () => {
    data = await mkdtemp(join(tmpdir(), 'corkboard-views-'));
    store = await openFolderStore(data);
    await store.createOrganization(ORGANIZATION, {});
    await publishRecords(store, ORGANIZATION, RECORDS);
  });
  after(async () => {
    await store.close();
    await rm(data, { recursive: true });
  });

  it('gets its views again if it lacks them, or has those of a different version of Corkboard', async () => {
    const made = await queryFile(fileOf(data, 1), VIEWS_OF);
    assert.equal(made.length, 5);
    for (const [version, sql] of [
      [1, 'DROP SCHEMA bi CASCADE'],
      [2, 'CREATE OR REPLACE VIEW bi.points AS SELECT 1 AS one; CREATE VIEW bi.later AS SELECT 2 AS two'],
      [3, 'DROP VIEW bi.events; CREATE TABLE bi.events (x INTEGER)'],
    ] as const) {
      const instance = await DuckDBInstance.create(fileOf(data, version));
      const connection = await instance.connect();
      await connection.run(sql);
      connection.closeSync();
      instance.closeSync();
      assert.notDeepEqual(await queryFile(fileOf(data, version), VIEWS_OF), made);
      await publishRecords(store, ORGANIZATION, {
        users: [{ id: 1n, email: `ann${version}@x.example`, name: 'Ann' }],
      });
      assert.deepEqual(await queryFile(fileOf(data, version + 1), VIEWS_OF), made);
    }
  });

  it('keeps its views when a user is erased, of whom they show nothing', async () => {
    await forgetUsers(store, ORGANIZATION, [4n], { waitMs: 0 });
    const users = await queryFile(fileOf(data, 5), 'SELECT email, name FROM school.bi.users WHERE id = 4');
    assert.equal(users.length, 1);
    assert.doesNotMatch(JSON.stringify(users), /mem@|Member/);
    const [events] = await queryFile(fileOf(data, 5), 'SELECT count(*) AS n FROM school.bi.events');
    assert.equal(Number(events?.['n']), RECORDS.events.length - 2);
  });

  it('passes the check of the store', async () => {
    const { file } = await store.original(ORGANIZATION);
    assert.deepEqual((await checkVersion(file!)).problems, []);
    file!.release();
  });
});
