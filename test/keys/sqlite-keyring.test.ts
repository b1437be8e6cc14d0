import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Keyring } from '../../src/keys/keyring.ts';
import { openSqliteKeyring } from '../../src/keys/sqlite-keyring.ts';
import { GRANT, testKeyring } from './keyring-contract.ts';

const MINUTE_MS = 60_000;

function makeFolder(): string {
  return mkdtempSync(join(tmpdir(), 'corkboard-keys-'));
}

describe('the keyring in SQLite', () => {
  testKeyring({
    noticeMs: 0,
    place: async () => {
      const folder = makeFolder();
      return {
        open: (now) => openSqliteKeyring(folder, now),
        contents: async () =>
          readdirSync(folder)
            .map((file) => readFileSync(join(folder, file), 'latin1'))
            .join('\n'),
        remove: async () => rmSync(folder, { recursive: true }),
      };
    },
  });
});

describe('the last use in SQLite', () => {
  let folder: string;
  let keyring: Keyring;
  let nowMs: number;

  beforeEach(() => {
    folder = makeFolder();
    nowMs = Date.UTC(2026, 0, 1);
    keyring = openSqliteKeyring(folder, () => nowMs);
  });

  afterEach(async () => {
    await keyring.close();
    rmSync(folder, { recursive: true });
  });

  it('is visible to other processes at once', async () => {
    const { key, entry } = await keyring.create(GRANT, undefined);
    const server = openSqliteKeyring(folder, () => nowMs);
    assert.equal((await server.find(key)).lastUsedMs, undefined);
    keyring.recordUse(entry);
    assert.equal((await server.find(key)).lastUsedMs, nowMs);
    await server.close();
  });

  it('neither fails nor waits when the file cannot be written', async () => {
    const lastUsedMs = async () => (await keyring.list())[0]?.lastUsedMs;
    const { key } = await keyring.create(GRANT, undefined);
    const writer = new DatabaseSync(join(folder, 'keys.db'));
    writer.exec('BEGIN IMMEDIATE');
    const entry = await keyring.find(key);
    const waitedMs = timed(() =>
      assert.throws(() =>
        new DatabaseSync(join(folder, 'keys.db'), { timeout: 1_000 }).exec('BEGIN IMMEDIATE'),
      ),
    );
    assert.ok(timed(() => keyring.recordUse(entry)) < waitedMs);
    writer.exec('ROLLBACK');
    writer.close();
    assert.equal(await lastUsedMs(), undefined);
    nowMs += MINUTE_MS;
    keyring.recordUse(await keyring.find(key));
    assert.equal(await lastUsedMs(), nowMs);
  });
});

function timed(work: () => void): number {
  const startMs = performance.now();
  work();
  return performance.now() - startMs;
}
