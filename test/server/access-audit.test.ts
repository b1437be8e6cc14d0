import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { openStand, until } from './stand.ts';

const base = mkdtempSync(join(tmpdir(), 'corkboard-access-'));
after(() => rmSync(base, { recursive: true, force: true }));

// biome-ignore lint/suspicious/noExplicitAny: what comes out is what the tests are about
function recordsIn(folder: string): any[] {
  const lines = readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'));
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
}

describe('the access records of a server', () => {
  it('have every request with a key, without data about users', async () => {
    const accessFolder = join(base, 'requests');
    const stand = await openStand({ accessFolder, logLevel: 'silent' });
    const scope = { boards: [1n, 2n], users: [5n] };
    const narrow = await stand.makeKey({ scope });
    const seeing = await stand.makeKey({ allowLmsLookup: true });
    const gone = await stand.makeKey({}, Date.now() - 1);
    const requests = [
      ['/a/v1/events?format=csv', stand.key],
      ['/a/v1/user/5', stand.key],
      ['/a/v1/lms_user/sis/B-1', stand.key],
      ['/b/v1/users?email=ann%40x.example', stand.key],
      ['/insights/v1/overview', narrow],
      ['/a/v1/boards', gone],
      ['/a/v1/boards', 'unknown'],
      ['/insights/v1/boards/7/gradebook?id=sis', seeing],
      ['/insights/v1/boards/7/gradebook', seeing],
      ['/livez', stand.key],
    ] as const;
    for (const [path, apikey] of requests) await (await stand.get(path, { apikey })).arrayBuffer();
    await stand.close();
    const records = recordsIn(accessFolder);
    const narrowScope = records.find(({ route }) => route === '/insights/v1/overview');
    assert.deepEqual([narrowScope.boards, narrowScope.users], [2, 1]);
    const [first] = records;
    assert.deepEqual(
      [first.method, first.route, first.status, first.representation, first.boards, first.organization],
      ['GET', '/a/v1/events', 200, 'csv', 'all', 'harbor'],
    );
    assert.ok(first.bytes > 100);
    assert.deepEqual(
      records.slice(-3).map(({ status, lmsIds }) => [status, lmsIds]),
      [
        [401, undefined],
        [200, true],
        [200, undefined],
      ],
    );
    assert.equal(records.length, requests.length - 2);
    const text = JSON.stringify(records);
    for (const personal of ['x.example', 'ann', 'B-1', '127.0.0.1', '/5', '::1']) {
      assert.ok(!text.includes(personal), personal);
    }
  });

  it('have the number of rows of lists, also if the body was kept from an earlier request', async () => {
    const accessFolder = join(base, 'rows');
    const stand = await openStand({ accessFolder, logLevel: 'silent' });
    const lines = async (path: string) => (await (await stand.get(path)).text()).trimEnd().split('\n').length;
    const paths = ['events', 'events?limit=1', 'users', 'boards', 'events?since=start'].map(
      (path) => `/a/v1/${path}${path.includes('?') ? '&' : '?'}format=ndjson`,
    );
    const expected: number[] = [];
    for (const path of [...paths, ...paths, ...paths]) expected.push(await lines(path));
    const gradebook = '/insights/v1/boards/7/gradebook';
    const graded: number[] = [];
    // The first line is the header.
    for (let n = 0; n < 3; n++) graded.push((await lines(gradebook)) - 1);
    for (const path of ['/a/v1/users?format=parquet', '/insights/v1/overview'])
      await (await stand.get(path)).arrayBuffer();
    await stand.get('/a/v1/users', { 'if-none-match': '*' });
    for (const range of ['bytes=0-', 'bytes=1-', 'bytes=999999-'])
      await (await stand.get('/a/v1/users?format=ndjson', { range })).arrayBuffer();
    await stand.close();
    const rows = recordsIn(accessFolder).map((record) => record.rows);
    const ofRanges = [expected[2], undefined, undefined];
    assert.ok(graded[0]! > 0);
    assert.deepEqual(rows, [...expected, ...graded, expected[2], undefined, undefined, ...ofRanges]);
  });

  it('do not count the sync token at the end of a change set as a row', async () => {
    const accessFolder = join(base, 'tokens');
    const stand = await openStand({ accessFolder, logLevel: 'silent' });
    const path = '/a/v1/events?format=ndjson&token=record&since=';
    const whole = await stand.get(`${path}start`);
    const changes = (await whole.text()).trimEnd().split('\n').length - 1;
    const token = whole.headers.get('sync-token');
    for (const since of ['start&limit=2', token]) await (await stand.get(path + since)).text();
    await stand.close();
    const rows = recordsIn(accessFolder).map((record) => record.rows);
    assert.deepEqual(rows, [changes, 2, 0]);
  });

  it('that are lost are counted in a metric, while the server continues', async () => {
    const accessFolder = join(base, 'lost');
    const stand = await openStand({ accessFolder, logLevel: 'silent' });
    const lost = async () => {
      const text = await (await stand.get('/metrics')).text();
      return Number(/^corkboard_lost_access_records_total (\d+)$/m.exec(text)?.[1]);
    };
    assert.equal(await lost(), 0);
    rmSync(accessFolder, { recursive: true });
    assert.equal((await stand.get('/a/v1/boards')).status, 200);
    await until(async () => (await lost()) === 1);
    assert.equal((await stand.get('/a/v1/boards')).status, 200);
    await stand.close();
  });

  it('are not written by default', async () => {
    const stand = await openStand({ logLevel: 'silent' });
    await stand.get('/a/v1/boards');
    await stand.stop();
    assert.ok(
      !readdirSync(stand.folder, { recursive: true }).some((path) => String(path).includes('access')),
    );
    await stand.close();
  });
});
