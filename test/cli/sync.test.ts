/** `corkboard sync` as a command: its sources of the key, its targets, and its output. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { after, before, it } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { answering, sendLines } from '../client/odd-server.ts';
import { DATABASES, PLACES } from '../sync/copies.ts';
import { exported, sortedTexts } from '../sync/exported.ts';
import { openWorld, type World } from '../world.ts';
import { run, runProcess, start, temporaryFolder } from './command.ts';

const folder = temporaryFolder();
let world: World;
let url: string;
before(async () => {
  world = await openWorld();
  url = `${world.url}/a`;
});
after(() => world.close());

it('sync writes what the key can see, and then says that nothing has changed', async () => {
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, `${world.keys.full}\n`);
  for (const kind of PLACES) {
    const place = await kind.make(folder);
    const words = ['sync', url, '--to', place.address, '--key-file', keyFile];
    const first = await run(words);
    assert.equal(first.code, 0, first.stderr);
    const { events, users, boards, points } = await exported(url, world.keys.full);
    const [copied, listed] = [
      `${events.length} events copied`,
      `${users.length} users, ${boards.length} boards, ${points.length} points totals`,
    ];
    assert.ok(first.stdout.startsWith(`${copied}, ${listed} (`), first.stdout);
    const rows = (await place.rows('events')).map(({ sync_id, ...row }) => row);
    assert.deepEqual(sortedTexts(rows), sortedTexts(events));
    assert.deepEqual(sortedTexts(await place.rows('users')), sortedTexts(users));
    assert.deepEqual(sortedTexts(await place.rows('points')), sortedTexts(points));
    assert.equal((await run(words)).stdout, 'Nothing has changed.\n');
    const { seconds, ...counts } = JSON.parse((await run([...words, '--json'])).stdout);
    assert.equal(typeof seconds, 'number');
    assert.deepEqual(counts, {
      ...{ startedAnew: false, events: 0, deletedEvents: 0, erasedUsers: 0 },
      ...{ users: null, boards: null, points: null, severalVersions: false },
    });
  }
});

it('sync leaves points out with --no-points, and copies them again without it', async () => {
  const environment = { CORKBOARD_SYNC_KEY: world.keys.full };
  for (const kind of PLACES) {
    const place = await kind.make(folder);
    const words = ['sync', url, '--to', place.address];
    const { points } = await exported(url, world.keys.full);
    for (const [more, expected, rows] of [
      [[], /events copied, .* points totals/, points],
      [['--no-points'], /^0 points totals \(/, []],
      [['--no-points'], /^Nothing has changed\.\n$/, []],
      [[], /^\d+ points totals \(/, points],
    ] as const) {
      const { stdout, stderr } = await run([...words, ...more], { environment });
      assert.match(stdout, expected);
      assert.equal(stderr, '');
      assert.deepEqual(sortedTexts(await place.rows('points')), sortedTexts(rows));
    }
  }
});

it('sync says so if the server publishes faster than it is read, and succeeds', async (t) => {
  let version = 0;
  const server = await answering(t, (response) => {
    version += 1;
    return sendLines(response, [], { 'sync-token': 't', 'data-version': String(version) });
  });
  const words = ['sync', `${server.url}/a`, '--to', `sqlite:${join(folder, 'several.sqlite')}`, '--json'];
  const { code, stdout, stderr } = await run(words, { environment: { CORKBOARD_SYNC_KEY: 'key' } });
  assert.equal(code, 0, stderr);
  assert.match(stderr, /has published new versions faster than they can be read/);
  assert.equal(JSON.parse(stdout).severalVersions, true);
});

it('sync accepts the key from the environment and from standard input, and both variants', async () => {
  const to = ['--to', `sqlite:${join(folder, 'inputs.sqlite')}`];
  const environment = { CORKBOARD_SYNC_KEY: world.keys.full };
  const ways = [
    await run(['sync', url, ...to], { environment }),
    await run(['sync', `${url}/v1/`, ...to, '--key', '-'], { input: world.keys.full }),
    await run(['sync', `${world.url}/b`, '--to', `sqlite:${join(folder, 'b.sqlite')}`], { environment }),
  ];
  for (const { code, stderr } of ways) assert.equal(code, 0, stderr);
  assert.equal(ways[1]?.stdout, 'Nothing has changed.\n');
});

it('sync refuses targets and schemas that there are not, and keys on the command line', async () => {
  const environment = { CORKBOARD_SYNC_KEY: world.keys.full };
  const sqlite = ['--to', `sqlite:${join(folder, 'misuse.sqlite')}`];
  for (const [words, code, reason] of [
    [[url, '--to', 'mysql://u:secret@h/d'], 2, /must be like duckdb:/],
    [[url, '--to', 'duckdb:'], 2, /must be like duckdb:/],
    [[url, '--to', 's3://id:secret@lake/school'], 2, /contains no credentials/],
    [[url, '--to', 's3://lake/school?key=secret'], 2, /unknown parameter/],
    [[url], 2, /required option '--to/],
    [[url, ...sqlite, '--schema', 'Not; one'], 2, /A schema has lower-case letters/],
    [[url, ...sqlite, '--key', world.keys.full], 2, /visible in the process list/],
    [['ftp://host/a', ...sqlite], 2, /must be like https:/],
    [[url, '--to', `duckdb:${join(folder, 'none', 'x.duckdb')}`], 1, /Cannot open the DuckDB file/],
    [[url, '--to', `sqlite:${join(folder, 'none', 'x.sqlite')}`], 1, /Cannot open the SQLite file/],
    [[url, '--to', 'postgres://someone:secret@127.0.0.1:1/none'], 1, /database cannot be reached now/],
    [[url, '--to', 'postgres://host:99999/none'], 1, /Cannot use the database/],
    [[`${world.url}/none`, ...sqlite], 1, /there is no API at this URL/],
  ] as const) {
    const result = await run(['sync', ...words], { environment });
    assert.equal(result.code, code, result.stderr);
    assert.match(result.stderr, reason);
    assert.ok(!result.stderr.includes('secret') && !result.stderr.includes(world.keys.full), result.stderr);
  }
});

it('sync makes files that only their owner can read, and leaves other tables alone', async () => {
  const environment = { CORKBOARD_SYNC_KEY: world.keys.full };
  for (const scheme of ['duckdb', 'sqlite']) {
    const path = join(folder, `private.${scheme}`);
    const { code, stderr } = await run(['sync', url, '--to', `${scheme}:${path}`], { environment });
    assert.equal(code, 0, stderr);
    assert.equal(statSync(path).mode & 0o777, 0o600);
  }
  for (const kind of DATABASES) {
    const place = await kind.make(folder);
    await place.run('CREATE TABLE users (id BIGINT); INSERT INTO users VALUES (7);');
    const [, sqlite] = place.address.split('sqlite:');
    const before = sqlite === undefined ? undefined : readFileSync(sqlite);
    const { code, stderr } = await run(['sync', url, '--to', place.address], { environment });
    assert.equal(code, 1);
    assert.match(stderr, /has a table or view "users" that does not belong to a copy/);
    assert.equal((await place.rows('users')).length, 1);
    // Not even the mode of its journal has changed.
    if (sqlite !== undefined) assert.deepEqual(readFileSync(sqlite), before);
  }
});

it('sync shortens what a server says about itself', async (t) => {
  const long = 'x'.repeat(10_000);
  let requests = 0;
  const server = await answering(t, (response) => {
    requests += 1;
    if (requests === 1) {
      response.writeHead(503, { 'content-type': 'application/problem+json', 'retry-after': '0' });
      response.end(JSON.stringify({ code: long, detail: long }));
    } else response.writeHead(200, { 'content-type': `text/${long}` }).end();
  });
  const words = ['sync', `${server.url}/a`, '--to', `sqlite:${join(folder, 'long.sqlite')}`];
  const { code, stderr } = await run(words, { environment: { CORKBOARD_SYNC_KEY: 'key' } });
  assert.equal(code, 1);
  assert.match(stderr, /^Waiting \d s: x{200}…\ncorkboard: .* has the type text\/x{55}, not /);
});

it('sync reports a refused key in one sentence', async () => {
  const words = ['sync', url, '--to', `sqlite:${join(folder, 'refused.sqlite')}`, '--key', '-'];
  const { code, stderr } = await run(words, { input: world.keys.revoked });
  assert.equal(code, 1);
  assert.match(stderr, /^corkboard: Cannot read from the server: it responded with status 401\. The key is/);
});

it('sync --every repeats until a signal ends it', async () => {
  const words = ['sync', url, '--to', `sqlite:${join(folder, 'every.sqlite')}`, '--every', '1s', '--json'];
  const child = start(words, { CORKBOARD_SYNC_KEY: world.keys.full });
  const ended = once(child, 'close');
  const seen: { readonly startedAnew: boolean }[] = [];
  for await (const line of createInterface({ input: child.stdout! })) {
    seen.push(JSON.parse(line));
    if (seen.length === 3) child.kill('SIGTERM');
  }
  await ended;
  assert.equal(child.exitCode, 0);
  assert.deepEqual(
    seen.slice(0, 3).map(({ startedAnew }) => startedAnew),
    [true, false, false],
  );
});

/** Each holds the lock of a target until the function that it returns is called. */
const HOLDERS: readonly (readonly [scheme: string, hold: (path: string) => Promise<() => void>])[] = [
  [
    'duckdb',
    async (path) => {
      const instance = await DuckDBInstance.create(path);
      return () => instance.closeSync();
    },
  ],
  ['sqlite', async (path) => lockSqlite(path)],
  ['parquet', async (path) => lockSqlite(join(path, '.corkboard/lock'))],
];

function lockSqlite(path: string): () => void {
  const database = new DatabaseSync(path);
  database.exec('BEGIN EXCLUSIVE');
  return () => database.close();
}

for (const [scheme, hold] of HOLDERS) {
  it(`sync refuses a target in use in ${scheme}, and tries again with --every`, async () => {
    const environment = { CORKBOARD_SYNC_KEY: world.keys.full };
    const path = join(folder, `busy.${scheme}`);
    const words = ['sync', url, '--to', `${scheme}:${path}`];
    assert.equal((await run(words, { environment })).code, 0);
    const release = await hold(path);
    const refused = await runProcess(words, { environment });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^corkboard: Cannot .*: a different program is using it \(/);
    const child = start([...words, '--every', '1s', '--json'], environment);
    const ended = once(child, 'close');
    await once(createInterface({ input: child.stderr! }), 'line');
    release();
    await once(createInterface({ input: child.stdout! }), 'line');
    child.kill('SIGTERM');
    await ended;
    assert.equal(child.exitCode, 0);
  });
}
