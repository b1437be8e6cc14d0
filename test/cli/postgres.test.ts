/** The commands with a PostgreSQL database instead of a data folder, as an operator uses them. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { PostgresDatabase } from '../../src/store/catalog/postgres-database.ts';
import { STEPS } from '../../src/store/catalog/postgres-tables.ts';
import { following } from '../import/following.ts';
import { startPostgres, type Throwaway } from '../postgres/throwaway.ts';
import { until } from '../server/stand.ts';
import { run, runJson, runProcess, temporaryFolder } from './command.ts';
import { ask, type Serving, serving } from './serving.ts';
import { writeSmallBundle } from './small-bundle.ts';
import '../without-coverage.ts';

const PASSWORD = 's3cret-p4ss';
const BOARDS = '[{"id":7,"title":"Rhetoric"},{"id":9007199254740993,"title":"Far"}]';

const folder = temporaryFolder();
let postgres: Throwaway;
let url: string;

before(async () => {
  postgres = await startPostgres();
  url = await postgres.newDatabase();
});

after(() => postgres.stop());

function withPassword(address: string): string {
  return address.replace('test@', `test:${PASSWORD}@`);
}

const STEP_NUMBERS = Object.keys(STEPS).map(Number);

describe('migrate', () => {
  it('is requested by every command on a database without tables', async () => {
    for (const words of [
      ['organizations', 'list'],
      ['keys', 'list'],
      ['import', writeSmallBundle(join(folder, 'bundle')), '--organization', 'school'],
      ['serve', '--workers', '1'],
      ['serve', '--workers', '2'],
    ]) {
      const command = words[0] === 'serve' ? runProcess : run;
      const { code, stdout, stderr } = await command([...words, '--database', url]);
      assert.deepEqual([code, stdout], [1, ''], words.join(' '));
      assert.equal(
        stderr,
        'corkboard: The database has no tables of Corkboard yet. Run "corkboard migrate" to create them.\n',
      );
    }
  });

  it('creates the tables, once', async () => {
    const done = await runJson(['migrate', '--database', url]);
    assert.deepEqual(done, { steps: STEP_NUMBERS, setAside: false });
    assert.deepEqual(await runJson(['migrate', '--database', url]), { steps: [], setAside: false });
    const again = await run(['migrate'], { environment: { CORKBOARD_DATABASE: url } });
    assert.deepEqual(again, { code: 0, stdout: 'The database is up to date.\n', stderr: '' });
  });

  it('sets the tables of version 0.1 aside, and prints the remaining steps', async () => {
    const old = await postgres.newDatabase();
    const database = new PostgresDatabase(old);
    await database.rows('CREATE SCHEMA corkboard');
    await database.rows('CREATE TABLE corkboard.migrations AS SELECT generate_series(1, 9) AS number');
    await database.close();
    const refused = await run(['organizations', 'list', '--database', old]);
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /^corkboard: The database was made by Corkboard 0\.1\. .*"corkboard migrate"/,
    );
    const { code, stdout } = await run(['migrate', '--database', old]);
    assert.equal(code, 0);
    const done = STEP_NUMBERS.map((step) => `step ${step}`).join(', ');
    assert.ok(stdout.startsWith(`Done: ${done}.\nThe tables of Corkboard 0.1 are now in the schema`), stdout);
    assert.equal((await run(['organizations', 'list', '--database', old])).code, 0);
  });

  it('names the replacement of --citus', async () => {
    const { code, stdout, stderr } = await run(['migrate', '--citus', '--database', url]);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^corkboard: --citus was removed: versions are stored as chunks in any PostgreSQL/);
  });

  it('requires a database', async () => {
    const { code, stderr } = await run(['migrate']);
    assert.equal(code, 2);
    assert.match(stderr, /^corkboard: Name the database with --database or CORKBOARD_DATABASE/);
  });
});

describe('the address of a database', () => {
  const away = `postgres://test:${PASSWORD}@127.0.0.1:1/corkboard`;

  it('that cannot be reached is refused in a sentence, with exit code 1', async () => {
    const { code, stdout, stderr } = await run(['keys', 'list', '--database', away]);
    assert.deepEqual([code, stdout], [1, '']);
    assert.equal(
      stderr,
      'corkboard: Cannot use the database (connect ECONNREFUSED 127.0.0.1:1). --database must name a database that can be reached, read and written.\n',
    );
  });

  it('that names an unknown database is refused in a sentence', async () => {
    const { code, stderr } = await run(['keys', 'list', '--database', url.replace(/\w+$/, 'nothing')]);
    assert.equal(code, 1);
    assert.match(stderr, /^corkboard: Cannot use the database \(database "nothing" does not exist\)/);
  });

  it('is never printed with its password', async () => {
    const environment = { CORKBOARD_DATABASE: away };
    const results = await Promise.all([
      run(['keys', 'list'], { environment }),
      run(['serve', '--help'], { environment }),
      run(['keys', '--help'], { environment }),
      run(['keys', 'list', '--database', `mysql://test:${PASSWORD}@db/x`]),
      run(['keys', 'list', '--database', `postgres://test:${PASSWORD}@[db/x`]),
      run(['keys', 'list', `--databse=${away}`]),
      run(['keys', 'list', `--database=${away}?password=${PASSWORD}`]),
      run(['keys', 'list', away]),
      run(['keys', 'list', '--data', away]),
      runProcess(['serve', '--workers', '2', '--database', away]),
    ]);
    for (const { stdout, stderr } of results) assert.ok(!`${stdout}${stderr}`.includes('s3cret'), stderr);
    assert.deepEqual(
      results.map(({ code }) => code),
      [1, 0, 0, 2, 2, 2, 1, 2, 2, 1],
    );
  });

  it('that is empty selects the data folder, and overrides the environment', async () => {
    const data = join(folder, 'data');
    mkdirSync(data);
    const words = ['organizations', 'list', '--json', '--data', data];
    for (const result of await Promise.all([
      run(words, { environment: { CORKBOARD_DATABASE: '' } }),
      run([...words, '--database', ''], { environment: { CORKBOARD_DATABASE: away } }),
    ])) {
      assert.deepEqual(result, { code: 0, stdout: '[]\n', stderr: '' });
    }
  });
});

describe('replicas', () => {
  it('are no longer supported, and the message names the replacement', async () => {
    const words = ['serve', '--database', url];
    const results = await Promise.all([
      run(words, { environment: { CORKBOARD_DATABASE_READ: withPassword(url) } }),
      runProcess([...words, '--workers', '2', '--database-read', withPassword(url)]),
      run(['serve', '--data', join(folder, 'none'), '--database-read', withPassword(url)]),
    ]);
    for (const { code, stdout, stderr } of results) {
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, /^corkboard: --database-read \(CORKBOARD_DATABASE_READ\) was removed: .*--cache/);
      assert.ok(!stderr.includes(PASSWORD));
    }
    assert.ok(!existsSync(join(folder, 'none')));
  });

  it('are not mentioned in any help', async () => {
    for (const command of ['serve', 'migrate']) {
      const { stdout } = await run([command, '--help']);
      assert.doesNotMatch(stdout, /citus|database-read/i);
    }
  });
});

describe('servers on one database', () => {
  const school = ['--organization', 'school'];
  let servers: readonly Serving[];
  let key: string;
  const ends: (() => void)[] = [];

  before(async () => {
    await runJson(['import', writeSmallBundle(join(folder, 'bundle')), ...school, '--database', url]);
    key = (await runJson(['keys', 'create', ...school, '--database', url])).key;
    servers = await Promise.all(
      ['1', '2'].map((workers) =>
        serving({ after: (end) => ends.push(end) }, [
          ...['serve', '--workers', workers, '--database', withPassword(url)],
        ]),
      ),
    );
  });

  after(() => {
    for (const end of ends) end();
  });

  /** Sends the request to each server four times, to reach each worker. */
  async function askAll(path: string, withKey = key) {
    const bases = servers.map(({ printed }) => printed['Variant A'] ?? '');
    return await Promise.all(
      [...bases, ...bases, ...bases, ...bases].map((base) => ask(new URL(`${base}${path}`).href, withKey)),
    );
  }
  const statuses = async (path: string, withKey = key) => [
    ...new Set((await askAll(path, withKey)).map(({ status }) => status)),
  ];

  it('respond with its data', async () => {
    for (const { status, body } of await askAll('/v1/boards'))
      assert.deepEqual([status, body], [200, BOARDS]);
  });

  it('hide the password from the list of processes', () => {
    const processes = execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' });
    assert.ok(/serve/.test(processes) && !processes.includes(PASSWORD));
  });

  it('accept a new key at once, and refuse a revoked key soon', async () => {
    const { key: revoked, id } = await runJson(['keys', 'create', ...school, '--database', url]);
    assert.deepEqual(await statuses('/v1/boards', revoked), [200]);
    await runJson(['keys', 'revoke', id, '--database', url]);
    const refused = async () => (await statuses('/v1/boards', revoked)).join() === '401';
    await until(refused);
    assert.equal((await runJson(['keys', 'list', '--database', url])).length, 2);
  });

  it('switch to a newly published version', async () => {
    const more = writeSmallBundle(join(folder, 'more'), { 'boards.csv': 'id,title\n8,Logic\n' });
    await runJson(['import', more, ...school, '--database', url]);
    await until(async () => (await askAll('/v1/boards')).every(({ body }) => body.includes('"Logic"')));
  });

  it('have the same data and points as the other commands', async () => {
    const { boards, events } = await runJson(['organizations', 'show', 'school', '--database', url]);
    assert.deepEqual([boards, events], [3, 3]);
    const explained = await runJson([
      ...['points', 'explain', ...school, '--board', '7', '--user', '1', '--database', url],
    ]);
    assert.ok(explained !== undefined);
    const configured = await runJson([
      ...['organizations', 'configure', 'school', '--title', 'School', '--database', url],
    ]);
    assert.equal(configured.title, 'School');
  });

  it('switch to new versions during an import --follow', async (t) => {
    const { child, untilTold, ended } = following('-', [...school, '--as', 'boards', '--database', url]);
    t.after(() => child.kill('SIGKILL'));
    child.stdin?.write('{"id": 9, "title": "Followed"}\n');
    await untilTold(1);
    await until(async () => (await askAll('/v1/boards')).every(({ body }) => body.includes('"Followed"')));
    child.kill('SIGTERM');
    assert.equal((await ended).code, 0);
  });

  it('respond with 503 and are not ready while it is unreachable, and recover when it is back', async () => {
    await postgres.kill();
    await until(async () => (await statuses('/v1/boards')).join() === '503');
    for (const { headers, body } of await askAll('/v1/boards')) {
      assert.match(body, /"code":"database-away"/);
      assert.equal(headers['retry-after'], '5');
    }
    assert.deepEqual(await statuses('/../readyz'), [503]);
    assert.deepEqual(await statuses('/../livez'), [200]);
    await postgres.start();
    await until(async () => (await statuses('/../readyz')).join() === '200');
    await until(async () => (await statuses('/v1/boards')).join() === '200');
  });
});
