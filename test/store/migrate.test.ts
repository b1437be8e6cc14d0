/** The tables of a shared store: created once, migrated, and those of version 0.1 beside them. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { checkMigrations, migrate, SCHEMA_OF_ROWS } from '../../src/store/catalog/migrate.ts';
import { PostgresDatabase } from '../../src/store/catalog/postgres-database.ts';
import { STEPS } from '../../src/store/catalog/postgres-tables.ts';
import { newDatabase } from '../shared-servers.ts';

const NAMES = Object.keys(STEPS);
const ALL = NAMES.map(Number);

let url: string;
let database: PostgresDatabase;

beforeEach(async () => {
  url = await newDatabase('empty');
  database = new PostgresDatabase(url);
});

afterEach(() => database.close());

const unreadable = (message: RegExp) => ({ name: 'AppError', code: 'data-unreadable', message });

async function tablesOf(schema: string): Promise<unknown[]> {
  const rows = await database.rows(
    `SELECT relname::text FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind = 'r'
     ORDER BY relname`,
    [schema],
  );
  return rows.flat();
}

const stepsDone = async () =>
  (await database.rows('SELECT name FROM corkboard.steps ORDER BY name')).flat().map(Number);

describe('the steps of the schema', () => {
  it('are numbered from 1 without a gap, in names that sort', () => {
    assert.deepEqual(
      NAMES,
      NAMES.map((_, index) => String(index + 1).padStart(4, '0')),
    );
  });

  it('run once, in order, and are reported', async () => {
    assert.deepEqual(await migrate(database), { steps: ALL, setAside: false });
    const [id] = await database.rows('SELECT id FROM catalog');
    assert.deepEqual(await migrate(database), { steps: [], setAside: false });
    assert.deepEqual(await stepsDone(), ALL);
    assert.deepEqual(await database.rows('SELECT id FROM catalog'), [id]);
    const tables = await tablesOf('corkboard');
    for (const table of ['catalog', 'chunks', 'keys', 'leases', 'organizations', 'versions'])
      assert.ok(tables.includes(table), table);
  });

  it('run once if several processes start at the same time', async () => {
    const others = Array.from({ length: 3 }, () => new PostgresDatabase(url));
    const done = await Promise.all([database, ...others].map(migrate));
    assert.deepEqual(
      done.flatMap(({ steps }) => steps),
      ALL,
    );
    assert.deepEqual(await stepsDone(), ALL);
    for (const other of others) await other.close();
  });

  it('leave nothing behind if one fails', async () => {
    await database.rows('CREATE SCHEMA corkboard');
    await database.rows('CREATE TABLE corkboard.keys (of_another_program INTEGER)');
    await assert.rejects(migrate(database), /keys/);
    const tables = await tablesOf('corkboard');
    assert.deepEqual(
      tables.filter((table) => !String(table).startsWith('steps')),
      ['keys'],
    );
    await database.rows('DROP TABLE corkboard.keys');
    assert.deepEqual((await migrate(database)).steps, ALL);
  });

  it('do not require the right to create a schema if the schema exists', async () => {
    await database.rows('CREATE ROLE limited LOGIN');
    await database.rows('CREATE SCHEMA corkboard AUTHORIZATION limited');
    const limited = new PostgresDatabase(url.replace('test@', 'limited@'));
    assert.deepEqual(await migrate(limited), { steps: ALL, setAside: false });
    await checkMigrations(limited);
    await assert.rejects(limited.rows('CREATE SCHEMA another'), /permission denied/);
    await limited.close();
  });
});

describe('a server', () => {
  it('is refused on a database without tables, with the command that creates them', async () => {
    await assert.rejects(checkMigrations(database), unreadable(/no tables.*"corkboard migrate"/));
    assert.deepEqual(await tablesOf('corkboard'), []);
  });

  it('is refused on a database that lacks a step, with the command that runs it', async () => {
    await migrate(database);
    // As an older version leaves it: with some of the steps.
    await database.rows("UPDATE corkboard.steps SET name = '0000' WHERE name = $1", [NAMES.at(-1)!]);
    const steps: Record<string, unknown> = STEPS;
    steps['0000'] = steps['0001'];
    try {
      await assert.rejects(checkMigrations(database), unreadable(/older Corkboard.*"corkboard migrate"/));
    } finally {
      delete steps['0000'];
    }
  });

  it('is refused on a newer database, and so is its migration', async () => {
    await migrate(database);
    await database.rows("INSERT INTO corkboard.steps VALUES ('9999', 'later')");
    await assert.rejects(checkMigrations(database), unreadable(/newer Corkboard/));
    await assert.rejects(migrate(database), unreadable(/newer Corkboard/));
  });

  it('is accepted once all steps are done', async () => {
    await migrate(database);
    await checkMigrations(database);
  });
});

describe('a database of version 0.1', () => {
  beforeEach(async () => {
    for (const statement of [
      'CREATE SCHEMA corkboard',
      'CREATE TABLE corkboard.migrations (number INTEGER PRIMARY KEY, done_ms BIGINT)',
      'INSERT INTO corkboard.migrations SELECT n, 1 FROM generate_series(1, 9) n',
      'CREATE TABLE corkboard.organizations (organization INTEGER, name TEXT, secret BYTEA)',
      String.raw`INSERT INTO corkboard.organizations VALUES (1, 'school', '\x0102')`,
      'CREATE TABLE corkboard.events (organization INTEGER, id BIGINT) PARTITION BY LIST (organization)',
      'CREATE TABLE corkboard.events_1 PARTITION OF corkboard.events FOR VALUES IN (1)',
      'INSERT INTO corkboard.events SELECT 1, n FROM generate_series(1, 1000) n',
      'CREATE TABLE corkboard.keys (id TEXT, digest BYTEA)',
      String.raw`INSERT INTO corkboard.keys VALUES ('abc', '\x03')`,
    ]) {
      await database.rows(statement);
    }
  });

  const contents = async (schema: string) =>
    await Promise.all(
      ['migrations', 'organizations', 'events', 'keys'].map(async (table) =>
        (await database.rows(`SELECT t::text FROM ${schema}.${table} t`)).flat(),
      ),
    );

  it('is refused by servers, with the command that migrates it', async () => {
    await assert.rejects(checkMigrations(database), unreadable(/Corkboard 0\.1.*"corkboard migrate"/));
  });

  it('is set aside as a whole by the migration, once, beside the new tables', async () => {
    const before = await contents('corkboard');
    assert.deepEqual(await migrate(database), { steps: ALL, setAside: true });
    assert.deepEqual(await contents(SCHEMA_OF_ROWS), before);
    await checkMigrations(database);
    assert.deepEqual(await database.rows('SELECT FROM organizations'), []);
    assert.deepEqual(await migrate(database), { steps: [], setAside: false });
    assert.deepEqual(await contents(SCHEMA_OF_ROWS), before);
  });

  it('is set aside once by two migrations at the same time', async () => {
    const before = await contents('corkboard');
    const other = new PostgresDatabase(url);
    const done = await Promise.all([migrate(database), migrate(other)]);
    assert.equal(done.filter(({ setAside }) => setAside).length, 1);
    assert.deepEqual(
      done.flatMap(({ steps }) => steps),
      ALL,
    );
    assert.deepEqual(await contents(SCHEMA_OF_ROWS), before);
    await other.close();
  });
});
