/** `KeyRows.take`, which copies keys from a different store, for each kind of store. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { KeyRow, KeyRows } from '../../src/keys/key-row.ts';
import type { Keyring } from '../../src/keys/keyring.ts';
import { openPostgresKeyRows, openPostgresKeyring } from '../../src/keys/postgres-keyring.ts';
import { openSqliteKeyRows, openSqliteKeyring } from '../../src/keys/sqlite-keyring.ts';
import { PostgresDatabase } from '../../src/store/catalog/postgres-database.ts';
import { until } from '../server/stand.ts';
import { newMigratedDatabase } from '../storage.ts';
import { GRANT, refused } from './keyring-contract.ts';

/** A key whose columns have distinct values where possible. */
const WHOLE: KeyRow = {
  id: 'abcdefghijkl',
  digest: Buffer.from('0123456789abcdef0123456789abcdef'),
  organization: 'school',
  label: 'dashboard',
  scope: '{"boards":["7"],"users":"of-boards"}',
  redact_email: true,
  redact_name: false,
  redact_id: true,
  allow_lms_lookup: true,
  lms_splits: 'cohort,campus',
  rate_requests: 10,
  rate_per_seconds: 60,
  networks: '10.0.0.0/8,2001:db8::/32',
  created_ms: 1,
  expires_ms: 2e12,
  retires_ms: 2e12 + 1,
  revoked_ms: null,
  last_used_ms: 5,
  rotated_to: 'mnopqrstuvwx',
};

interface Bench {
  readonly rows: KeyRows;
  readonly keyring: Keyring;
  remove(): Promise<void>;
}

async function openFolder(): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'corkboard-key-rows-'));
  const remove = async () => rmSync(folder, { recursive: true });
  return { rows: openSqliteKeyRows(folder), keyring: openSqliteKeyring(folder), remove };
}

async function openDatabase(): Promise<Bench> {
  const url = await newMigratedDatabase();
  const rows = openPostgresKeyRows(new PostgresDatabase(url));
  return { rows, keyring: openPostgresKeyring(new PostgresDatabase(url)), remove: async () => {} };
}

for (const [kind, open] of [
  ['a folder', openFolder],
  ['a database', openDatabase],
] as const) {
  describe(`keys that ${kind} takes from a different store`, () => {
    let bench: Bench;
    beforeEach(async () => {
      bench = await open();
    });
    afterEach(async () => {
      await bench.keyring.close();
      await bench.rows.close();
      await bench.remove();
    });
    const kept = async () =>
      (await bench.rows.all('school')).map((row) => ({ ...row, digest: Buffer.from(row.digest) }));

    it('have the same value in every column, and update keys with the same id', async () => {
      const bare = { ...WHOLE, id: 'bare', rate_requests: null, rate_per_seconds: null, last_used_ms: null };
      await bench.rows.take([{ ...WHOLE, last_used_ms: null, revoked_ms: null }, bare]);
      await bench.rows.take([WHOLE]);
      assert.deepEqual(await kept(), [WHOLE, bare]);
    });

    it('do not replace the configuration of existing keys', async () => {
      const narrowed = {
        ...WHOLE,
        scope: '{"boards":["1"],"users":[]}',
        redact_email: true,
        label: 'narrowed',
        networks: '192.0.2.7',
        lms_splits: null,
      };
      await bench.rows.take([narrowed]);
      await bench.rows.take([{ ...WHOLE, scope: '{"boards":"all","users":"all"}', redact_email: false }]);
      assert.deepEqual(await kept(), [narrowed]);
    });

    it('stay keys of the organization that they belong to, with their secret', async () => {
      await bench.rows.take([WHOLE]);
      const other = { ...WHOLE, organization: 'other', digest: Buffer.alloc(32, 9), created_ms: 1 };
      await bench.rows.take([other]);
      assert.deepEqual(await kept(), [WHOLE]);
      assert.deepEqual(await bench.rows.all('other'), []);
    });

    it('stay revoked if they were revoked in this store', async () => {
      await bench.rows.take([{ ...WHOLE, revoked_ms: 7 }]);
      await bench.rows.take([WHOLE]);
      assert.equal((await kept())[0]?.revoked_ms, 7);
    });

    it('never live longer than before, even if an old copy has later ends', async () => {
      const rotated = { ...WHOLE, expires_ms: 100, retires_ms: 50 };
      for (const [expires_ms, retires_ms] of [
        [200, 60],
        [null, null],
        [100, 50],
      ] as const) {
        await bench.rows.take([rotated]);
        await bench.rows.take([{ ...WHOLE, expires_ms, retires_ms, rotated_to: null }]);
        assert.deepEqual(await kept(), [rotated]);
      }
    });

    it('end when the copy says so if that is earlier, or if the key had no end', async () => {
      const copy = { ...WHOLE, expires_ms: 100, retires_ms: 50 };
      for (const [expires_ms, retires_ms] of [
        [200, 60],
        [null, null],
      ] as const) {
        const before = { ...WHOLE, id: `before-${expires_ms}`, expires_ms, retires_ms };
        await bench.rows.take([before]);
        await bench.rows.take([{ ...copy, id: before.id }]);
        const after = (await kept()).find(({ id }) => id === before.id);
        assert.deepEqual([after?.expires_ms, after?.retires_ms], [100, 50]);
      }
    });

    it('are all written or none', async () => {
      const broken = { ...WHOLE, id: 'broken', label: null } as unknown as KeyRow;
      await assert.rejects(bench.rows.take([WHOLE, broken]));
      assert.deepEqual(await kept(), []);
    });

    it('are noticed by servers that have other values in memory', async () => {
      const { key } = await bench.keyring.create(GRANT, undefined);
      await bench.keyring.find(key);
      const [row] = await bench.rows.all('school');
      await bench.rows.take([{ ...row!, revoked_ms: 7 }]);
      await until(async () => await bench.keyring.find(key).then(() => false, refusedAsRevoked));
    });
  });
}

function refusedAsRevoked(error: unknown): boolean {
  assert.equal((error as { code?: unknown }).code, refused('key-revoked').code);
  return true;
}
