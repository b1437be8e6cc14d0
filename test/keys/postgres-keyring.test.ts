import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { NO_REDACTION } from '../../src/domain/redaction.ts';
import type { Keyring } from '../../src/keys/keyring.ts';
import { type KeyDatabase, openPostgresKeyring } from '../../src/keys/postgres-keyring.ts';
import { migrate } from '../../src/store/catalog/migrate.ts';
import { PostgresDatabase } from '../../src/store/catalog/postgres-database.ts';
import { startPostgres, type Throwaway } from '../postgres/throwaway.ts';
import { until } from '../server/stand.ts';
import { GRANT, refused, testKeyring } from './keyring-contract.ts';

const NOTICE_MS = 500;

let postgres: Throwaway;
let url: string;
let database: PostgresDatabase;

before(async () => {
  postgres = await startPostgres();
  url = await postgres.newDatabase();
  database = new PostgresDatabase(url);
  await migrate(database);
});

after(async () => {
  await database.close();
  await postgres.stop();
});

async function countChanges(): Promise<number> {
  const [row] = await database.rows('SELECT changes FROM key_changes');
  return Number(row?.[0]);
}

describe('the keyring in PostgreSQL', () => {
  testKeyring({
    noticeMs: NOTICE_MS,
    place: async () => ({
      open: (now) => openPostgresKeyring(new PostgresDatabase(url), now, now),
      contents: async () => String(await database.rows('SELECT keys::text FROM keys')),
      remove: async () => {
        await database.rows('TRUNCATE corkboard.keys');
      },
    }),
  });
});

it('a migration withdraws LMS ids, which keys that redact nothing could not see before', async () => {
  const from = await postgres.newDatabase();
  const old = new PostgresDatabase(from);
  await migrate(old);
  const keyring = openPostgresKeyring(new PostgresDatabase(from));
  const redact = { email: false, name: true, id: false };
  const seeing = await keyring.create({ ...GRANT, redact: NO_REDACTION, allowLmsLookup: true }, undefined);
  const redacting = await keyring.create({ ...GRANT, redact, allowLmsLookup: true }, undefined);
  await old.rows("DELETE FROM corkboard.steps WHERE name >= '0004'");
  await old.rows('ALTER TABLE corkboard.keys DROP lms_splits');
  await old.rows('DROP TABLE corkboard.removals');
  assert.deepEqual((await migrate(old)).steps, [4, 5, 6]);
  const allowed = new Map((await keyring.list()).map(({ id, allowLmsLookup }) => [id, allowLmsLookup]));
  assert.deepEqual(
    [seeing, redacting].map(({ entry }) => allowed.get(entry.id)),
    [false, true],
  );
  await keyring.close();
  await old.close();
});

/** The same database; appends every statement to `asked`. */
function listening(asked: string[]): KeyDatabase {
  const inner = new PostgresDatabase(url);
  return {
    rows: (sql, parameters) => {
      asked.push(sql);
      return inner.rows(sql, parameters);
    },
    session: (use) => inner.session(use),
    close: () => inner.close(),
  };
}

describe('a server that looks up keys', () => {
  let nowMs: number;
  let asked: string[];
  let server: Keyring;
  const now = () => nowMs;

  beforeEach(() => {
    nowMs = Date.UTC(2026, 0, 1);
    asked = [];
    server = openPostgresKeyring(listening(asked), now, now);
  });

  afterEach(() => server.close());

  it('queries the database about a known key at most every half second, once for all requests', async () => {
    const { key } = await server.create(GRANT, undefined);
    await server.find(key);
    asked.length = 0;
    for (let count = 0; count < 100; count++) await server.find(key);
    nowMs += NOTICE_MS - 1;
    await server.find(key);
    assert.equal(asked.length, 0);
    nowMs += 1;
    await Promise.all(Array.from({ length: 100 }, () => server.find(key)));
    assert.deepEqual(asked, ['SELECT changes FROM key_changes']);
  });

  it('finds a new key at once', async () => {
    const { key } = await server.create(GRANT, undefined);
    await server.find(key);
    const other = openPostgresKeyring(new PostgresDatabase(url), now, now);
    const { key: fresh, entry } = await other.create(GRANT, undefined);
    assert.equal((await server.find(fresh)).id, entry.id);
    await other.close();
  });

  it('is notified of every change of a key, but not of its use', async () => {
    const start = await countChanges();
    const { key, entry } = await server.create(GRANT, undefined);
    assert.equal(await countChanges(), start + 1);
    await server.rotate(entry.id, 1000);
    assert.equal(await countChanges(), start + 2);
    await server.revoke(entry.id);
    assert.equal(await countChanges(), start + 3);
    const found = await server.create(GRANT, undefined);
    server.recordUse(await server.find(found.key));
    await until(async () => (await server.list()).some(({ lastUsedMs }) => lastUsedMs === nowMs));
    assert.equal(await countChanges(), start + 4);
    await assert.rejects(server.find(key), refused('key-revoked'));
  });

  it('is not notified of a change that was refused', async () => {
    const { entry } = await server.create(GRANT, undefined);
    await server.revoke(entry.id);
    const start = await countChanges();
    await assert.rejects(server.rotate(entry.id, 0), refused('key-revoked'));
    assert.equal(await countChanges(), start);
  });

  it('writes the uses of many keys in few statements', async () => {
    const made = await Promise.all(Array.from({ length: 50 }, () => server.create(GRANT, undefined)));
    asked.length = 0;
    for (const { entry } of made) server.recordUse(entry);
    assert.equal(asked.length, 0);
    const ids = new Set(made.map(({ entry }) => entry.id));
    const used = async () =>
      (await server.list()).filter(({ id, lastUsedMs }) => ids.has(id) && lastUsedMs === nowMs).length;
    await until(async () => (await used()) === made.length);
    assert.equal(asked.filter((sql) => sql.includes('UPDATE')).length, 1);
  });

  it('skips the use of a key that a different transaction is changing', async () => {
    const { entry } = await server.create(GRANT, undefined);
    const other = await database.connect();
    await other.rows('BEGIN');
    await other.rows('UPDATE corkboard.keys SET label = label');
    const ring = openPostgresKeyring(new PostgresDatabase(url), now, now);
    ring.recordUse(entry);
    await ring.close();
    await other.rows('ROLLBACK');
    await other.close();
    const [row] = await database.rows('SELECT last_used_ms FROM keys WHERE id = $1', [entry.id]);
    assert.deepEqual(row, [null]);
  });

  it('reports that the database is away, also for known keys, and recovers afterwards', async () => {
    const { key, entry } = await server.create(GRANT, undefined);
    await server.find(key);
    await postgres.kill();
    nowMs += NOTICE_MS;
    const use = { ...entry, lastUsedMs: undefined };
    server.recordUse(use);
    await assert.rejects(server.find(key), refused('database-away'));
    await assert.rejects(server.list(), refused('database-away'));
    await assert.rejects(server.revoke(entry.id), refused('database-away'));
    await assert.rejects(server.create(GRANT, undefined), refused('database-away'));
    await postgres.start();
    nowMs += NOTICE_MS;
    await until(() =>
      server.list().then(
        () => true,
        () => false,
      ),
    );
    nowMs += NOTICE_MS;
    assert.equal((await server.find(key)).id, entry.id);
  });

  it('reports it too when the database does not respond, instead of waiting', async () => {
    const silent = new Promise<never>(() => {});
    const ring = openPostgresKeyring({
      rows: () => silent,
      session: () => silent,
      close: async () => {},
    });
    await assert.rejects(ring.find('cork_'), refused('database-away'));
    await ring.close();
  });
});
