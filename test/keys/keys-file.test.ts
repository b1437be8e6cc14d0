import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { mayLookUpPeople } from '../../src/keys/keyring.ts';
import { openSqliteKeyring } from '../../src/keys/sqlite-keyring.ts';

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

  it('is refused with a clear error if its folder cannot be created', () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    assert.throws(() => openSqliteKeyring(file), refused('data-unreadable'));
  });
});
