/**
 * What a key sees before and after each change that a command makes, over every kind of route:
 * requests, large responses and live streams under way, cursors and sync tokens. Each change acts
 * within a second (decisions 21, 45, 68, 84).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import type { KeyGrant, Keyring } from '../../src/keys/keyring.ts';
import { get, nextOf } from '../model/client.ts';
import { CATALOGS, describeOver } from '../storage.ts';
import { askSlowly, type SlowClient } from './slow-client.ts';
import { largeRecords, openStand, type Stand, until } from './stand.ts';

const WITHIN_MS = 1_000;
/** A turn of a busy machine counts as this much. */
const LONGEST_TURN_MS = 50;
const STREAM = { accept: 'text/event-stream' };
const ROUTES = [
  ...['/a/v1/events?limit=3', '/a/v1/events/board/7?limit=3', '/a/v1/events/user/1?limit=3'],
  ...['/a/v1/events/pins?limit=3', '/a/v1/boards', '/a/v1/users', '/a/v1/users?format=csv'],
  ...['/a/v1/board/7/points', '/a/v1/board/8/points', '/a/v1/user/1/points', '/a/v1/lti/lti-7/points'],
  ...['/b/v1/events?limit=3', '/b/v1/board/7?limit=3', '/b/v1/boards', '/b/v1/users', '/b/v1/user/5?limit=3'],
  ...['/insights/v1/activity?interval=month', '/insights/v1/participation'],
];
const EIGHT = { scope: { boards: [8n], users: 'of-boards' } } as const;
const SEVEN = { scope: { boards: [7n], users: 'of-boards' } } as const;
const PSEUDONYMS = { redact: { email: true, name: true, id: true } } as const;
const ELSEWHERE = { networks: ['192.0.2.0/24'] } as const;
const SIMILAR = {
  ...{ label: 'renamed', networks: ['127.0.0.0/8', '::1'] },
  rateLimit: { requests: 1_000_000, perSeconds: 1 },
} as const;

interface KeyChange {
  readonly name: string;
  /** The grant before the change; absent: everything. */
  readonly from?: Partial<KeyGrant>;
  make(keyring: Keyring, id: string): Promise<unknown>;
  /** The grant after the change, or the code of the refusal. */
  readonly outcome: Partial<KeyGrant> | string;
  /** Why responses under way are cut; absent: they continue. */
  readonly cutFor?: 'key-changed' | 'key-ended';
}

const configure =
  (changes: Partial<KeyGrant> & { readonly expiry?: number }) => (keyring: Keyring, id: string) =>
    keyring.configure(id, () => changes);

const CHANGES: readonly KeyChange[] = [
  { name: 'a narrower scope', make: configure(EIGHT), outcome: EIGHT, cutFor: 'key-changed' },
  {
    name: 'a wider scope',
    ...{ from: SEVEN, make: configure({ scope: FULL_SCOPE }), outcome: {}, cutFor: 'key-changed' },
  },
  { name: 'redaction', make: configure(PSEUDONYMS), outcome: PSEUDONYMS, cutFor: 'key-changed' },
  {
    name: 'networks without its client',
    ...{ make: configure(ELSEWHERE), outcome: 'network-not-allowed', cutFor: 'key-changed' },
  },
  {
    name: 'an expiry in the past',
    ...{ make: configure({ expiry: Date.now() - 1 }), outcome: 'key-expired', cutFor: 'key-ended' },
  },
  {
    name: 'a rotation without an overlap',
    ...{ make: (keyring, id) => keyring.rotate(id, 0), outcome: 'key-expired', cutFor: 'key-ended' },
  },
  {
    name: 'a revocation',
    ...{ make: (keyring, id) => keyring.revoke(id), outcome: 'key-revoked', cutFor: 'key-ended' },
  },
  { name: 'settings that show the same', make: configure(SIMILAR), outcome: SIMILAR },
];

interface Bodies {
  readonly statuses: readonly number[];
  readonly texts: readonly string[];
}

/** A key with everything that a client may have when it is changed. */
interface Client {
  readonly key: string;
  readonly id: string;
  readonly before: Bodies;
  readonly nextPages: readonly string[];
  readonly token: string;
  readonly large: SlowClient;
  readonly live: SlowClient;
  /** Milliseconds until the change acted on requests, the large response and the live stream. */
  readonly after: { requestsMs: number; largeMs: number; liveMs: number };
  liveHasEnded: boolean;
}

describeOver(CATALOGS, 'a change of a key by a command', { timeout: 300_000 }, (kind) => {
  let stand: Stand;
  let commands: Keyring;
  const clients = new Map<KeyChange, Client>();
  before(async () => {
    stand = await openStand({ kind, records: largeRecords(), stalledMs: 60_000 });
    commands = stand.openKeyring();
    for (const change of CHANGES) clients.set(change, await prepare(stand, change));
    await Promise.all([...clients].map(([change, client]) => apply(stand, commands, change, client)));
    await stand.publish({ events: [{ ...LATER, timestampMs: 9e11 }] });
    await until(() => clients.get(CHANGES.at(-1)!)!.live.bodyText().includes('"action":"followed"'));
  });
  after(async () => {
    await commands.close();
    await stand.close();
  });

  for (const change of CHANGES) {
    describe(`to ${change.name}`, () => {
      const { name, outcome, cutFor } = change;
      const client = () => clients.get(change)!;

      it('acts on the next requests to every route within a second', async () => {
        const { key, before, after } = client();
        assert.ok(after.requestsMs < WITHIN_MS, `${name}: ${after.requestsMs} ms`);
        const now = await bodies(stand, key);
        if (typeof outcome === 'string') {
          for (const text of now.texts) assert.equal(JSON.parse(text).code, outcome);
          return;
        }
        assert.deepEqual(now, await bodies(stand, await stand.makeKey(outcome)));
        if (cutFor !== undefined) assert.notDeepEqual(now.texts, before.texts);
      });

      it(
        cutFor === undefined ? 'leaves a large response alone' : 'cuts a large response within a second',
        async () => {
          const { id, large, after } = client();
          const length = Number(/\r\ncontent-length: (\d+)/i.exec(large.headers)?.[1]);
          const body = await large.takeRest();
          assert.equal(body.length === length, cutFor === undefined);
          assert.ok(after.largeMs < WITHIN_MS, `${name}: ${after.largeMs} ms`);
          const isCut = ({ log }: Stand) =>
            log.filter(({ key, cut_for }) => key === id && cut_for === cutFor);
          if (cutFor !== undefined)
            assert.equal(isCut(stand).length, 2, 'the large response and the live stream');
        },
      );

      it(
        cutFor === undefined ? 'leaves a live stream alone' : 'ends a live stream within a second',
        async () => {
          const { live, after, liveHasEnded } = client();
          assert.equal(liveHasEnded, cutFor !== undefined);
          assert.ok(after.liveMs < WITHIN_MS, `${name}: ${after.liveMs} ms`);
          assert.equal(live.bodyText().includes('"action":"followed"'), cutFor === undefined);
          if (cutFor !== undefined) assert.ok(live.bodyText().endsWith('0\r\n\r\n'), 'ends in good order');
          live.vanish();
        },
      );

      it('decides on earlier cursors and sync tokens', async () => {
        const { key, nextPages, token } = client();
        const codeOf = async (path: string, fields: Record<string, string> = {}) => {
          const response = await stand.get(path, { apikey: key, ...fields });
          if (response.status === 200) await response.body?.cancel();
          return response.status === 200 ? 'accepted' : JSON.parse(await response.text()).code;
        };
        const expected = (refusal: string) =>
          typeof outcome === 'string' ? outcome : cutFor === undefined ? 'accepted' : refusal;
        for (const page of nextPages)
          assert.equal(await codeOf(page), expected('cursor-scope-changed'), page);
        const since = await codeOf(`/a/v1/events?since=${token}`);
        const resumed = await codeOf('/a/v1/events', { ...STREAM, 'last-event-id': token });
        assert.deepEqual([since, resumed], Array(2).fill(expected('since-scope-changed')));
        // A different request, and a damaged token.
        const other = [`/a/v1/events/board/7?since=${token}`, `/a/v1/events?since=${token.slice(1)}`];
        const invalid = typeof outcome === 'string' ? outcome : 'since-invalid';
        const isSeen = typeof outcome === 'string' || outcome.scope !== EIGHT.scope;
        for (const path of isSeen ? other : other.slice(1)) assert.equal(await codeOf(path), invalid, path);
      });
    });
  }
});

const LATER = { type: 'board', action: 'followed', ownerId: 5n, actorId: 1n, boardId: 7n } as const;

async function bodies(stand: Stand, key: string): Promise<Bodies> {
  const replies = await Promise.all(
    ROUTES.map(async (path) => {
      const response = await stand.get(path, { apikey: key });
      const text = await response.text();
      return { status: response.status, text: text.replace(/"request_id":"[^"]*"/, '"request_id":""') };
    }),
  );
  return { statuses: replies.map(({ status }) => status), texts: replies.map(({ text }) => text) };
}

async function prepare(stand: Stand, { from = {} }: KeyChange): Promise<Client> {
  const key = await stand.makeKey(from);
  const pages = await Promise.all(
    ['/a/v1/events?limit=1', '/a/v1/users?limit=1'].map(async (path) => {
      const reply = await get(stand.url + path, key);
      return { token: reply.headers.get('sync-token') ?? '', next: nextOf(reply) ?? '' };
    }),
  );
  const before = await bodies(stand, key);
  assert.deepEqual(before, await bodies(stand, await stand.makeKey(from)));
  const large = await askSlowly(stand, '/a/v1/events', { apikey: key });
  assert.equal(large.status, 200);
  const live = await askSlowly(stand, '/a/v1/events', { apikey: key, ...STREAM });
  const client: Client = {
    ...{ key, id: key.split('_')[1] ?? '', before, large, live, liveHasEnded: false },
    ...{ nextPages: pages.map(({ next }) => next), token: pages[0]?.token ?? '' },
    after: { requestsMs: Infinity, largeMs: Infinity, liveMs: Infinity },
  };
  void live.takeRest().then(() => {
    client.liveHasEnded = true;
  });
  await until(() => live.bodyText().includes('event: synced'));
  return client;
}

/** Makes the change, and measures when it has acted on everything that it acts on. */
async function apply(stand: Stand, commands: Keyring, change: KeyChange, client: Client): Promise<void> {
  const { key, id, after } = client;
  const { outcome, cutFor } = change;
  await change.make(commands, id);
  const expected = typeof outcome === 'string' ? undefined : await stand.makeKey(outcome);
  const probe = '/a/v1/users';
  const wanted = expected && (await (await stand.get(probe, { apikey: expected })).text());
  const acts = async () => {
    const text = await (await stand.get(probe, { apikey: key })).text();
    return typeof outcome === 'string' ? text.includes(`"code":"${outcome}"`) : text === wanted;
  };
  const isCut = () => stand.log.some((line) => line['key'] === id && line['cut_for'] === cutFor);
  [after.requestsMs, after.largeMs, after.liveMs] = await Promise.all([
    timeUntil(acts),
    cutFor === undefined ? 0 : timeUntil(isCut),
    cutFor === undefined ? 0 : timeUntil(() => client.liveHasEnded),
  ]);
}

/** Milliseconds until the condition holds, in which long turns of a busy machine count less. */
async function timeUntil(condition: () => boolean | Promise<boolean>): Promise<number> {
  let ms = 0;
  const endMs = performance.now() + 60_000;
  for (let turnMs = performance.now(); !(await condition()); turnMs = performance.now()) {
    await delay(10);
    ms += Math.min(performance.now() - turnMs, LONGEST_TURN_MS);
    if (performance.now() > endMs) return Infinity;
  }
  return ms;
}
