/**
 * Every route with real data of Stack Exchange. The counts must be those of the files, which this
 * test reads line by line without any code of the product.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { IS_LONG } from '../long.ts';
import { assertSuccess, get } from '../model/client.ts';
import { type Deployment, loadFiles, openDeployment } from '../model/deployment.ts';

const FOLDER = join(import.meta.dirname, '../../demo');

/** Short runs test every n-th of two thousand users on four routes; long runs test each one. */
const EVERY_NTH_USER = IS_LONG ? 1 : 16;

type Row = Readonly<Record<string, string>>;

function readRows(name: string): readonly Row[] {
  const text = gunzipSync(readFileSync(join(FOLDER, name))).toString('utf8');
  return parse<Row>(text, { columns: true });
}

function countBy(rows: readonly Row[], column: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(cell(row, column), (counts.get(cell(row, column)) ?? 0) + 1);
  return counts;
}

function cell(row: Row, column: string): string {
  const value = row[column];
  if (value === undefined) throw new Error(`there is no column ${column}`);
  return value;
}

/** Points of each user on each board: `board user` to a sum, without users who are on no board. */
function expectedPoints(events: readonly Row[]): ReadonlyMap<string, number> {
  const follows = new Map<string, Row>();
  const points = new Map<string, number>();
  for (const event of events) {
    const pair = `${cell(event, 'board_id')} ${cell(event, 'actor_id')}`;
    const kind = `${cell(event, 'type')}.${cell(event, 'action')}`;
    const earned = { 'pin.created': 10, 'pin.commented': 5 }[kind] ?? 0;
    points.set(pair, (points.get(pair) ?? 0) + earned);
    if (kind !== 'board.followed' && kind !== 'board.unfollowed') continue;
    const last = follows.get(pair);
    // All times have one form and offset, so they compare as text; on a tie the later line wins.
    if (last === undefined || cell(last, 'timestamp') <= cell(event, 'timestamp')) follows.set(pair, event);
  }
  for (const [pair, event] of follows) if (cell(event, 'action') === 'unfollowed') points.delete(pair);
  return points;
}

interface PointsRecord {
  readonly user_id: number;
  readonly board_id: number;
  readonly total_points: number;
}

function actorOf(event: unknown): string {
  assert.match(JSON.stringify(event), /"actor":\{"id":\d+/);
  return /"actor":\{"id":(\d+)/.exec(JSON.stringify(event))?.[1] ?? '';
}

describe('the Stack Exchange bundle', () => {
  const [users, boards, events] = ['users', 'boards', 'events'].map((kind) => readRows(`${kind}.csv.gz`));
  if (users === undefined || boards === undefined || events === undefined)
    throw new Error('a file is missing');
  const pins = gunzipSync(readFileSync(join(FOLDER, 'pins.ndjson.gz')))
    .toString('utf8')
    .trimEnd()
    .split('\n');
  const pinEvents = events.filter((event) => event['type'] === 'pin');
  const points = expectedPoints(events);
  const asked = users.filter((_user, index) => index % EVERY_NTH_USER === 0);
  let deployment: Deployment;
  let key: string;

  before(async () => {
    deployment = await openDeployment();
    const settings = { courseLookup: true, lmsUserProperties: ['sis_user_id'] };
    await deployment.store.createOrganization('stackexchange', settings);
    await loadFiles(deployment.store, 'stackexchange', [FOLDER]);
    key = await deployment.makeKey('stackexchange');
  });
  after(() => deployment.close());

  async function listFrom(path: string): Promise<readonly unknown[]> {
    const reply = await get(deployment.url + path, key);
    assertSuccess(reply);
    const list: unknown = JSON.parse(reply.text);
    assert.ok(Array.isArray(list));
    return list;
  }

  /** Records of a points map as `board user` to points. */
  async function pointsFrom(path: string): Promise<ReadonlyMap<string, number>> {
    const reply = await get(deployment.url + path, key);
    assertSuccess(reply);
    const records = Object.values<PointsRecord>(JSON.parse(reply.text));
    return new Map(records.map((record) => [`${record.board_id} ${record.user_id}`, record.total_points]));
  }

  function pointsWhere(wanted: (board: string, user: string) => boolean): ReadonlyMap<string, number> {
    return new Map([...points].filter(([pair]) => wanted(...splitPair(pair))));
  }

  function splitPair(pair: string): [string, string] {
    const [board = '', user = ''] = pair.split(' ');
    return [board, user];
  }

  it('has as many events, boards and users on every list route of both variants as its files', async () => {
    for (const [path, count] of [
      ['/a/v1/events', events.length],
      ['/b/v1/events', events.length],
      ['/a/v1/events/pins', pinEvents.length],
      ['/b/v1/pins', pinEvents.length],
      ['/a/v1/boards', boards.length],
      ['/b/v1/boards', boards.length],
      ['/a/v1/users', users.length],
      ['/b/v1/users', users.length],
    ] as const) {
      assert.equal((await listFrom(path)).length, count, path);
    }
    assert.equal(events.length, 20_331);
    const dataset = await deployment.store.openDataset('stackexchange');
    assert.equal(dataset?.counts.pins, pins.length);
    await dataset?.close();
  });

  it('has as many events on every board as its files, in both variants', async () => {
    const counts = countBy(events, 'board_id');
    for (const board of boards) {
      const id = cell(board, 'id');
      assert.equal((await listFrom(`/a/v1/events/board/${id}`)).length, counts.get(id) ?? 0, id);
      assert.equal((await listFrom(`/b/v1/board/${id}`)).length, counts.get(id) ?? 0, id);
    }
  });

  it('has as many events of every user as its files, in both variants', async () => {
    const counts = countBy(events, 'actor_id');
    const actors = (await listFrom('/a/v1/events')).map((event) => actorOf(event));
    const served = countBy(
      actors.map((id) => ({ id })),
      'id',
    );
    assert.deepEqual(sorted(served), sorted(counts));
    for (const user of asked) {
      const id = cell(user, 'id');
      assert.equal((await listFrom(`/a/v1/events/user/${id}`)).length, counts.get(id) ?? 0, id);
      assert.equal((await listFrom(`/b/v1/user/${id}`)).length, counts.get(id) ?? 0, id);
    }
  });

  it('has the points of its files on every board, by id, by LTI id and by course id', async () => {
    for (const board of boards) {
      const expected = pointsWhere((id) => id === cell(board, 'id'));
      for (const path of [
        `board/${cell(board, 'id')}`,
        `lti/${encodeURIComponent(cell(board, 'lti_id'))}`,
        `course/${encodeURIComponent(cell(board, 'course_id'))}`,
      ]) {
        assert.deepEqual(sorted(await pointsFrom(`/a/v1/${path}/points`)), sorted(expected), path);
      }
    }
  });

  it('has the points of its files for every user, by id and by LMS property', async () => {
    for (const user of asked) {
      const expected = pointsWhere((_board, id) => id === cell(user, 'id'));
      for (const path of [
        `user/${cell(user, 'id')}`,
        `lms_user/sis_user_id/${encodeURIComponent(cell(user, 'lms.sis_user_id'))}`,
      ]) {
        assert.deepEqual(sorted(await pointsFrom(`/a/v1/${path}/points`)), sorted(expected), path);
      }
    }
  });
});

function sorted(points: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  return [...points].toSorted(([one], [other]) => (one < other ? -1 : 1));
}
