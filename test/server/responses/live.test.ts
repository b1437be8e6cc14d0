/** Live streams (decision 58), over real sockets. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Store } from '../../../src/store/store.ts';
import type { Records } from '../../dataset/small-world.ts';
import { openStand, type Stand } from '../stand.ts';

const STREAM = { accept: 'text/event-stream' };

interface Told {
  readonly event: string;
  readonly id: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: what a server sends is looked at as it comes.
  readonly data: any;
}

/** Reads the events of a stream one by one, and counts comments as heartbeats. */
class Listener {
  readonly response: Response;
  heartbeats = 0;
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = '';

  constructor(response: Response) {
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
    assert.ok(response.body);
    this.response = response;
    this.#reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** The next event; absent when the stream has ended. */
  async next(): Promise<Told | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        if (block !== ':') return toldOf(block);
        this.heartbeats += 1;
        continue;
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#text += value;
    }
  }

  /** All changes before the next sync token, and the token. */
  async untilSynced(): Promise<{ changes: Told['data'][]; token: string }> {
    const changes: Told['data'][] = [];
    for (;;) {
      const told = await this.next();
      assert.ok(told, 'the stream has ended');
      if (told.event === 'synced') return { changes, token: told.id ?? '' };
      changes.push(told.data);
    }
  }

  async leave(): Promise<void> {
    await this.#reader.cancel();
  }
}

function toldOf(block: string): Told {
  const fields = Object.fromEntries(
    block.split('\n').map((line) => /^(\w+): (.*)$/.exec(line)?.slice(1) ?? []),
  );
  return {
    event: fields['event'] ?? 'message',
    id: fields['id'],
    data: JSON.parse(fields['data'] ?? 'null'),
  };
}

const VISIT = { type: 'board', action: 'visited', ownerId: 5n, actorId: 1n };

function visit(boardId: bigint, timestampMs: number): Records {
  return { events: [{ ...VISIT, boardId, timestampMs }] };
}

describe('a live stream', () => {
  let stand: Stand;
  before(async () => {
    stand = await openStand({ heartbeatMs: 100 });
  });
  after(() => stand.close());

  /** Publishes, and waits until the version is served. */
  async function publish(records: Records): Promise<void> {
    const tag = async () => (await stand.get('/a/v1/boards')).headers.get('etag');
    const old = await tag();
    await stand.publish(records);
    while ((await tag()) === old) await delay(10);
  }

  const listen = async (path: string, headers: Record<string, string> = {}) =>
    new Listener(await stand.get(path, { ...STREAM, ...headers }));

  it('sends what is published after it began, only in its scope, with the sync ids of a sync', async () => {
    const scoped = await stand.makeKey({ scope: { boards: [8n], users: 'all' } });
    const all = await listen('/a/v1/events');
    const narrow = await listen('/b/v1/events', { apikey: scoped });
    const began = await all.untilSynced();
    assert.deepEqual(began.changes, []);
    await narrow.untilSynced();
    await publish({ events: [...(visit(7n, 1_000).events ?? []), ...(visit(8n, 900).events ?? [])] });
    const { changes, token } = await all.untilSynced();
    assert.deepEqual(
      changes.map(({ board, action }) => [board.id, action]),
      [
        [8, 'visited'],
        [7, 'visited'],
      ],
    );
    const asked = await (await stand.get(`/a/v1/events?since=${began.token}`)).json();
    assert.deepEqual(changes, asked);
    assert.equal((await stand.get('/a/v1/events')).headers.get('sync-token'), token);
    assert.deepEqual(
      (await narrow.untilSynced()).changes.map(({ board }) => board.id),
      [8],
    );
    await all.leave();
    await narrow.leave();
  });

  it('continues from the last token, without a loss between two connections', async () => {
    const first = await listen('/a/v1/events/board/7');
    const { token } = await first.untilSynced();
    await first.leave();
    await publish(visit(7n, 2_000));
    await publish({ users: [{ id: 1n, email: 'new@x.example' }] });
    const again = await listen('/a/v1/events/board/7', { 'last-event-id': token });
    const { changes } = await again.untilSynced();
    const now = await (await stand.get(`/a/v1/events/board/7?since=${token}`)).json();
    assert.ok(changes.length > 1, 'the corrected events come again');
    assert.deepEqual(changes, now);
    await again.leave();
    const whole = await listen('/a/v1/events/board/7?since=start');
    const everything = (await whole.untilSynced()).changes.map(({ sync_id: _name, ...event }) => event);
    assert.deepEqual(everything, await (await stand.get('/a/v1/events/board/7')).json());
    await whole.leave();
  });

  it('reports forgotten users', async () => {
    const listener = await listen('/a/v1/events');
    await listener.untilSynced();
    await publish({
      users: [{ id: 3n, email: 'user-3@forgotten.invalid', name: 'Forgotten', forgotten: true }],
    });
    assert.deepEqual((await listener.untilSynced()).changes[0], { forgotten: { user: 3 } });
    await listener.leave();
  });

  it('sends heartbeats, and ends when its key is revoked', async () => {
    const key = await stand.makeKey();
    const listener = await listen('/a/v1/events', { apikey: key });
    await listener.untilSynced();
    const ending = listener.next();
    await delay(350);
    assert.ok(listener.heartbeats >= 1);
    await stand.keyring.revoke(key.split('_')[1] ?? '');
    assert.equal(await ending, undefined);
  });

  it('is refused for the same reasons as every request, before its first byte', async () => {
    for (const [path, status, headers] of [
      ['/a/v1/events/board/77', 404, {}],
      ['/a/v1/events?limit=3', 400, {}],
      ['/a/v1/events?since=x', 400, {}],
      ['/a/v1/events', 400, { 'last-event-id': 'x' }],
      ['/a/v1/events', 401, { apikey: 'none' }],
      ['/a/v1/boards', 406, {}],
    ] as const) {
      const response = await stand.get(path, { ...STREAM, ...headers });
      assert.equal(response.status, status, path);
      await response.body?.cancel();
    }
    const head = await stand.get('/a/v1/events', STREAM, 'HEAD');
    assert.deepEqual([head.status, head.headers.get('content-type')], [200, 'text/event-stream']);
  });
});

describe('live streams', () => {
  it('are all notified when a thousand wait, and take little memory', { timeout: 180_000 }, async (t) => {
    const stand = await openStand({ logLevel: 'silent' });
    t.after(() => stand.close());
    const sockets: Socket[] = [];
    t.after(() => {
      for (const socket of sockets) socket.destroy();
    });
    const texts: string[] = [];
    const bytesBefore = process.memoryUsage().rss;
    for (let at = 0; at < 1_000; at++) {
      const socket = connect(stand.port, '127.0.0.1');
      sockets.push(socket);
      texts.push('');
      socket.setEncoding('utf8').on('data', (text) => {
        texts[at] = `${texts[at]}${text}`;
      });
      const fields = `host: x\r\napikey: ${stand.key}\r\naccept: text/event-stream\r\n`;
      socket.write(`GET /a/v1/events HTTP/1.1\r\n${fields}\r\n`);
    }
    const until = async (wanted: RegExp) => {
      while (!texts.every((text) => wanted.test(text))) await delay(5);
    };
    await until(/event: synced/);
    const startMs = performance.now();
    await stand.publish(visit(7n, 5_000));
    const publishedMs = performance.now();
    await until(/"action":"visited","owner":\{"id":5.*event: synced/s);
    t.diagnostic(
      `published after ${Math.round(publishedMs - startMs)} ms, told to all ${Math.round(performance.now() - publishedMs)} ms later`,
    );
    const grown = process.memoryUsage().rss - bytesBefore;
    // Both ends of every connection are in this process.
    assert.ok(grown < 300e6, `${Math.round(grown / 1e6)} MB for a thousand streams and their clients`);
  });

  it('are cut off for clients that do not read, and the others continue meanwhile', {
    timeout: 180_000,
  }, async (t) => {
    const pins = [{ id: 70n, boardId: 7n, title: 'Long', body: 'x'.repeat(900_000) }];
    const events = Array.from({ length: 60 }, (_, at) => ({
      ...{ type: 'pin', action: 'visited', ownerId: 5n, actorId: 1n, boardId: 7n, pinId: 70n },
      timestampMs: at,
    }));
    const stand = await openStand({ stalledMs: 300 });
    t.after(() => stand.close());
    await stand.publish({ pins, events });
    const slow = connect(stand.port, '127.0.0.1');
    slow.pause();
    const fields = `host: x\r\napikey: ${stand.key}\r\naccept: text/event-stream\r\n`;
    slow.write(`GET /a/v1/events?since=start HTTP/1.1\r\n${fields}\r\n`);
    const other = new Listener(await stand.get('/a/v1/events/board/8', STREAM));
    await other.untilSynced();
    await stand.publish(visit(8n, 7_000));
    assert.equal((await other.untilSynced()).changes.length, 1);
    await other.leave();
    const isLogged = () => stand.log.some(({ cut, path }) => cut === true && path === '/a/v1/events');
    while (!isLogged()) await delay(20);
    slow.resume();
    await Promise.race([once(slow, 'close'), once(slow, 'error')]);
  });

  it('end when the server stops', async () => {
    const stand = await openStand();
    const listener = new Listener(await stand.get('/a/v1/events', STREAM));
    await listener.untilSynced();
    const ending = listener.next();
    await stand.stop();
    assert.equal(await ending, undefined);
    await stand.close();
    assert.equal(stand.log.filter(({ path, cut }) => path === '/a/v1/events' && cut === true).length, 0);
  });

  it('end as streams when the server stops before they have begun', async () => {
    const opening = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const stand = await openStand({
      around: (store) => {
        const slow: Partial<Store> = {
          currentVersion: (name) => store.currentVersion(name),
          organization: (name) => store.organization(name),
          async openDataset(name) {
            asked.resolve();
            await opening.promise;
            return await store.openDataset(name);
          },
        };
        return slow as Store;
      },
    });
    const response = stand.get('/a/v1/events', STREAM);
    await asked.promise;
    const stopped = stand.stop();
    opening.resolve();
    assert.equal(await new Listener(await response).next(), undefined);
    await stopped;
    await stand.close();
    assert.deepEqual(
      stand.log.filter(({ msg }) => msg === 'request failed'),
      [],
    );
  });
});
