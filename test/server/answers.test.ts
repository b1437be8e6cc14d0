import assert from 'node:assert/strict';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { Dataset } from '../../src/dataset/dataset.ts';
import type { Store } from '../../src/store/store.ts';
import { EMBEDDED } from '../storage.ts';
import { head, largeRecords, ORGANIZATION, openStand, type Stand, sendRaw, until } from './stand.ts';

const MEGABYTES = 12;
const EVENT_BYTES = 1_000;

/**
 * Counts open datasets and running iterations. Breaks the iteration of events after
 * `breakAfterBatches` batches.
 */
class Watched {
  open = 0;
  iterating = 0;
  breakAfterBatches = Number.POSITIVE_INFINITY;

  around = (store: Store): Store =>
    new Proxy(store, {
      get: (target, name) => {
        if (name === 'openDataset') {
          return async (organization: string) => {
            const dataset = await target.openDataset(organization);
            return dataset && this.#watch(dataset);
          };
        }
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });

  #watch(dataset: Dataset): Dataset {
    this.open += 1;
    const watched = this;
    return new Proxy(dataset, {
      get(target, name) {
        if (name === 'events')
          return (query: Parameters<Dataset['events']>[0]) => watched.#events(target, query);
        if (name === 'close') {
          return async () => {
            await target.close();
            watched.open -= 1;
          };
        }
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  async *#events(dataset: Dataset, query: Parameters<Dataset['events']>[0]) {
    this.iterating += 1;
    let batches = 0;
    try {
      for await (const batch of dataset.events(query)) {
        batches += 1;
        if (batches > this.breakAfterBatches) throw new Error('the disk went away');
        yield batch;
      }
    } finally {
      this.iterating -= 1;
    }
  }
}

/** Asserts that every event of the large records is present, in order, with the correct pin. */
function assertWhole(events: { pin?: { title: string; body: string } }[]): void {
  const bodies = events.flatMap(({ pin }) => (pin === undefined ? [] : [pin]));
  assert.equal(bodies.length, (MEGABYTES * 1e6) / EVENT_BYTES);
  for (const [index, { title, body }] of bodies.entries()) {
    assert.equal(title, `Pin ${index}`);
    assert.ok(body.replaceAll(`${index} `, '') === '', title);
  }
}

const watched = new Watched();
let stand: Stand;

let asked = 0;

/** A path to all events that was not requested before, so that its response is not cached. */
function freshPath(): string {
  asked += 1;
  return `/a/v1/events?start=${-asked}`;
}

// Uses the embedded store: a dataset in memory does not read events through `Dataset.events`.
describe('responses', () => {
  before(async () => {
    stand = await openStand({
      kind: EMBEDDED,
      records: largeRecords(MEGABYTES, EVENT_BYTES),
      around: watched.around,
    });
  });
  after(() => stand.close());

  it('have their length and are complete, when they are large', async () => {
    const response = await stand.get('/a/v1/events');
    const text = await response.text();
    assert.ok(text.length > MEGABYTES * 1e6);
    assert.equal(response.headers.get('content-length'), String(text.length));
    assert.equal(response.headers.get('transfer-encoding'), null);
    assertWhole(JSON.parse(text));
  });

  it('are complete for a client that reads intermittently', async () => {
    for (const encoding of ['identity', 'gzip', 'zstd']) {
      const response = await stand.get('/a/v1/events', { 'accept-encoding': encoding });
      const pieces: Uint8Array[] = [];
      for await (const piece of response.body ?? []) {
        pieces.push(piece);
        // Long enough for the server to fill every buffer between it and the client.
        if (pieces.length % 20 === 1) await setTimeout(20);
      }
      assertWhole(JSON.parse(Buffer.concat(pieces).toString()));
    }
  });

  it('to HEAD have the same header fields and no body', async () => {
    for (const path of [
      '/a/v1/events',
      '/a/v1/boards',
      '/b/v1/users?limit=1',
      '/a/v1/events?format=csv&limit=2',
    ]) {
      for (const encoding of ['identity', 'gzip', 'zstd']) {
        const [full, bare] = await Promise.all(
          ['GET', 'HEAD'].map((method) =>
            sendRaw(stand.port, head(method, path, { apikey: stand.key, 'accept-encoding': encoding })),
          ),
        );
        const fields = (headers: ReadonlyMap<string, string> = new Map()) =>
          [...headers].filter(
            ([name]) => !['date', 'x-request-id', 'server-timing', 'transfer-encoding'].includes(name),
          );
        assert.deepEqual(fields(bare?.headers), fields(full?.headers));
        assert.equal(bare?.body, '');
        assert.equal(bare?.status, 200);
      }
    }
    await until(() => watched.iterating === 0);
  });

  it('contain the same bytes when compressed, with a length if they are small', async () => {
    for (const path of ['/a/v1/events', '/a/v1/boards']) {
      const plain = await (await stand.get(path)).text();
      for (const [encoding, decode] of [
        ['gzip', gunzipSync],
        ['zstd', zstdDecompressSync],
      ] as const) {
        const reply = await rawBytes(path, encoding);
        assert.equal(reply.headers['content-encoding'], encoding);
        assert.equal(
          reply.headers['content-length'],
          path.endsWith('boards') ? String(reply.body.length) : undefined,
        );
        assert.ok(decode(reply.body).equals(Buffer.from(plain)));
      }
    }
  });

  it('stop reading the dataset when the client disconnects', async () => {
    for (const encoding of ['identity', 'gzip', 'zstd']) {
      const socket = connect(stand.port, '127.0.0.1');
      const headers = { apikey: stand.key, 'accept-encoding': encoding };
      socket.write(head('GET', freshPath(), headers));
      await new Promise((resolve) => socket.once('data', resolve));
      assert.ok(watched.iterating > 0);
      socket.destroy();
      await until(() => watched.iterating === 0);
    }
    await until(() => stand.log.some((line) => line['cut'] === true && line['path'] === '/a/v1/events'));
    assert.ok(!stand.log.some((line) => line['level'] === 'error'));
  });

  it('are complete if invalid bytes follow the request, which get no response; then the connection ends', async () => {
    const request = head('GET', '/a/v1/events', { apikey: stand.key, connection: 'keep-alive' });
    const reply = await sendRaw(stand.port, `${request}\x00\x01 nonsense\r\n\r\n`);
    assert.equal(reply.status, 200);
    assertWhole(JSON.parse(reply.body));
    await until(() => watched.iterating === 0);
  });

  it('stop reading the dataset while a client is slow', async () => {
    const socket = connect(stand.port, '127.0.0.1');
    socket.write(head('GET', freshPath(), { apikey: stand.key }));
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();
    const before = stand.log.length;
    for (let turn = 0; turn < 50; turn += 1) await stand.get('/a/v1/boards').then((reply) => reply.text());
    assert.ok(!stand.log.slice(before).some((line) => line['path'] === '/a/v1/events'));
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve));
    await until(() => stand.log.some((line) => line['path'] === '/a/v1/events' && line['cut'] === undefined));
  });

  for (const encoding of ['identity', 'gzip', 'zstd']) {
    it(`a failure half way cuts the connection (${encoding})`, async () => {
      const errors = () => stand.log.filter((line) => line['msg'] === 'request failed').length;
      const before = errors();
      watched.breakAfterBatches = 3;
      try {
        await assert.rejects(rawBytes(freshPath(), encoding), /aborted|hang up|ECONNRESET/);
      } finally {
        watched.breakAfterBatches = Number.POSITIVE_INFINITY;
      }
      await until(() => errors() === before + 1);
      assert.equal(watched.iterating, 0);
    });
  }

  it('are 500 after a failure before the first byte, with the request id and no internals', async () => {
    watched.breakAfterBatches = 0;
    try {
      const response = await stand.get(freshPath(), { 'x-request-id': 'mine-1' });
      const problem: Record<string, unknown> = JSON.parse(await response.text());
      assert.equal(response.status, 500);
      assert.equal(response.headers.get('etag'), null);
      assert.equal(problem['code'], 'internal');
      assert.equal(problem['request_id'], 'mine-1');
      assert.ok(!JSON.stringify(problem).includes('disk'));
    } finally {
      watched.breakAfterBatches = Number.POSITIVE_INFINITY;
    }
    const lines = stand.log.filter((line) => line['request_id'] === 'mine-1');
    assert.equal(lines.length, 1);
    assert.match(JSON.stringify(lines), /the disk went away/);
  });

  it('in flight stay complete during a publication, and the old version is closed after the last of them', async () => {
    const first = await stand.get('/a/v1/boards');
    const path = freshPath();
    const compressed = await Promise.all([
      stand.get(path, { 'accept-encoding': 'gzip' }),
      stand.get(path, { 'accept-encoding': 'zstd' }),
      stand.get('/a/v1/events', { 'accept-encoding': 'gzip' }),
    ]);
    const request = await unread(path, 'identity');
    await stand.publish({ boards: [{ id: 1_000n, title: 'New' }] });
    await until(
      async () => (await stand.get('/a/v1/boards')).headers.get('etag') !== first.headers.get('etag'),
    );
    assert.equal(watched.open, 2);
    const text = (await buffer(request)).toString();
    assert.equal(request.headers['content-length'], String(text.length));
    for (const response of compressed) assert.equal(await response.text(), text);
    await until(() => watched.open === 1);
    assert.match(await (await stand.get('/a/v1/boards')).text(), /"id":1000/);
    await stand.store.organization(ORGANIZATION);
  });
});

interface RawBytes {
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: Buffer;
}

async function rawBytes(path: string, encoding: string): Promise<RawBytes> {
  const response = await unread(path, encoding);
  return { headers: response.headers, body: await buffer(response) };
}

/**
 * The head of a response, on a connection of its own: the buffers of one that is used again can
 * have grown so much that they take all of a large response.
 */
function unread(path: string, encoding: string): Promise<IncomingMessage> {
  const headers = { apikey: stand.key, 'accept-encoding': encoding };
  return new Promise((resolve, reject) => {
    httpGet(`${stand.url}${path}`, { headers, agent: false }, resolve).on('error', reject);
  });
}
