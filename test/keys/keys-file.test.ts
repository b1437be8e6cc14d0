import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { openSqliteKeyring } from '../../src/keys/sqlite-keyring.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corkboard-keys-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

const refused = (code: string) => ({ name: 'AppError', code });

describe('the file of keys', () => {
  it('of a newer version is refused', () => {
    const file = new DatabaseSync(join(folder, 'keys.db'));
    file.exec('PRAGMA user_version = 99');
    file.close();
    assert.throws(() => openSqliteKeyring(folder), refused('data-unreadable'));
  });

  it('in a folder that cannot be had is refused in words', () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    assert.throws(() => openSqliteKeyring(file), refused('data-unreadable'));
  });
});
