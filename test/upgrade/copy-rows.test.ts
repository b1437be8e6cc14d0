/**
 * A database of version 0.1, copied by `upgrade/copy-rows.ts`, gives the same responses as version
 * 0.1.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { Client } from 'pg';
import { withPlace } from '../../src/cli/process/storage.ts';
import { importBundle } from '../../src/ingest/import.ts';
import { openPostgresKeyring } from '../../src/keys/postgres-keyring.ts';
import { openSqliteKeyring } from '../../src/keys/sqlite-keyring.ts';
import { startServer } from '../../src/server/start.ts';
import { PostgresDatabase } from '../../src/store/catalog/postgres-database.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import { withResidentDatasets } from '../../src/store/resident-store.ts';
import { buildProgram } from '../../upgrade/copy-rows.ts';
import { type Result, run, temporaryFolder } from '../cli/command.ts';
import { runHere } from '../cli/in-process.ts';
import { IS_LONG } from '../long.ts';
import { EMPTY_BUNDLE, writeBundle } from '../model/bundle.ts';
import { until } from '../server/stand.ts';
import { newDatabase } from '../shared-servers.ts';
import { migrateDatabase, openCachedStore } from '../storage.ts';
import { type Captured, DUMP, type Fixture, INCREMENTS, readFixture } from './captured.ts';
import { assertSameAsFirst } from './comparison.ts';
import '../without-coverage.ts';

const SCRIPT = join(import.meta.dirname, '../../upgrade/copy-rows.ts');
const PASSWORD = 's3cret-p4ss';
/** Keys of each organization, including the successors of rotated ones. */
const KEYS = 12;
/** More than any test needs. */
const RESIDENT_LIMIT_BYTES = 1e9;
/**
 * For a key with the same scope as another one: enough responses to show that it has this scope.
 */
const FEW = 5;

const folder = temporaryFolder();
const cache = join(folder, 'cache');
let dump: string;
let fixture: Fixture;

before(async () => {
  fixture = await readFixture();
  // Without the commands of psql.
  dump = gunzipSync(await readFile(DUMP))
    .toString()
    .replaceAll(/^\\(?:un)?restrict .*$/gm, '');
});

/** The address of a database as version 0.1 left it. */
async function oldDatabase(): Promise<string> {
  const url = await newDatabase('empty');
  await withClient(url, (client) => client.query(dump));
  return url;
}

async function withClient<T>(url: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(url);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

function startScript(words: readonly string[]): ChildProcess {
  return spawn(process.execPath, [SCRIPT, ...words, '--cache', cache], { stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Runs the script to its end in this process. */
async function runScript(...words: readonly string[]): Promise<Result> {
  return await runHere([...words, '--cache', cache], { input: '', environment: {} }, buildProgram);
}

/** Runs the script as a program. */
async function runProcess(...words: readonly string[]): Promise<Result> {
  const child = startScript(words);
  const ended = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
  await ended;
  return { code: child.exitCode, stdout, stderr };
}

interface Copied {
  readonly organizations: readonly Readonly<Record<string, unknown>>[];
  readonly dropped: boolean;
}

/** The output of the script, which must succeed. */
async function copied(...words: readonly string[]): Promise<Copied> {
  const { code, stdout, stderr } = await runScript(...words, '--json');
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

const summary = ({ organizations }: Copied) =>
  organizations.map(({ organization, events, keys, skipped }) => [organization, events, keys, skipped]);

type Target = { readonly database: string } | { readonly data: string };
const wordsOf = (target: Target) => ['--to', 'database' in target ? target.database : target.data];

type Use<T> = (
  url: string,
  load: (organization: string, paths: readonly string[]) => Promise<void>,
) => Promise<T>;

/**
 * A server over the copy, from memory or directly from the files, with the store that publishes
 * into it.
 */
async function serving<T>(target: Target, use: Use<T>, isResident = true): Promise<T> {
  const store =
    'database' in target ? await openCachedStore(target.database, cache) : await openFolderStore(target.data);
  const keyring =
    'database' in target
      ? openPostgresKeyring(new PostgresDatabase(target.database))
      : openSqliteKeyring(target.data);
  const listen = { host: '127.0.0.1', port: 0, defaultVariant: 'a', logLevel: 'silent' } as const;
  const served = isResident ? withResidentDatasets(store, { limitBytes: RESIDENT_LIMIT_BYTES }) : store;
  const server = await startServer({ ...listen, store: served, keyring });
  try {
    return await use(server.address, async (organization, paths) => {
      const report = await importBundle({ store, organization, paths });
      assert.equal(report.problemCount, 0);
    });
  } finally {
    await server.stop();
    await keyring.close();
    await store.close();
  }
}

/** Sends the same paths as to 0.1; many contain cursors and sync tokens of 0.1. */
async function assertSame(url: string, expected: readonly Captured[]): Promise<void> {
  assert.ok(expected.length > 100);
  await assertSameAsFirst(url, fixture.keys, expected);
}

/** Keys that are refused, or that have the scope and redaction of the key `full`. */
const NOT_DISTINCT = /\.(revoked|rotated|expired|limited|overlapping|successor)$/;

/** All responses of the keys that `isWhole` accepts, and a few of each further key. */
function someOf(captured: readonly Captured[], isWhole: (key: string) => boolean): readonly Captured[] {
  if (IS_LONG) return captured;
  const counts = new Map<string, number>();
  return captured.filter(({ key }) => {
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count <= FEW || isWhole(key);
  });
}

/**
 * Compares the responses of 0.1 and, after the same imports, every response again, from earlier
 * cursors and tokens.
 */
async function assertSameEverywhere(target: Target, before: readonly Captured[]): Promise<void> {
  const compareAndImport: Use<void> = async (url, load) => {
    await assertSame(url, before);
    for (const [organization, bundle] of Object.entries(INCREMENTS)) {
      const files = join(folder, `increment-${organization}`);
      await writeBundle(files, bundle, 'ndjson');
      await load(organization, [files]);
    }
  };
  // What was copied to a folder is also read directly; how later versions are read is not new.
  await serving(target, compareAndImport, 'database' in target);
  const { after } = fixture;
  const isWhole = 'database' in target ? () => true : (key: string) => key === 'small.full';
  await serving(target, (url) => assertSame(url, someOf(after, isWhole)), 'database' in target || !IS_LONG);
}

/** Which organizations have data in a target. */
async function versionsIn(target: Target): Promise<Record<string, boolean>> {
  const place = { data: '', ...target, cache, cacheLimit: 1e9 };
  return await withPlace(place, false, async ({ store }) =>
    Object.fromEntries(
      (await store.organizations()).map(({ name, version }) => [name, version !== undefined]),
    ),
  );
}

describe('a database of version 0.1', () => {
  it('is copied within itself, byte for byte, and dropped with the option', async () => {
    const url = await oldDatabase();
    const migrated = await run(['migrate', '--database', url]);
    assert.equal(migrated.code, 0, migrated.stderr);
    assert.match(migrated.stdout, /"node upgrade\/copy-rows\.ts --database <url>"/);
    const result = await copied('--database', url);
    assert.deepEqual(summary(result), [
      ['later', 0, KEYS, false],
      ['Quantum', 1_494, KEYS, false],
      ['small', 5, KEYS, false],
    ]);
    await assertSameEverywhere(
      { database: url },
      someOf(fixture.before, (key) => !NOT_DISTINCT.test(key)),
    );
    const again = await copied('--database', url, '--drop');
    assert.deepEqual(summary(again), [
      ['later', 0, 0, true],
      ['Quantum', 0, 0, true],
      ['small', 0, 0, true],
    ]);
    assert.equal(again.dropped, true);
    const { code, stderr } = await runProcess('--database', url);
    assert.deepEqual([code, stderr.includes('has no tables of Corkboard 0.1')], [1, true], stderr);
  });

  it('is copied into a data folder without a migration, byte for byte', async () => {
    const url = await oldDatabase();
    const data = join(folder, 'data');
    const { organizations } = await copied('--database', url, '--to', data);
    assert.equal(organizations.length, 3);
    // Rows and keys are those of the database of the test above.
    await assertSameEverywhere(
      { data },
      someOf(fixture.before, (key) => key.endsWith('.full')),
    );
  });

  it('is copied in parts, with keys or without', async () => {
    const url = await oldDatabase();
    const data = join(folder, 'parts');
    const words = ['--database', url, '--to', data];
    const small = await copied(...words, '--organization', 'SMALL', '--organization', 'small', '--no-keys');
    assert.deepEqual(summary(small), [['small', 5, 0, false]]);
    assert.deepEqual(await versionsIn({ data }), { small: true });
    // Data that were left out before are copied when they are requested.
    assert.deepEqual(summary(await copied(...words, '--organization', 'small')), [['small', 0, KEYS, true]]);
    assert.deepEqual(summary(await copied(...words, '--organization', 'small')), [['small', 0, 0, true]]);
  });
});

describe('a copy that is killed', () => {
  /** Starts a copy that stops at a locked table, kills it there, and releases the table. */
  async function killAt(url: string, table: string, words: readonly string[]): Promise<void> {
    await withClient(url, async (client) => {
      await client.query('BEGIN');
      await client.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
      const child = startScript(['--database', url, ...words]);
      const exit = once(child, 'exit');
      await until(async () => {
        assert.equal(child.exitCode, null, 'it ended');
        const { rows } = await client.query(
          `SELECT FROM pg_locks JOIN pg_database d ON d.oid = database
           WHERE NOT granted AND datname = current_database()`,
        );
        return rows.length > 0;
      });
      child.kill('SIGKILL');
      await exit;
      await client.query('ROLLBACK');
    });
  }

  /** All responses to a key with full scope for the organization at which the copy was killed. */
  const seenWhole = () =>
    someOf(
      fixture.before.filter(({ key }) => IS_LONG || key.endsWith('.full')),
      (key) => key === 'Quantum.full',
    );

  it('has copied no organization in part, and can be run again', async () => {
    const url = await oldDatabase();
    await migrateDatabase(url);
    await copied('--database', url, '--organization', 'small');
    for (const target of [{ database: url }, { data: join(folder, 'killed') }]) {
      // The last table to be read: half of Quantum has been read by then.
      await killAt(url, 'corkboard_0_1.standings', wordsOf(target));
      assert.equal((await versionsIn(target))['Quantum'] ?? false, false);
      const { organizations } = await copied('--database', url, ...wordsOf(target));
      assert.deepEqual(
        organizations.map(({ organization, skipped }) => [organization, skipped]),
        [
          ['later', true],
          ['Quantum', false],
          ['small', 'database' in target],
        ],
      );
      await serving(target, (address) => assertSame(address, seenWhole()));
    }
  });

  it('can also be run again if some of its chunks are stored already', async () => {
    const url = await oldDatabase();
    await migrateDatabase(url);
    await killAt(url, 'corkboard.versions', []);
    const chunks = await withClient(url, (client) => client.query('SELECT name FROM corkboard.chunks'));
    assert.ok(chunks.rows.length > 0);
    assert.equal((await versionsIn({ database: url }))['Quantum'] ?? false, false);
    const { organizations } = await copied('--database', url);
    assert.deepEqual(
      organizations.map(({ events }) => events),
      [0, 1_494, 5],
    );
    await serving({ database: url }, (address) => assertSame(address, seenWhole()));
  });
});

describe('the copy script', () => {
  let url: string;
  before(async () => {
    url = await oldDatabase();
  });

  async function assertRefused(code: number, message: RegExp, ...words: readonly string[]): Promise<void> {
    const result = await runScript(...words);
    assert.deepEqual([result.code, result.stdout], [code, ''], result.stderr);
    assert.match(result.stderr, message);
    assert.ok(!result.stderr.includes('s3cret'), result.stderr);
  }

  it('ends with exit code 2 if it is misused', async () => {
    await assertRefused(2, /^corkboard: Name the database of 0\.1/);
    await assertRefused(2, /--to <dir\|url>/, '--database', url, '--to', '');
    await assertRefused(2, /unknown option '--form'/, '--database', url, '--form');
    await assertRefused(2, /is a URL like/, '--database', `mysql://a:${PASSWORD}@b/c`);
    const dropInPlace = ['--database', url, '--to', join(folder, 'never'), '--drop'];
    await assertRefused(2, /--drop drops the schema corkboard_0_1/, ...dropInPlace);
  });

  it('ends with exit code 0 after it prints help', async () => {
    const { code, stdout } = await runScript('--help');
    assert.equal(code, 0);
    for (const option of ['--database', '--to', '--organization', '--no-keys', '--drop', '--json']) {
      assert.ok(stdout.includes(option), option);
    }
  });

  it('ends with exit code 1 and a reason if it refuses a copy, and never prints the password', async () => {
    await assertRefused(1, /"corkboard migrate" to set them aside/, '--database', url);
    const away = `postgres://test:${PASSWORD}@127.0.0.1:1/corkboard`;
    await assertRefused(1, /ECONNREFUSED/, '--database', away);
    await assertRefused(1, /ECONNREFUSED/, '--database', url, '--to', away);
    await assertRefused(1, /no tables of Corkboard 0\.1/, '--database', await newDatabase('empty'));
    const target = ['--to', await newDatabase('empty')];
    await assertRefused(1, /"corkboard migrate" to create them/, '--database', url, ...target);
    const unknown = ['--to', join(folder, 'refused'), '--organization', 'unknown'];
    await assertRefused(1, /There is no organization "unknown"/, '--database', url, ...unknown);
  });

  it('refuses a database of an earlier or a later version of 0.1', async () => {
    const other = await oldDatabase();
    const to = ['--to', join(folder, 'steps')];
    const change = (sql: string) => withClient(other, (client) => client.query(sql));
    await change('DELETE FROM corkboard.migrations WHERE number = 9');
    await assertRefused(
      1,
      /First run "corkboard migrate" of the last Corkboard 0\.1/,
      '--database',
      other,
      ...to,
    );
    const migrated = await run(['migrate', '--database', other]);
    assert.equal(migrated.code, 1);
    assert.match(migrated.stderr, /First run "corkboard migrate" of the last Corkboard 0\.1/);
    await change('INSERT INTO corkboard.migrations (number) VALUES (9), (10)');
    await assertRefused(1, /made by an unknown version/, '--database', other, ...to);
  });

  it('skips an organization whose name is in use, and drops nothing', async () => {
    const other = await oldDatabase();
    await migrateDatabase(other);
    const files = join(folder, 'taken');
    await writeBundle(files, { ...EMPTY_BUNDLE, boards: [{ id: 1n, title: 'One' }] }, 'ndjson');
    const imported = await run([
      ...['import', files, '--organization', 'quantum', '--database', other, '--cache', cache],
    ]);
    assert.equal(imported.code, 0, imported.stderr);
    const { code, stdout, stderr } = await runScript('--database', other, '--drop');
    assert.deepEqual([code, stdout], [1, ''], stderr);
    assert.match(stderr, /^quantum: skipped; the target has a different organization of this name/m);
    assert.match(stderr, /^corkboard: The schema corkboard_0_1 was kept.* no copy of Quantum\./m);
    assert.deepEqual(await versionsIn({ database: other }), { later: false, quantum: true, small: true });
    const { rows } = await withClient(other, (client) =>
      client.query('SELECT FROM corkboard_0_1.organizations'),
    );
    assert.equal(rows.length, 3);
  });
});
