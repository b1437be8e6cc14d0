/**
 * Data folders and databases that earlier commits have left open as they are, and give the same
 * bytes on every route.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { Client } from 'pg';
import type { Keyring } from '../../src/keys/keyring.ts';
import { openPostgresKeyring } from '../../src/keys/postgres-keyring.ts';
import { openSqliteKeyring } from '../../src/keys/sqlite-keyring.ts';
import { startServer } from '../../src/server/start.ts';
import { PostgresDatabase } from '../../src/store/catalog/postgres-database.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import { organizationDigest } from '../../src/store/organization-digest.ts';
import { withResidentDatasets } from '../../src/store/resident-store.ts';
import type { Store } from '../../src/store/store.ts';
import { run, runJson, temporaryFolder } from '../cli/command.ts';
import { IS_LONG } from '../long.ts';
import { EMPTY_BUNDLE, writeBundle } from '../model/bundle.ts';
import { newDatabase } from '../shared-servers.ts';
import { openCachedStore } from '../storage.ts';
import { capture, INCREMENTS } from './captured.ts';
import { assertSameAsFirst, withoutTokens } from './comparison.ts';
import { type KeptFixture, readKeptFixture, unpackFolder } from './kept-fixture.ts';

/** More than any test needs. */
const RESIDENT_LIMIT_BYTES = 1e9;
const folder = temporaryFolder();
const cache = join(folder, 'cache');

/** Serves the data, from memory or directly from the files. */
async function serving(
  [store, keyring]: readonly [Store, Keyring],
  isResident: boolean,
  use: (url: string) => Promise<void>,
): Promise<void> {
  const served = isResident ? withResidentDatasets(store, { limitBytes: RESIDENT_LIMIT_BYTES }) : store;
  const listen = { host: '127.0.0.1', port: 0, defaultVariant: 'a', logLevel: 'silent' } as const;
  const server = await startServer({ ...listen, store: served, keyring });
  try {
    await use(server.address);
  } finally {
    await server.stop();
    await keyring.close();
    await store.close();
  }
}

async function openData(data: string) {
  return [await openFolderStore(data), openSqliteKeyring(data)] as const;
}

async function openUrl(url: string) {
  return [await openCachedStore(url, cache), openPostgresKeyring(new PostgresDatabase(url))] as const;
}

/** Imports what the earlier commit has imported, and checks the result for damage. */
async function importMore(place: readonly string[]): Promise<void> {
  const bundle = join(folder, 'bundle');
  await writeBundle(bundle, INCREMENTS['small'] ?? EMPTY_BUNDLE, 'ndjson');
  await runJson(['import', bundle, '--organization', 'small', ...place]);
  await assertIntact(place);
}

async function assertIntact(place: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await run(['check', ...place]);
  assert.deepEqual([code, /^Damage/m.test(stdout)], [0, false], stdout + stderr);
}

/** Asserts that the current version names its organization, which earlier versions did not. */
async function assertNamesOrganization(data: string): Promise<void> {
  const store = await openFolderStore(data);
  const { entry, file } = await store.original('small');
  file?.release();
  await store.close();
  const instance = await DuckDBInstance.create(file!.path, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  const result = await connection.runAndReadAll('SELECT organization_digest FROM version');
  connection.closeSync();
  instance.closeSync();
  assert.deepEqual(result.getRows(), [[organizationDigest(entry.secret)]]);
}

/**
 * The responses to compare. Straight from the files only those of the keys with full scope: scopes
 * and redaction do not depend on how a version is read.
 */
function someOf(before: KeptFixture['before'], isResident: boolean): KeptFixture['before'] {
  assert.ok(before.length > 200);
  return isResident || IS_LONG ? before : before.filter(({ key }) => key.endsWith('.full'));
}

/** Entity tags of these contain the version of the time zone rules (decision 107). */
const ZONED = /^\/insights\/v1\/(?:activity|returning|heat-map|.+\/ledger)\b/;

/**
 * Cursors and sync tokens are made differently since 0.2 (decision 84); other entity tags are not.
 */
async function assertSameBytes(url: string, { keys, before }: KeptFixture, isResident = true): Promise<void> {
  for (const one of someOf(before, isResident)) {
    const reply = await capture(url, keys, one.key, one.path);
    assert.deepEqual(withoutTokens(reply), withoutTokens(one));
    if (!ZONED.test(one.path)) assert.equal(reply.etag, one.etag, one.path);
  }
}

/** New versions have new tags and tokens. */
async function assertSameLater(url: string, { keys, after }: KeptFixture): Promise<void> {
  assert.ok(after.length > 50);
  for (const one of after) {
    assert.deepEqual(withoutTokens(await capture(url, keys, one.key, one.path)), withoutTokens(one));
  }
}

describe('the data of the commit before digests were recorded', () => {
  it('opens as a data folder with the same bytes and tags, and its cursors and tokens are accepted', async () => {
    const fixture = await readKeptFixture('folder-0.2');
    const data = join(folder, 'folder');
    await unpackFolder(fixture, data);
    const place = ['--data', data];
    const { findings } = await runJson(['check', ...place]);
    assert.match(findings[0].message, /3\.duckdb has no recorded digest/);
    for (const isResident of [true, false]) {
      await serving(await openData(data), isResident, (url) => assertSameBytes(url, fixture, isResident));
    }
    await importMore(place);
    await assertNamesOrganization(data);
    await serving(await openData(data), true, (url) => assertSameLater(url, fixture));
  });

  it('opens as a database with the same bytes and tags, and its cursors and tokens are accepted', async () => {
    const fixture = await readKeptFixture('database-0.2');
    const url = await newDatabase('empty');
    const client = new Client(url);
    await client.connect();
    await client.query(fixture.dump ?? '');
    await client.end();
    const place = ['--database', url, '--cache', cache];
    assert.equal((await run(['migrate', '--database', url])).code, 0);
    await assertIntact(place);
    await serving(await openUrl(url), true, (address) => assertSameBytes(address, fixture));
    await importMore(place);
    await serving(await openUrl(url), true, (address) => assertSameLater(address, fixture));
  });
});

describe('a data folder of version 0.1', () => {
  it('opens with the same bytes, and its cursors and tokens are accepted', async () => {
    const fixture = await readKeptFixture('folder-0.1');
    const data = join(folder, 'first');
    await unpackFolder(fixture, data);
    await assertIntact(['--data', data]);
    for (const isResident of [true, false]) {
      await serving(await openData(data), isResident, (url) =>
        assertSameAsFirst(url, fixture.keys, someOf(fixture.before, isResident)),
      );
    }
    await importMore(['--data', data]);
    await assertNamesOrganization(data);
    await serving(await openData(data), true, (url) => assertSameAsFirst(url, fixture.keys, fixture.after));
  });
});
