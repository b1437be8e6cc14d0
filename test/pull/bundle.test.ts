/** The bundle that is made of what a pull has got. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { writePulledBundle } from '../../src/pull/bundle.ts';

const FAR = 2n ** 63n - 1n;

async function filesOf(t: TestContext, contents: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-pull-'));
  t.after(() => rm(folder, { recursive: true }));
  for (const [name, content] of Object.entries(contents)) await writeFile(join(folder, name), content);
  const file = (name: string) => join(folder, name);
  return { file, read: (name: string) => readFile(join(folder, 'bundle', name), 'utf8') };
}

function event(actor: bigint | number, id: string, title = 'Seven'): string {
  const person = `{"id":${actor},"email":"x@y.example","name":"X \\"actor\\":{\\"id\\":9"}`;
  return `{"type":"board","action":"followed","owner":{"id":1},"actor":${person},"board":{"id":7,"title":"${title}"},"timestamp":"2018-03-12T17:00:45.567+00:00","sync_id":"${id}"}\n`;
}

it('leaves out what was got before its actor was forgotten, and nothing else', async (t) => {
  const { file, read } = await filesOf(t, {
    'users.json': '[]',
    'boards.json': '[]',
    'page-1': event(5, 'one') + event(FAR, 'two'),
    'page-2': `{"forgotten":{"user":5}}\n${event(FAR, 'two', 'Eight')}`,
  });
  const fetched = {
    users: { a: file('users.json') },
    boards: { a: file('boards.json') },
    events: undefined,
    points: [],
  };
  const { paths, forgotten } = await writePulledBundle(file('bundle'), fetched, [
    file('page-1'),
    file('page-2'),
  ]);
  assert.deepEqual(forgotten, ['5']);
  assert.deepEqual(paths, [file('bundle/events-1.ndjson'), file('bundle/events-2.ndjson')]);
  const [first, second] = [await read('events-1.ndjson'), await read('events-2.ndjson')];
  assert.equal(first.match(/\n/g)?.length, 1);
  assert.ok(first.includes(`"actor":{"id":${FAR},`));
  assert.ok(!first.includes('sync_id'));
  // The same event has the same id in every page.
  assert.equal(/^\{"id":(\d+),"type"/.exec(first)?.[1], /^\{"id":(\d+),"type"/.exec(second)?.[1]);
});

it('says of people all that both variants say, and of A alone the whole name from their events', async (t) => {
  const { file, read } = await filesOf(t, {
    'a.json': `[{"id":${FAR},"first_name":"Ada M.","last_name":"King","email":"a@y.example"}]`,
    'b.json': `[{"id":${FAR},"email":"a@y.example","role":"coadmin","name":"Ada, Countess"}]`,
    'boards.json': '[{"id":7,"title":"Seven"}]',
    'events.json': `[{"owner":{"id":1},"actor":{"id":${FAR},"name":"Ada!","role":"user"}}]`,
    'points.json': `{"a@y.example":{"user_id":${FAR},"board_id":7,"email":"a@y.example","total_points":3,"participation_score":2}}`,
  });
  const lists = { boards: { a: file('boards.json') }, points: [file('points.json')] };
  const halves = '"first_name":"Ada M.","last_name":"King"';
  const users = { a: file('a.json'), b: file('b.json') };
  await writePulledBundle(file('bundle'), { ...lists, users, events: undefined }, []);
  assert.equal(
    await read('users.ndjson'),
    `{"id":${FAR},"email":"a@y.example","name":"Ada, Countess",${halves},"role":"coadmin"}\n`,
  );
  assert.equal(await read('boards.ndjson'), '{"id":7,"title":"Seven"}\n');
  assert.equal(
    await read('points.ndjson'),
    `{"user_id":${FAR},"board_id":7,"total_points":3,"participation_score":2}\n`,
  );
  await writePulledBundle(
    file('bundle'),
    { ...lists, users: { a: file('a.json') }, events: file('events.json') },
    [],
  );
  assert.equal(
    await read('users.ndjson'),
    `{"id":${FAR},"email":"a@y.example","name":"Ada!",${halves},"role":"user"}\n`,
  );
});

it('refuses events that cannot be known again, and what is no list', async (t) => {
  const { file } = await filesOf(t, { 'list.json': '[]', 'map.json': '{"a":1}', page: '{"type":"board"}\n' });
  const fetched = {
    users: { a: file('list.json') },
    boards: { a: file('list.json') },
    events: undefined,
    points: [],
  };
  const refused = { code: 'source-refused' };
  await assert.rejects(writePulledBundle(file('bundle'), fetched, [file('page')]), refused);
  await assert.rejects(
    writePulledBundle(file('bundle'), { ...fetched, boards: { a: file('map.json') } }, []),
    refused,
  );
});
