/** Points in copies: always of the version of the events, also in copies of earlier versions. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { openSource, type SyncSource } from '../../src/sync/source.ts';
import type { CopyList } from '../../src/sync/tables.ts';
import { temporaryFolder } from '../cli/command.ts';
import type { Followed } from '../client/followed.ts';
import { openProduct } from '../client/followed-product.ts';
import { type Answering, answering, sendLines, sendRefusal } from '../client/odd-server.ts';
import { type CopyPlace, PARQUET, PLACES } from './copies.ts';
import { filesOf, isDatabase, withoutPoints } from './earlier.ts';
import { assertWhole, sourceOf, update } from './whole.ts';

const folder = temporaryFolder();
const SOME = [1, 2, 3, 2, 1].map((actor) => ({ actor, owner: 1, board: 7 }));

/**
 * Calls `before` before each request for the first page of the list, and `after` after it.
 * `rounds`: the number of rounds so far.
 */
function watched(
  source: SyncSource,
  list: CopyList,
  { before, after }: { before?: () => Promise<void>; after?: () => Promise<void> },
) {
  let rounds = 1;
  const watching: SyncSource = {
    ...source,
    async list(of, tag) {
      if (of === list) await before?.();
      const found = await source.list(of, tag);
      if (of === list) await after?.();
      return found;
    },
    async settle() {
      rounds += 1;
    },
  };
  return { source: watching, rounds: () => rounds };
}

/** The first call only. */
function once(act: () => Promise<void>): () => Promise<void> {
  let isDone = false;
  return async () => {
    if (isDone) return;
    isDone = true;
    await act();
  };
}

for (const kind of PLACES) {
  describe(`the points of a copy in ${kind.name}`, () => {
    let followed: Followed;
    let place: CopyPlace;
    beforeEach(async () => {
      followed = await openProduct();
      place = await kind.make(folder);
      await followed.add(...SOME);
    });
    afterEach(() => followed.close());

    it('are those of the events, whatever is published while they are read', async () => {
      const renamed = once(() => followed.rename(2, 'Renamed'));
      const added = once(() => followed.add({ actor: 2, owner: 1, board: 8 }));
      const first = watched(sourceOf(followed), 'users', { before: renamed });
      await update(place, first.source);
      assert.equal(first.rounds(), 2);
      await assertWhole(place, followed);
      const earned = (await place.rows('points')).map(({ total_points }) => total_points);
      assert.deepEqual(earned.sort(), ['1', '2', '2']);
      await followed.add({ actor: 3, owner: 1, board: 7 });
      // The first of two pages of points is the last of its version.
      const second = watched(sourceOf(followed), 'points', { after: added });
      const { startedAnew, events, points } = await update(place, second.source);
      assert.deepEqual({ startedAnew, events, points }, { startedAnew: false, events: 2, points: 4 });
      assert.equal(second.rounds(), 2);
      await assertWhole(place, followed);
    });

    it('are not read again while nothing is published, also by a run that has read several versions', async () => {
      const added = once(() => followed.add({ actor: 2, owner: 1, board: 8 }));
      await update(place, watched(sourceOf(followed), 'points', { after: added }).source);
      const { users, boards, points } = await update(place, sourceOf(followed));
      assert.deepEqual({ users, boards, points }, { users: undefined, boards: undefined, points: undefined });
    });

    it('are copied although the server publishes faster than it is read, and corrected by the next run', async () => {
      let added = 0;
      const publish = async () => {
        added += 1;
        await followed.add({ actor: 2, owner: 1, board: 8 });
      };
      // The first of two pages of points is the last of its version, in each round.
      const publishing = watched(sourceOf(followed), 'points', { after: publish });
      const first = await update(place, publishing.source);
      assert.equal(publishing.rounds(), 4);
      assert.deepEqual([first.severalVersions, first.events], [true, SOME.length + added - 1]);
      assert.equal((await place.rows('points')).length, first.points);
      assert.equal(first.points, 4);
      const second = await update(place, sourceOf(followed));
      assert.deepEqual([second.severalVersions, second.events, second.points], [false, 1, 4]);
      await assertWhole(place, followed);
    });

    it('are read again if a run ended with several versions, although nothing is published since', async () => {
      const source = sourceOf(followed);
      const two = watched(source, 'boards', { before: async () => void source.versions.add('next') });
      assert.equal((await update(place, two.source)).severalVersions, true);
      await assertWhole(place, followed);
      const { severalVersions, users, boards, points } = await update(place, sourceOf(followed));
      assert.deepEqual(
        { severalVersions, users, boards, points },
        { severalVersions: false, users: undefined, boards: 2, points: 3 },
      );
      await assertWhole(place, followed);
    });

    it('come with the next run into a copy of an earlier version', async () => {
      await update(place, sourceOf(followed));
      await withoutPoints(place);
      const { users, boards, points } = await update(place, sourceOf(followed));
      assert.deepEqual({ users, boards, points }, { users: undefined, boards: undefined, points: 3 });
      await assertWhole(place, followed);
      await withoutPoints(place);
      await followed.forget(1);
      await update(place, sourceOf(followed));
      await assertWhole(place, followed);
      assert.deepEqual((await update(place, sourceOf(followed))).points, undefined);
    });

    it('do not replace points of the user beside a copy of an earlier version', async () => {
      await update(place, sourceOf(followed));
      await withoutPoints(place);
      const own = await addOwnPoints(place);
      await assert.rejects(update(place, sourceOf(followed)), {
        code: 'copy-refused',
        message: /"points(\.parquet)?",? .* Rename yours\.$/,
      });
      assert.deepEqual(await own.content(), own.before);
      await own.remove();
      await update(place, sourceOf(followed));
      await assertWhole(place, followed);
    });

    it('are none if the server shows none, and come back with them', async () => {
      await update(place, sourceOf(followed));
      const source = sourceOf(followed);
      const without: SyncSource = {
        ...source,
        list: async (of, tag) => (of === 'points' ? 'missing' : source.list(of, tag)),
      };
      assert.equal((await update(place, without)).points, 0);
      assert.deepEqual(await place.rows('points'), []);
      assert.equal((await update(place, without)).points, undefined);
      assert.deepEqual(await place.rows('points'), []);
      assert.equal((await update(place, source)).points, 3);
      await assertWhole(place, followed);
    });
  });
}

async function addOwnPoints(place: CopyPlace) {
  if (isDatabase(place)) {
    await place.run('CREATE TABLE points (x BIGINT); INSERT INTO points VALUES (7);');
    const content = () => place.rows('points');
    return { content, before: await content(), remove: () => place.run('DROP TABLE points') };
  }
  const files = filesOf(place);
  await files.put('points.parquet', 'own');
  return {
    content: async () => `${await files.get('points.parquet')}`,
    before: 'own',
    remove: () => files.delete('points.parquet'),
  };
}

describe('a source of points', () => {
  let followed: Followed;
  before(async () => {
    followed = await openProduct();
    await followed.add(...SOME);
  });
  after(() => followed.close());

  it('finds them beside either variant, and beside the one at the root', async () => {
    const root = followed.baseUrl.replace(/\/a$/, '');
    for (const base of [root, `${root}/`, `${root}/v1`, `${root}/a/v1/`, `${root}/b`]) {
      const list = await openSource(base, followed.key).list('points', undefined);
      assert.ok(list !== undefined && list !== 'missing', base);
    }
  });

  it('says that there are none if a server without them or a different service is there', async (t) => {
    const others: Record<string, Answering> = {
      '/old': (response) => sendRefusal(response, 404, 'not-found'),
      '/denied': (response) => response.writeHead(403).end('<h1>403 Forbidden</h1>'),
      '/moved': (response) => response.writeHead(302, { location: '/sign-in' }).end(),
      '/site': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hi</h1>'),
    };
    const server = await answering(t, (response, request) => {
      const [path = '', isPoints] = (request.url ?? '').split('/insights');
      if (isPoints === undefined) return sendLines(response, [], { 'sync-token': 't' });
      return others[path]?.(response, request);
    });
    for (const path of Object.keys(others)) {
      const missing: CopyList[] = [];
      const onMissing = (list: CopyList) => missing.push(list);
      const source = openSource(`${server.url}${path}/a`, 'key', { onMissing, retry: { retries: 0 } });
      const place = await PARQUET.make(folder);
      assert.equal((await update(place, source)).points, undefined);
      assert.deepEqual([await place.rows('points'), missing], [[], ['points']], path);
      // A copy with points does not lose them while a proxy is configured wrongly.
      const again = source.list('points', '"tag"');
      if (path === '/old') assert.equal(await again, 'missing');
      else await assert.rejects(again, { code: 'source-refused' }, path);
    }
  });

  it('refuses the errors of a server that has them', async (t) => {
    const server = await answering(t, (response) => sendRefusal(response, 403, 'key-forbidden'));
    const source = openSource(`${server.url}/a`, 'key', { retry: { retries: 0 } });
    await assert.rejects(source.list('points', undefined), { code: 'source-refused', message: /403/ });
  });
});
