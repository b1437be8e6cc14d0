import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { KEY_COLUMNS } from '../../src/keys/key-row.ts';
import { mayLookUpPeople } from '../../src/keys/keyring.ts';
import { openSqliteKeyRows, openSqliteKeyring } from '../../src/keys/sqlite-keyring.ts';
import { addSeals, defineSeals, extendSeals, sealSchema } from '../../src/system/row-seal.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corkboard-keys-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

const refused = (code: string) => ({ name: 'AppError', code });

describe('the file of keys', () => {
  it('is refused if a newer version of Corkboard wrote it', () => {
    const file = new DatabaseSync(join(folder, 'keys.db'));
    file.exec('PRAGMA user_version = 99');
    file.close();
    assert.throws(() => openSqliteKeyring(folder), refused('data-unreadable'));
  });

  it('is migrated from the previous version, and redacting keys may not look up users', async () => {
    const file = new DatabaseSync(join(folder, 'keys.db'));
    file.exec(`
      CREATE TABLE keys (
        id TEXT PRIMARY KEY, digest BLOB NOT NULL, organization TEXT NOT NULL, label TEXT NOT NULL,
        scope TEXT NOT NULL, redact_email INTEGER NOT NULL, redact_name INTEGER NOT NULL, rate_requests INTEGER,
        rate_per_seconds INTEGER, created_ms INTEGER NOT NULL, expires_ms INTEGER, retires_ms INTEGER,
        revoked_ms INTEGER, last_used_ms INTEGER, rotated_to TEXT
      ) STRICT, WITHOUT ROWID;
      INSERT INTO keys VALUES ('abcdefghijkl', x'00', 'school', 'old', '{"boards":"all","users":"all"}', 1, 0,
        NULL, NULL, 5, NULL, NULL, NULL, NULL, NULL);
      PRAGMA user_version = 1;`);
    file.close();
    const [keyring, other] = [openSqliteKeyring(folder), openSqliteKeyring(folder)];
    const [entry] = await keyring.list();
    assert.equal(entry?.label, 'old');
    assert.deepEqual(entry?.redact, { email: true, name: false, id: false });
    assert.equal(mayLookUpPeople(entry!), false);
    assert.equal((await other.list()).length, 1);
    await keyring.close();
    await other.close();
  });

  it('is migrated from the version with the first seals, and damaged rows stay damaged', async () => {
    const file = new DatabaseSync(join(folder, 'keys.db'));
    file.exec(`
      CREATE TABLE keys (
        id TEXT PRIMARY KEY, digest BLOB NOT NULL, organization TEXT NOT NULL, label TEXT NOT NULL,
        scope TEXT NOT NULL, redact_email INTEGER NOT NULL, redact_name INTEGER NOT NULL, rate_requests INTEGER,
        rate_per_seconds INTEGER, created_ms INTEGER NOT NULL, expires_ms INTEGER, retires_ms INTEGER,
        revoked_ms INTEGER, last_used_ms INTEGER, rotated_to TEXT,
        allow_lms_lookup INTEGER NOT NULL DEFAULT 0, redact_id INTEGER NOT NULL DEFAULT 0
      ) STRICT, WITHOUT ROWID;
      PRAGMA user_version = 3;`);
    for (const id of ['abcdefghijkl', 'bcdefghijklm']) {
      file.exec(`INSERT INTO keys VALUES ('${id}', x'00', 'school', 'old', '{"boards":"all","users":"all"}',
        0, 0, NULL, NULL, 5, NULL, NULL, NULL, NULL, NULL, 0, 0)`);
    }
    const columns =
      'id, digest, organization, label, scope, redact_email, redact_name, redact_id, allow_lms_lookup, rate_requests, rate_per_seconds, expires_ms, created_ms, retires_ms, revoked_ms, last_used_ms, rotated_to';
    const table = { file: 'keys.db', name: 'keys', key: 'id', columns: columns.split(', ') };
    const sealed = { ...table, describe: (id: string) => `${id} is damaged` };
    defineSeals(file, sealed);
    file.exec(`${addSeals(sealed)}; PRAGMA user_version = 4;`);
    file.exec("UPDATE keys SET seal = x'00' WHERE id = 'bcdefghijklm'");
    sealSchema(file);
    file.close();
    const keyring = openSqliteKeyring(folder);
    await assert.rejects(keyring.list(), /The key bcdefghijklm in keys\.db is damaged/);
    await keyring.revoke('bcdefghijklm');
    const networks = ['10.0.0.0/8'];
    const lmsSplits = ['cohort'];
    await keyring.configure('abcdefghijkl', () => ({ networks, lmsSplits }));
    const list = await keyring.list();
    assert.deepEqual(
      list.map((entry) => [entry.id, entry.networks, entry.lmsSplits]),
      [
        ['abcdefghijkl', networks, lmsSplits],
        ['bcdefghijklm', undefined, undefined],
      ],
    );
    await keyring.close();
    const rows = openSqliteKeyRows(folder);
    assert.deepEqual(await rows.findDamage?.(), []);
    await rows.close();
  });

  it('is migrated so that no key that redacts nothing may see LMS ids, and damaged rows stay damaged', async () => {
    await openSqliteKeyring(folder).close();
    const file = new DatabaseSync(join(folder, 'keys.db'));
    const former = KEY_COLUMNS.filter((column) => column !== 'lms_splits');
    const table = { file: 'keys.db', name: 'keys', key: 'id', columns: former, describe: (id: string) => id };
    defineSeals(file, table);
    for (const [id, ...redacted] of [
      ['redacts-nothing', 0, 0, 0],
      ['redacts-email', 1, 0, 0],
      ['redacts-name', 0, 1, 0],
      ['redacts-id', 0, 0, 1],
      ['damaged', 0, 0, 0],
    ]) {
      const columns = 'id, redact_email, redact_name, redact_id, digest, organization, label, scope';
      file.exec(`INSERT INTO keys (${columns}, created_ms, allow_lms_lookup)
        VALUES ('${id}', ${redacted.join(', ')}, x'00', 'school', '', '{"boards":"all","users":"all"}', 5, 1)`);
    }
    file.exec(extendSeals(table, KEY_COLUMNS));
    file.exec('ALTER TABLE keys DROP lms_splits');
    file.exec("UPDATE keys SET seal = x'00' WHERE id = 'damaged'; PRAGMA user_version = 5;");
    sealSchema(file);
    file.close();
    const rows = openSqliteKeyRows(folder);
    const damage = await rows.findDamage?.();
    assert.deepEqual([damage?.length, /damaged/.test(damage?.[0] ?? '')], [1, true]);
    await rows.revoke('damaged', 5);
    assert.deepEqual(await rows.findDamage?.(), []);
    const allowed = (await rows.all(undefined)).filter((row) => row.allow_lms_lookup).map(({ id }) => id);
    assert.deepEqual(allowed, ['redacts-email', 'redacts-id', 'redacts-name']);
    await rows.close();
  });

  it('is refused with a clear error if its folder cannot be created', () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    assert.throws(() => openSqliteKeyring(file), refused('data-unreadable'));
  });
});
