/**
 * The files that a pull keeps and writes, from honest, odd and hostile servers (decisions 56, 61).
 */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { BOARDS, EVENTS, HONEST, type Mirror, POINTS, prepareMirrors, USERS } from './hostile-mirror.ts';
import { ADDRESS, BOARD, eventOf, pageOf, syncEvent } from './hostile-server.ts';

const { place, newMirror } = prepareMirrors();

describe('a pull', () => {
  it('writes to no path that the server has named', async () => {
    const mirror = await newMirror('plain');
    const target = join(place, 'pwned', 'owned.json');
    mkdirSync(dirname(target));
    writeFileSync(target, '{"mine":"important"}');
    const id = 'x/../../../pwned/owned';
    mirror.server.trick = ({ path }) =>
      path === BOARDS
        ? { body: JSON.stringify([{ id, title: 't' }]) }
        : path.endsWith('points')
          ? { body: '{}' }
          : undefined;
    await assert.rejects(mirror.again(), { code: 'source-refused' });
    assert.equal(readFileSync(target, 'utf8'), '{"mine":"important"}');
    assert.deepEqual(readdirSync(dirname(target)), ['owned.json']);
  });

  it('returns cursors with any characters unchanged to the server', async () => {
    const mirror = await newMirror('tokens');
    const cursors = ['a&b=c', '../../x', 'é\u{1f980}\u2028', '%00 +#?', '"\\\r\n'];
    mirror.server.trick = ({ query }) => {
      if (!query.has('since')) return undefined;
      const cursor = query.get('cursor');
      const step = cursor === null ? 0 : cursors.indexOf(cursor) + 1;
      return pageOf([syncEvent(step)], cursors[step]);
    };
    await mirror.again();
    assert.equal(await mirror.countEvents(), cursors.length + 1);
  });

  it('accepts texts with the line separators of Unicode, and indented JSON', async () => {
    for (const manner of ['plain', 'tokens'] as const) {
      const mirror = await newMirror(manner);
      const odd = 'Ada\u2028King\u2029\u0085';
      const spoilt = (text: string) => text.replaceAll('Ada King', odd);
      mirror.server.trick = ({ path, query }) => {
        if (query.has('since')) return pageOf([spoilt(syncEvent(0))]);
        if (path === '/b/v1/users')
          return { body: `[{"id":1,"email":"${ADDRESS}","role":"user","name":"${odd}"}]` };
        if (path !== EVENTS || manner === 'tokens') return undefined;
        return {
          body: JSON.stringify([JSON.parse(spoilt(eventOf()))], undefined, 2).replaceAll('\n', '\r\n'),
        };
      };
      await mirror.again();
      assert.equal(await mirror.countEvents(), 1);
    }
  });
});

describe('kept data of a pull', () => {
  const interrupted = async () => {
    const mirror = await newMirror('tokens');
    mirror.server.trick = ({ path, query }) => {
      if (path === POINTS) return { status: 404, body: '' };
      if (path === '/b/v1/users') return { body: 'trouble' };
      return query.has('since') && !query.has('cursor') ? pageOf([syncEvent(0)], 'second') : undefined;
    };
    await assert.rejects(mirror.again(), { code: 'source-refused' });
    mirror.server.trick = () => undefined;
    mirror.server.asked.length = 0;
    return mirror;
  };
  const begunAgain = ({ server: { asked } }: Mirror) =>
    asked.some((path) => path.endsWith('since=start&limit=10000'));

  it('is used after an interruption', async () => {
    const mirror = await interrupted();
    // The server sends the first event on both of its pages.
    assert.deepEqual(await mirror.lines(), { ...HONEST, events: 2 });
    assert.ok(!begunAgain(mirror));
  });

  for (const [what, spoil] of [
    ['is missing', (file: string) => rmSync(file)],
    ['is cut short', (file: string) => writeFileSync(file, readFileSync(file).subarray(0, 20))],
    [
      'has different contents',
      (file: string) => writeFileSync(file, Buffer.alloc(readFileSync(file).length, 'x\n')),
    ],
    ['is full of zeros', (file: string) => writeFileSync(file, Buffer.alloc(readFileSync(file).length))],
  ] as const) {
    for (const name of ['page-1', 'users-1.ndjson', 'boards-2.ndjson']) {
      it(`is fetched again from the start when ${name} ${what}`, async () => {
        const mirror = await interrupted();
        spoil(join(mirror.folder, name));
        assert.deepEqual(await mirror.lines(), HONEST);
        assert.ok(begunAgain(mirror));
      });
    }
  }

  for (const [what, progress] of [
    [
      'of an earlier version',
      { files: { 'users.json': { round: 1 }, 'points-../../x.json': { round: 1 } }, pages: 1 },
    ],
    [
      'with a name that is a path',
      { format: 2, files: [['../x', { round: 1, file: { number: 1, bytes: 1 } }]] },
    ],
    [
      'with a number that is a path',
      { format: 2, files: [['users', { round: 1, file: { number: '/../x', bytes: 1 } }]] },
    ],
    ['that is not an object', [1]],
  ] as const) {
    it(`is fetched again from the start if there is a progress file ${what}`, async () => {
      const mirror = await interrupted();
      const file = join(mirror.folder, 'progress.json');
      const { source } = JSON.parse(readFileSync(file, 'utf8'));
      writeFileSync(file, JSON.stringify({ ...progress, source, round: 1 }));
      writeFileSync(join(mirror.folder, 'users.json'), 'of an earlier version');
      assert.deepEqual(await mirror.lines(), HONEST);
      assert.ok(begunAgain(mirror));
      assert.deepEqual(readdirSync(mirror.folder).toSorted(), ['progress.json', 'published']);
    });
  }

  it('consists, after the publication, of ids and entity tags, and contains no personal data', async () => {
    for (const manner of ['plain', 'tokens'] as const) {
      const mirror = await newMirror(manner);
      await mirror.again();
      const texts = readdirSync(mirror.folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));
      assert.ok(texts.length >= 4);
      for (const text of texts) assert.doesNotMatch(text, /ada|king|seven/i);
    }
  });

  it('is revalidated by every pull, even after one that found nothing new', async () => {
    const mirror = await newMirror('tokens');
    await mirror.again();
    for (let times = 0; times < 2; times += 1) {
      mirror.server.asked.length = 0;
      assert.equal((await mirror.again()).outcome, 'unchanged');
      assert.deepEqual(mirror.server.asked, [USERS]);
    }
    mirror.server.version = '2';
    mirror.server.trick = ({ query }) =>
      query.get('since') === 'token' ? pageOf([syncEvent(1)]) : undefined;
    assert.equal((await mirror.again()).outcome, 'pulled');
    assert.equal(await mirror.countEvents(), 2);
  });

  it('is fetched again completely from a server with entity tags only, once one has changed', async () => {
    const mirror = await newMirror('plain');
    let title = 'Seven';
    const bodies: Record<string, () => string> = {
      [USERS]: () => `[{"id":1,"first_name":"Ada","last_name":"King","email":"${ADDRESS}"}]`,
      [BOARDS]: () => `[{"id":${BOARD},"title":"${title}"}]`,
      [EVENTS]: () => `[${eventOf()}]`,
      [POINTS]: () => '{}',
    };
    mirror.server.trick = ({ path, tag }) => {
      const body = bodies[path]?.() ?? '';
      const etag = `"${Buffer.from(body).toString('hex').slice(0, 100)}"`;
      return tag === etag ? { status: 304, body: '' } : { headers: { etag }, body };
    };
    assert.deepEqual(await mirror.lines(), { users: 1, boards: 1, events: 1 });
    mirror.server.asked.length = 0;
    assert.deepEqual(await mirror.lines(), {});
    assert.deepEqual(mirror.server.asked.toSorted(), [POINTS, BOARDS, EVENTS, USERS].toSorted());
    title = 'Eight';
    assert.deepEqual(await mirror.lines(), { users: 1, boards: 1, events: 1 });
  });

  it('uses no more than its share of the disk', async () => {
    const mirror = await newMirror('plain');
    await assert.rejects(mirror.lines({ limits: { shareOfDisk: 0 } }), {
      code: 'source-refused',
      message: /more than half of the free disk space/,
    });
    assert.deepEqual(
      readdirSync(mirror.folder).filter((name) => name.endsWith('.part')),
      [],
    );
  });
});
