/** The bundle that a pull makes of the fetched records. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { writePulledBundle } from '../../src/pull/bundle.ts';
import { countGone } from '../../src/pull/gone.ts';
import { keepLines, LineRoom } from '../../src/pull/kept-lines.ts';
import { LIMITS } from '../../src/pull/limits.ts';
import {
  type ResponseReading,
  readBoards,
  readEvents,
  readPage,
  readPoints,
  readUsers,
} from '../../src/pull/responses.ts';

const FAR = 2n ** 63n - 1n;
const ROOM = new LineRoom(Number.POSITIVE_INFINITY);

/** A temporary folder, and functions to keep responses and read the bundle. */
async function folderOf(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-pull-'));
  t.after(() => rm(folder, { recursive: true }));
  let files = 0;
  const keep = async (body: string, read: ResponseReading) => {
    files += 1;
    const path = join(folder, `events-${files}.ndjson`);
    async function* bytes() {
      yield Buffer.from(body);
    }
    await keepLines(path, read(bytes()), ROOM);
    return path;
  };
  const bundle = join(folder, 'bundle');
  return { folder, bundle, keep, read: (name: string) => readFile(join(bundle, name), 'utf8') };
}

function event(actor: bigint | number, id: string, title = 'Seven'): string {
  const person = `{"id":${actor},"email":"x@y.example","name":"X \\"actor\\":{\\"id\\":9"}`;
  return `{"type":"board","action":"followed","owner":{"id":1},"actor":${person},"board":{"id":7,"title":"${title}"},"timestamp":"2018-03-12T17:00:45.567+00:00","sync_id":"${id}"}\n`;
}

const NOTHING = { users: {}, boards: {}, events: undefined, pages: [], points: [] };

it('a pulled bundle omits events that were fetched before their actor was forgotten, and nothing else', async (t) => {
  const { bundle, keep, read } = await folderOf(t);
  const empty = await keep('[]', readUsers);
  const pages = [
    await keep(event(5, 'one') + event(FAR, 'two'), readPage),
    await keep(`{"forgotten":{"user":5}}\n${event(FAR, 'two', 'Eight')}`, readPage),
  ];
  const fetched = { ...NOTHING, users: { a: empty }, boards: { a: empty }, pages };
  const { paths, forgotten } = await writePulledBundle(bundle, fetched, LIMITS, ROOM);
  assert.deepEqual([...forgotten], ['5']);
  assert.deepEqual(paths, [join(bundle, 'events.ndjson')]);
  const [first = '', second = '', ...rest] = (await read('events.ndjson')).trimEnd().split('\n');
  assert.deepEqual(rest, []);
  assert.equal(JSON.parse(second).board.title, 'Eight');
  assert.ok(first.includes(`"actor":{"id":${FAR},`));
  assert.ok(!first.includes('sync_id'));
  // The same event has the same id in every page.
  const ids = [first, second].map((line) => /,"id":(\d{10,})}$/.exec(line)?.[1]);
  assert.ok(ids[0] !== undefined && ids[0] === ids[1]);
});

it('a pulled event gets its id from its sync_id, whatever ids and actors are elsewhere in it', async (t) => {
  const { keep } = await folderOf(t);
  const plain = await keep(event(5, 'one'), readPage);
  const odd = event(5, 'one').replace(
    '{"type"',
    '{"id":4,"organization":{"id":1,"sync_id":"two","actor":{"id":6}},"type"',
  );
  const [id, oddId] = await Promise.all(
    [plain, await keep(odd, readPage)].map(async (path) => {
      const [user, line = ''] = (await readFile(path, 'utf8')).split('\t');
      assert.equal(user, '5');
      return JSON.parse(line).id;
    }),
  );
  assert.equal(oddId, id);
});

it('a pulled user has the fields of both variants, or of A with the whole name from the events', async (t) => {
  const { bundle, keep, read } = await folderOf(t);
  const a = `[{"id":${FAR},"first_name":"Ada M.","last_name":"King","email":"a@y.example"},{"id":2,"email":"b@y.example"}]`;
  const b = `[{"id":2,"role":"user"},{"id":3},{"id":${FAR},"email":"a@y.example","role":"coadmin","name":"Ada, Countess"}]`;
  const happened = event(FAR, '')
    .replace(/,"sync_id":""/, '')
    .replace(/"name":"X.*?"}/, '"name":"Ada!","role":"user"}');
  const points = `{"a@y.example":{"user_id":${FAR},"board_id":7,"email":"a@y.example","total_points":3,"participation_score":2}}`;
  const boards = { a: await keep('[{"id":7,"title":"Seven"}]', readBoards(9)) };
  const lists = { ...NOTHING, boards, points: [await keep(points, readPoints('7'))] };
  const halves = '"first_name":"Ada M.","last_name":"King"';
  const users = { a: await keep(a, readUsers), b: await keep(b, readUsers) };
  await writePulledBundle(bundle, { ...lists, users }, LIMITS, ROOM);
  assert.equal(
    await read('users.ndjson'),
    `{"id":${FAR},"email":"a@y.example","name":"Ada, Countess",${halves},"role":"coadmin"}\n` +
      '{"id":2,"email":"b@y.example","role":"user"}\n',
  );
  assert.equal(await read('boards.ndjson'), '{"id":7,"title":"Seven"}\n');
  assert.equal(
    await read('points.ndjson'),
    `{"user_id":${FAR},"board_id":7,"total_points":3,"participation_score":2}\n`,
  );
  const events = await keep(`[${happened}]`, readEvents);
  await writePulledBundle(bundle, { ...lists, users: { a: users.a }, events }, LIMITS, ROOM);
  assert.match(
    await read('users.ndjson'),
    new RegExp(`^{"id":${FAR},"email":"a@y.example","name":"Ada!",${halves},"role":"user"}\n`),
  );
});

it('a pulled bundle holds only a limited number of users in memory, and none if the lists have the same order', async (t) => {
  const { bundle, keep } = await folderOf(t);
  const ids = Array.from({ length: 100 }, (_, id) => `{"id":${id},"name":"Somebody"}`);
  const [a, same, turned] = await Promise.all(
    [ids, ids, ids.toReversed()].map((list) => keep(`[${list.join(',')}]`, readUsers)),
  );
  const limits = { ...LIMITS, peopleBytes: 5000 };
  const boards = { a: await keep('[]', readUsers) };
  const write = (b: string | undefined) =>
    writePulledBundle(bundle, { ...NOTHING, users: { a: a!, b: b! }, boards }, limits, ROOM);
  await write(same);
  await assert.rejects(write(turned), { code: 'source-refused', message: /more users/ });
});

it('countGone counts lost records in any number of passes, except those of forgotten users', async (t) => {
  const { folder } = await folderOf(t);
  async function* lines(first: number, last: number) {
    for (let id = first; id <= last; id += 1) yield `${id}\n`;
  }
  for (const kind of ['users', 'boards', 'points']) {
    await keepLines(join(folder, `${kind}`), lines(1, 100), ROOM);
  }
  const now = (await folderOf(t)).folder;
  for (const kind of ['users', 'boards', 'points']) await keepLines(join(now, kind), lines(11, 200), ROOM);
  for (const mostIds of [1, 7, 100, 1000]) {
    assert.deepEqual(await countGone(folder, now, new Set(['3', '150']), mostIds), {
      users: 9,
      boards: 10,
      points: 9,
    });
  }
  assert.deepEqual(await countGone(join(folder, 'nowhere'), now, new Set()), {
    users: 0,
    boards: 0,
    points: 0,
  });
});
