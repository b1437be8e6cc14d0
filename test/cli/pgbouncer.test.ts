/** The commands behind PgBouncer, which gives connections to clients for a session or less. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { migrate } from '../../src/store/catalog/migrate.ts';
import { PostgresCatalog } from '../../src/store/catalog/postgres-catalog.ts';
import { PostgresDatabase } from '../../src/store/catalog/postgres-database.ts';
import { STEPS } from '../../src/store/catalog/postgres-tables.ts';
import { hasPgBouncer, type PgBouncer, startPgBouncer } from '../postgres/pgbouncer.ts';
import { lacking } from '../recipes/blocks.ts';
import { until } from '../server/stand.ts';
import { newDatabase } from '../shared-servers.ts';
import { run, runJson, temporaryFolder } from './command.ts';
import { ask, serving } from './serving.ts';
import { writeSmallBundle } from './small-bundle.ts';
import '../without-coverage.ts';

const SCHOOL = ['--organization', 'school'];
const RESPONSES = ['/v1/events', '/v1/boards', '/v1/users', '/v1/events?format=csv'];
const skip = lacking(['PgBouncer', hasPgBouncer]);
const folder = temporaryFolder();

/** Asks the database itself. */
async function query(database: string, text: string): Promise<unknown[]> {
  const client = new Client(database);
  await client.connect();
  try {
    return (await client.query({ text, rowMode: 'array' })).rows.flat();
  } finally {
    await client.end();
  }
}

const TABLES = `SELECT schemaname || '.' || tablename FROM pg_tables
  WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`;

/** Options of a machine of its own, which has no versions yet. */
function at(database: string): readonly string[] {
  return ['--database', database, '--cache', join(folder, randomUUID())];
}

for (const [name, settings] of [
  ['session mode', { pool_mode: 'session' }],
  ['transaction mode', { pool_mode: 'transaction' }],
  ['transaction mode with three connections', { pool_mode: 'transaction', default_pool_size: 3 }],
] as const) {
  describe(`PgBouncer in ${name}`, { skip }, () => {
    let direct: string;
    let pooled: PgBouncer;
    before(async () => {
      direct = await newDatabase('empty');
      pooled = await startPgBouncer(direct, settings);
    });
    after(() => pooled?.close());

    it('lets several migrations run at once, and all tables come into the schema', async () => {
      const databases = Array.from({ length: 3 }, () => new PostgresDatabase(pooled.url));
      const done = await Promise.all(databases.map(migrate));
      for (const database of databases) await database.close();
      assert.deepEqual(
        done.flatMap(({ steps }) => steps),
        Object.keys(STEPS).map(Number),
      );
      const tables = (await query(direct, TABLES)).map(String);
      assert.ok(tables.includes('corkboard.organizations'));
      assert.deepEqual(
        tables.filter((table) => !table.startsWith('corkboard.')),
        [],
      );
      // PgBouncer keeps its connections, and with them a lock that is not given back.
      assert.deepEqual(await query(direct, "SELECT FROM pg_locks WHERE locktype = 'advisory'"), []);
    });

    it('serves the same bytes as the database, and a new version when it is published', async (t) => {
      const bundle = writeSmallBundle(join(folder, randomUUID()));
      await runJson(['import', bundle, ...SCHOOL, ...at(pooled.url)]);
      const { key } = await runJson(['keys', 'create', ...SCHOOL, '--database', pooled.url]);
      const serve = ['serve', '--workers', '1'];
      const servers = await Promise.all([
        serving(t, [...serve, ...at(pooled.url)]),
        serving(t, [...serve, ...at(direct)]),
      ]);
      const [url = '', directUrl = ''] = servers.map(({ printed }) => printed['Variant A']);
      for (const path of RESPONSES) {
        const response = await ask(url + path, key);
        assert.equal(response.status, 200);
        assert.equal(response.body, (await ask(directUrl + path, key)).body);
      }
      const more = writeSmallBundle(bundle, { 'boards.csv': 'id,title\n8,Logic\n' });
      await runJson(['import', more, ...SCHOOL, ...at(pooled.url)]);
      await until(async () => (await ask(`${url}/v1/boards`, key)).body.includes('"Logic"'));

      const environment = { CORKBOARD_SYNC_KEY: key };
      for (const expected of [/^3 events copied/, /^Nothing has changed/]) {
        const { stdout, stderr } = await run(['sync', url, '--to', pooled.url], { environment });
        assert.match(stdout, expected, stderr);
      }
      assert.deepEqual(await query(direct, 'SELECT count(*)::int FROM community.events'), [3]);
    });

    it('lets check find everything intact', async () => {
      const { code, stdout } = await run(['check', ...at(pooled.url)]);
      assert.equal(code, 0, stdout);
      assert.match(stdout, /Checked 1 organization and found no damage/);
    });

    it('gives the turn to publish to one import at a time', async () => {
      const catalogs = [0, 1].map(() => new PostgresCatalog(new PostgresDatabase(pooled.url)));
      const [one, other] = catalogs as [PostgresCatalog, PostgresCatalog];
      try {
        const { organization } = await one.sharing('school');
        const lease = await one.lease(organization, { waitMs: 0 });
        await assert.rejects(other.lease(organization, { waitMs: 0 }), { code: 'organization-busy' });
        await lease.release();
        await (await other.lease(organization, { waitMs: 0 })).release();
      } finally {
        for (const catalog of catalogs) await catalog.close();
      }
    });
  });
}

describe('PgBouncer in statement mode', { skip }, () => {
  const refusal =
    'corkboard: PgBouncer allows no transactions for this database. Set its pool_mode to transaction or session.\n';

  it('is refused by every command before anything is written', async (t) => {
    const direct = await newDatabase('migrated');
    await query(direct, "INSERT INTO corkboard.chunks VALUES ('only', '')");
    const pooled = await startPgBouncer(direct, { pool_mode: 'statement' });
    t.after(() => pooled.close());
    const bundle = writeSmallBundle(join(folder, randomUUID()));
    for (const words of [
      ['migrate', '--database', pooled.url],
      ['import', bundle, ...SCHOOL, ...at(pooled.url)],
      ['keys', 'create', ...SCHOOL, '--database', pooled.url],
      ['serve', '--workers', '1', ...at(pooled.url)],
    ]) {
      assert.deepEqual(await run(words), { code: 1, stdout: '', stderr: refusal }, words[0]);
    }
    assert.deepEqual(await query(direct, 'SELECT name FROM corkboard.chunks'), ['only']);
    assert.deepEqual(await query(direct, 'SELECT name FROM corkboard.organizations'), []);
  });

  it('is refused by migrate without a schema, and by sync without a copy', async (t) => {
    const direct = await newDatabase('empty');
    const pooled = await startPgBouncer(direct, { pool_mode: 'statement' });
    t.after(() => pooled.close());
    const environment = { CORKBOARD_SYNC_KEY: 'key' };
    for (const result of [
      await run(['migrate', '--database', pooled.url]),
      await run(['sync', 'http://127.0.0.1:1/a', '--to', pooled.url], { environment }),
    ]) {
      assert.deepEqual(result, { code: 1, stdout: '', stderr: refusal });
    }
    const schemas = "SELECT nspname FROM pg_namespace WHERE nspname IN ('corkboard', 'community')";
    assert.deepEqual(await query(direct, schemas), []);
  });
});
