import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { CITUS_STATEMENTS, distribute } from '../../src/dataset/postgres/citus.ts';
import { Database } from '../../src/dataset/postgres/database.ts';
import { checkMigrations, migrate } from '../../src/dataset/postgres/migrate.ts';
import { MIGRATIONS } from '../../src/dataset/postgres/migrations.ts';
import { startPostgres, type Throwaway } from '../postgres/throwaway.ts';

const ALL = MIGRATIONS.map(({ number }) => number);
/** Of a version to come. */
const NEXT = { number: ALL.length + 1, sql: 'CREATE TABLE later (organization INTEGER)' };
const LATER = [...MIGRATIONS, NEXT];

let postgres: Throwaway;
let url: string;
let database: Database;

before(async () => {
  postgres = await startPostgres();
});

after(() => postgres.stop());

beforeEach(async () => {
  url = await postgres.newDatabase();
  database = new Database(url);
});

afterEach(() => database.close());

const unreadable = (message: RegExp) => ({ name: 'AppError', code: 'data-unreadable', message });

/** Of the schema, without partitions of others. */
async function tables(): Promise<unknown[]> {
  const rows = await database.rows(
    `SELECT relname::text FROM pg_class WHERE relnamespace = to_regnamespace('corkboard')
     AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname`,
  );
  return rows.map(([name]) => name);
}

describe('the steps of the schema', () => {
  it('are numbered from 1, without a gap', () => {
    assert.deepEqual(
      ALL,
      ALL.map((_, index) => index + 1),
    );
  });

  it('are done once, in order, and told', async () => {
    assert.deepEqual(await migrate(database), ALL);
    assert.deepEqual(await migrate(database), []);
    assert.deepEqual(
      await database.rows('SELECT number FROM migrations ORDER BY number'),
      ALL.map((number) => [number]),
    );
    assert.ok((await tables()).includes('events'));
  });

  it('are done once by two that start at once', async () => {
    const other = new Database(url);
    const done = await Promise.all([migrate(database), migrate(other), migrate(database), migrate(other)]);
    assert.deepEqual(done.flat().toSorted(), ALL);
    await other.close();
  });

  it('go on where they ended', async () => {
    await migrate(database);
    assert.deepEqual(await migrate(database, LATER), [NEXT.number]);
    assert.ok((await tables()).includes('later'));
  });

  it('leave nothing behind when one fails', async () => {
    await database.rows('CREATE SCHEMA corkboard');
    await database.rows('CREATE TABLE corkboard.standings (of_somebody_else INTEGER)');
    await assert.rejects(migrate(database), /standings/);
    assert.deepEqual(await tables(), ['standings']);
  });

  it('need no right to make a schema where there is one', async () => {
    await database.rows('CREATE ROLE limited LOGIN');
    await database.rows('CREATE SCHEMA corkboard AUTHORIZATION limited');
    const limited = new Database(url.replace('test@', 'limited@'));
    assert.deepEqual(await migrate(limited), ALL);
    await limited.close();
  });
});

describe('a server', () => {
  it('is refused on a database without tables, and told what mends it', async () => {
    await assert.rejects(checkMigrations(database), unreadable(/no tables.*"corkboard migrate"/));
  });

  it('is refused on one that is older, and told what mends it', async () => {
    await migrate(database);
    await assert.rejects(
      checkMigrations(database, LATER),
      unreadable(/older Corkboard.*"corkboard migrate"/),
    );
    await migrate(database, LATER);
    await checkMigrations(database, LATER);
  });

  it('is refused on one that is newer, and so is its migration', async () => {
    await migrate(database);
    await migrate(database, LATER);
    await assert.rejects(checkMigrations(database), unreadable(/newer Corkboard/));
    await assert.rejects(migrate(database), unreadable(/newer Corkboard/));
  });

  it('is let in when all is done', async () => {
    await migrate(database);
    await checkMigrations(database);
  });
});

describe('Citus', () => {
  /** The functions of Citus that we call, with the same parameters; they write down what they were asked. */
  const STUB = `
    CREATE TABLE corkboard.pg_dist_partition (logicalrelid regclass);
    CREATE FUNCTION corkboard.create_distributed_table(
      table_name regclass, distribution_column text, distribution_type text DEFAULT 'hash',
      colocate_with text DEFAULT 'default', shard_count integer DEFAULT NULL
    ) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = table_name AND attname = distribution_column) THEN
        RAISE 'no such column';
      END IF;
      IF colocate_with <> 'default' THEN
        PERFORM FROM corkboard.pg_dist_partition WHERE logicalrelid = colocate_with::regclass;
        IF NOT FOUND THEN RAISE 'not distributed'; END IF;
      END IF;
      INSERT INTO corkboard.pg_dist_partition VALUES (table_name);
    END $$`;

  it('is missed in words where it is not', async () => {
    await migrate(database);
    await assert.rejects(distribute(database), unreadable(/no Citus.*CREATE EXTENSION citus/));
  });

  it('gets every table of records, each once', async () => {
    await migrate(database);
    const records = await database.rows(
      `SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'organization'
       WHERE c.relnamespace = to_regnamespace('corkboard') AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND a.atttypid = 'integer'::regtype AND c.relname NOT IN ('organizations', 'versions')`,
    );
    assert.deepEqual(
      [...CITUS_STATEMENTS.keys()].toSorted(),
      records.map(([name]) => String(name)).toSorted(),
    );
    const session = await database.open();
    await session.run(STUB);
    session.close();
    assert.deepEqual(await distribute(database), [...CITUS_STATEMENTS.keys()]);
    assert.deepEqual(await distribute(database), []);
  });
});
