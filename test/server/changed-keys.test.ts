/** Keys whose scope or redaction changes while a server runs (decision 68). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { KeyChanges } from '../../src/keys/keyring.ts';
import type { Store } from '../../src/store/store.ts';
import { IS_LONG } from '../long.ts';
import { CATALOGS, DEFAULT_STORAGE, describeOver } from '../storage.ts';
import { askSlowly, metric } from './slow-client.ts';
import { largeRecords, openStand, type Stand, until } from './stand.ts';

const STREAM = { accept: 'text/event-stream' };
const EIGHT: KeyChanges = { scope: { boards: [8n], users: 'of-boards' } };
const WIDE: KeyChanges = { scope: { boards: 'all', users: 'all' } };
const VISIT = { type: 'board', action: 'visited', ownerId: 5n, actorId: 1n };
const PSEUDONYMS: KeyChanges = { redact: { email: true, name: true, id: false } };

const configure = ({ keyring }: Stand, key: string, changes: KeyChanges) =>
  keyring.configure(key.split('_')[1] ?? '', () => changes);

/** That a change reaches the server from PostgreSQL, too, is shown by `key-changes.test.ts`. */
const STORAGES = IS_LONG ? CATALOGS : [DEFAULT_STORAGE];

describeOver(STORAGES, 'a changed key', {}, (kind) => {
  let stand: Stand;
  let key: string;
  before(async () => {
    stand = await openStand({ kind });
  });
  after(() => stand.close());

  const get = (path: string, headers: Record<string, string> = {}) =>
    stand.get(path, { apikey: key, ...headers });
  const textOf = async (path: string) => await (await get(path)).text();
  const statusOf = async (path: string, headers: Record<string, string> = {}) => {
    const response = await get(path, headers);
    await response.text();
    return response.status;
  };
  const tagOf = async (path: string) => (await get(path)).headers.get('etag') ?? '';
  const code = async (path: string) => {
    const { code }: { code?: string } = JSON.parse(await textOf(path));
    return code;
  };

  it('sees the same as a new key with that scope, from the next request on', async () => {
    key = await stand.makeKey();
    const paths = ['/a/v1/events', '/a/v1/boards', '/b/v1/users', '/a/v1/board/8/points'];
    const narrow = await stand.makeKey({ scope: { boards: [8n], users: 'of-boards' } });
    for (const path of paths) {
      // Requested twice, so that the response is cached.
      const wide = [await textOf(path), await textOf(path)];
      const wideTag = await tagOf(path);
      await configure(stand, key, EIGHT);
      const expected = await stand.get(path, { apikey: narrow });
      assert.equal(await textOf(path), await expected.text(), path);
      assert.notEqual(await tagOf(path), wideTag);
      assert.equal(await statusOf(path, { 'if-none-match': wideTag }), 200);
      assert.equal(await tagOf(path), expected.headers.get('etag'));
      await configure(stand, key, WIDE);
      assert.deepEqual(wide, [await textOf(path), await textOf(path)]);
      assert.equal(await statusOf(path, { 'if-none-match': wideTag }), 304);
    }
    await configure(stand, key, EIGHT);
    assert.equal(await statusOf('/a/v1/events/board/7'), 404);
  });

  it('gets pseudonyms from the next request on, and loses look-ups unless they are allowed', async () => {
    key = await stand.makeKey();
    const tag = await tagOf('/a/v1/users');
    assert.match(await textOf('/a/v1/users'), /eve@x\.example/);
    assert.equal(await statusOf('/a/v1/lms_user/sis/B-1/points'), 200);
    await configure(stand, key, PSEUDONYMS);
    assert.doesNotMatch(await textOf('/a/v1/users'), /@x\.example/);
    assert.equal(await statusOf('/a/v1/users', { 'if-none-match': tag }), 200);
    assert.equal(await statusOf('/a/v1/lms_user/sis/B-1/points'), 403);
    await configure(stand, key, { allowLmsLookup: true });
    assert.equal(await statusOf('/a/v1/lms_user/sis/B-1/points'), 200);
  });

  it('is refused with its earlier cursors and sync tokens', async () => {
    for (const changes of [EIGHT, PSEUDONYMS]) {
      key = await stand.makeKey();
      const page = await get('/a/v1/events?limit=1');
      await page.text();
      const next = /<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1] ?? '';
      const list = await get('/a/v1/boards?limit=1');
      await list.text();
      const nextOfList = /<([^>]+)>/.exec(list.headers.get('link') ?? '')?.[1] ?? '';
      const token = page.headers.get('sync-token') ?? '';
      const since = `/a/v1/events?since=${token}`;
      assert.deepEqual(
        [await statusOf(next), await statusOf(nextOfList), await statusOf(since)],
        [200, 200, 200],
      );
      await configure(stand, key, changes);
      assert.equal(await code(next), 'cursor-scope-changed');
      assert.equal(await code(nextOfList), 'cursor-scope-changed');
      assert.equal(await code(since), 'since-scope-changed');
      const again = await stand.get('/a/v1/events', { apikey: key, ...STREAM, 'last-event-id': token });
      assert.equal(again.status, 400);
      await again.text();
    }
  });

  it('has its new rate limit from the next request on', async () => {
    key = await stand.makeKey();
    assert.equal((await get('/a/v1/boards')).headers.get('ratelimit-policy'), null);
    await configure(stand, key, { rateLimit: { requests: 1, perSeconds: 3600 } });
    assert.deepEqual([await statusOf('/a/v1/boards'), await statusOf('/a/v1/boards')], [200, 429]);
    await configure(stand, key, { rateLimit: undefined });
    assert.equal(await statusOf('/a/v1/boards'), 200);
  });

  it('ends its live streams, which continue after a change of its label and expiry', {
    timeout: 180_000,
  }, async () => {
    for (const [timestampMs, changes] of [EIGHT, PSEUDONYMS].entries()) {
      key = await stand.makeKey();
      const stream = await askSlowly(stand, '/a/v1/events', { apikey: key, ...STREAM });
      const text = stream.takeRest();
      await until(() => stream.bodyText().includes('event: synced'));
      await configure(stand, key, { label: 'renamed', expiry: Date.now() + 1e6 });
      await stand.publish({ events: [{ ...VISIT, boardId: 7n, timestampMs }] });
      await until(() => /"action":"visited".*event: synced\n.*\n.*\n\n/s.test(stream.bodyText()));
      await configure(stand, key, changes);
      await stand.publish({ users: [{ id: 1n, email: `changed-${timestampMs}@x.example` }] });
      const told = (await text).toString();
      assert.match(told, /"action":"visited"/);
      assert.ok(!told.includes(`changed-${timestampMs}@`));
      assert.ok(told.endsWith('0\r\n\r\n'), 'ends in good order');
    }
  });
});

describe('a large response in flight', { timeout: 180_000 }, () => {
  it('is cut off when the scope, redaction or permission of its key changes, and not for other changes', async (t) => {
    const stand = await openStand({ records: largeRecords() });
    t.after(() => stand.close());
    for (const changes of [EIGHT, PSEUDONYMS, { allowLmsLookup: false }, { lmsSplits: ['campus'] }]) {
      const key = await stand.makeKey({ allowLmsLookup: true, lmsSplits: ['campus', 'cohort'] });
      const narrowed = await askSlowly(stand, '/a/v1/events', { apikey: key });
      const other = await stand.makeKey();
      const renamed = await askSlowly(stand, '/a/v1/events', { apikey: other });
      await configure(stand, other, { label: 'renamed', expiry: Date.now() + 1e6 });
      await configure(stand, key, changes);
      const before = stand.log.length;
      await until(() => stand.log.slice(before).some((line) => line['cut_for'] === 'key-changed'));
      const lengthOf = (headers: string) => Number(/\r\ncontent-length: (\d+)/i.exec(headers)?.[1]);
      assert.ok((await narrowed.takeRest()).length < lengthOf(narrowed.headers));
      assert.equal((await renamed.takeRest()).length, lengthOf(renamed.headers));
    }
    assert.equal(await metric(stand, 'corkboard_cut_responses_total{reason="key-changed"}'), 4);
  });
});

it('a change of networks cuts the large responses of clients outside of them, and of no others', {
  timeout: 180_000,
}, async (t) => {
  const stand = await openStand({ records: largeRecords(), trustedProxies: ['127.0.0.1'] });
  t.after(() => stand.close());
  const key = await stand.makeKey();
  const from = (address: string) => ({ apikey: key, 'x-forwarded-for': address });
  const inside = await askSlowly(stand, '/a/v1/events', from('192.0.2.7'));
  const outside = await askSlowly(stand, '/a/v1/events', from('198.51.100.7'));
  const live = await askSlowly(stand, '/a/v1/events', { ...from('198.51.100.7'), ...STREAM });
  await configure(stand, key, { networks: ['192.0.2.0/24'] });
  await until(() => stand.log.filter((line) => line['cut_for'] === 'key-changed').length === 2);
  const lengthOf = (headers: string) => Number(/\r\ncontent-length: (\d+)/i.exec(headers)?.[1]);
  assert.ok((await outside.takeRest()).length < lengthOf(outside.headers));
  assert.ok((await live.takeRest()).toString().endsWith('0\r\n\r\n'), 'ends in good order');
  assert.equal((await inside.takeRest()).length, lengthOf(inside.headers));
});

it('a request that waits while its key changes is refused, and other changes do not concern it', {
  timeout: 180_000,
}, async (t) => {
  const gate = Promise.withResolvers<void>();
  const waitsFor = (store: Store): Store =>
    new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (name !== 'openDataset') return typeof value === 'function' ? value.bind(target) : value;
        return async (organization: string) => {
          await gate.promise;
          return await target.openDataset(organization);
        };
      },
    });
  const stand = await openStand({ around: waitsFor });
  t.after(() => stand.close());
  const [narrowed, revoked, renamed] = [await stand.makeKey(), await stand.makeKey(), await stand.makeKey()];
  const withIds = await stand.makeKey({ allowLmsLookup: true });
  const lookingUp = await stand.makeKey({ ...PSEUDONYMS, allowLmsLookup: true });
  const splitting = await stand.makeKey({ lmsSplits: ['cohort'] });
  const paths = [
    ...[narrowed, revoked, renamed].map((key) => [key, '/a/v1/boards'] as const),
    [withIds, '/insights/v1/boards/7/gradebook?id=sis'],
    [lookingUp, '/a/v1/lms_user/sis/B-1/points'],
    [splitting, '/insights/v1/activity?by=lms&property=cohort'],
  ] as const;
  const replies = paths.map(([apikey, path]) => stand.get(path, { apikey }));
  const startMs = performance.now();
  await until(async () => (await metric(stand, 'corkboard_requests_in_flight')) >= replies.length);
  await configure(stand, narrowed, EIGHT);
  await stand.keyring.revoke(revoked.split('_')[1] ?? '');
  await configure(stand, renamed, { label: 'renamed' });
  for (const key of [withIds, lookingUp]) await configure(stand, key, { allowLmsLookup: false });
  await configure(stand, splitting, { lmsSplits: undefined });
  // Within a second a change need not act.
  await until(() => performance.now() - startMs > 1_000);
  gate.resolve();
  const results = await Promise.all(
    replies.map(async (reply) => [(await reply).status, JSON.parse(await (await reply).text()).code]),
  );
  assert.deepEqual(results, [
    [503, 'server-busy'],
    [401, 'key-revoked'],
    [200, undefined],
    [503, 'server-busy'],
    [503, 'server-busy'],
    [503, 'server-busy'],
  ]);
  assert.equal((await stand.get('/a/v1/boards', { apikey: narrowed })).status, 200);
});
