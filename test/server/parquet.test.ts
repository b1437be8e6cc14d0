/**
 * Parquet over HTTP: length, tags, HEAD, pages, refusals, and clients that disconnect (decision
 * 17).
 */
import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { Store } from '../../src/store/store.ts';
import { readParquetRows, rowsOfJson } from '../render/parquet-rows.ts';
import { EMBEDDED } from '../storage.ts';
import { head, openStand, type Stand, until } from './stand.ts';

const PARQUET = { accept: 'application/vnd.apache.parquet' };
const EVENTS = 12_000;

/** Pins that do not compress, so that the response is large. */
function records() {
  const pins = Array.from({ length: 3_000 }, (_, index) => ({
    ...{ id: BigInt(1_000 + index), boardId: 7n, ownerId: 5n, title: `Pin ${index}` },
    body: crypto.getRandomValues(Buffer.alloc(300)).toString('base64'),
  }));
  return {
    users: [
      { id: 5n, email: 'five@harbor.example', name: 'Five' },
      { id: 1n, email: 'one@harbor.example', name: 'One' },
    ],
    boards: [{ id: 7n, title: 'Seven' }],
    pins,
    events: Array.from({ length: EVENTS }, (_, index) => ({
      ...{ type: 'pin', action: 'visited', ownerId: 5n, actorId: 1n, boardId: 7n },
      ...{ pinId: pins[index % pins.length]!.id, timestampMs: index },
    })),
  };
}

/** The number of unlinked files that this process has open. */
function namelessFiles(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return /corkboard-[0-9a-f-]+ \(deleted\)$/.test(readlinkSync(`/proc/self/fd/${fd}`));
    } catch {
      return false;
    }
  }).length;
}

/**
 * Breaks the reading of events after `breakAfterBatches` batches, or holds it up. Counts readings.
 */
class Trouble {
  breakAfterBatches = Number.POSITIVE_INFINITY;
  holdUp: Promise<void> | undefined;
  reading = 0;
  readings = 0;

  around = (store: Store): Store =>
    proxy(store, 'openDataset', async (organization: string) => {
      const dataset = await store.openDataset(organization);
      return (
        dataset &&
        proxy(dataset, 'events', (query: Parameters<typeof dataset.events>[0]) =>
          this.#events(dataset.events(query)),
        )
      );
    });

  async *#events<T>(batches: AsyncIterable<T>): AsyncGenerator<T> {
    this.reading += 1;
    this.readings += 1;
    let count = 0;
    try {
      for await (const batch of batches) {
        await this.holdUp;
        count += 1;
        if (count > this.breakAfterBatches) throw new Error('the disk went away');
        yield batch;
      }
    } finally {
      this.reading -= 1;
    }
  }
}

function proxy<T extends object>(target: T, member: string, replacement: unknown): T {
  return new Proxy(target, {
    get: (_, name) => {
      if (name === member) return replacement;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const trouble = new Trouble();
let stand: Stand;

describe('a Parquet response', () => {
  before(async () => {
    stand = await openStand({ kind: EMBEDDED, records: records(), around: trouble.around });
  });
  after(() => stand.close());

  it('has its length and all rows when it is large', async () => {
    const response = await stand.get('/a/v1/events', { ...PARQUET, 'accept-encoding': 'gzip, identity;q=0' });
    const bytes = new Uint8Array(await response.arrayBuffer());
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-encoding'), null);
    assert.equal(response.headers.get('content-type'), PARQUET.accept);
    assert.equal(response.headers.get('content-length'), String(bytes.length));
    assert.equal(response.headers.get('vary'), 'apikey, Authorization, Accept, Accept-Encoding');
    assert.ok(bytes.length > 512 * 1024, 'it is written into a file');
    const json = await (await stand.get('/a/v1/events')).text();
    assert.deepEqual((await readParquetRows(bytes)).rows, rowsOfJson(json));
  });

  it('has the same bytes and tag for the same request, by name or by Accept, also with 304 and HEAD', async () => {
    for (const path of ['/a/v1/events', '/b/v1/boards', '/b/v1/users?limit=1']) {
      const first = await stand.get(path, PARQUET);
      const again = await stand.get(`${path}${path.includes('?') ? '&' : '?'}format=parquet`);
      assert.deepEqual(await again.arrayBuffer(), await first.arrayBuffer());
      const bare = await stand.get(path, PARQUET, 'HEAD');
      for (const name of ['content-type', 'content-length', 'etag', 'link', 'cache-control']) {
        assert.equal(bare.headers.get(name), first.headers.get(name), name);
      }
      assert.equal(await bare.text(), '');
      const tag = first.headers.get('etag') ?? '';
      assert.notEqual(tag, (await stand.get(path, {}, 'HEAD')).headers.get('etag'));
      assert.equal((await stand.get(path, { ...PARQUET, 'if-none-match': tag })).status, 304);
    }
  });

  it('is made once for concurrent requests', async () => {
    const gate = Promise.withResolvers<void>();
    trouble.holdUp = gate.promise;
    const made = trouble.readings;
    const other = await stand.makeKey();
    const asked = [stand.key, other, stand.key, other].map((apikey) =>
      stand.get('/a/v1/events?start=-1', { ...PARQUET, apikey }),
    );
    const early = connect(stand.port, '127.0.0.1');
    early.write(head('GET', '/a/v1/events?start=-1', { apikey: stand.key, ...PARQUET }));
    await until(() => trouble.reading === 1);
    early.destroy();
    gate.resolve();
    trouble.holdUp = undefined;
    const bodies = await Promise.all(
      asked.map(async (response) => Buffer.from(await (await response).arrayBuffer())),
    );
    for (const body of bodies) assert.ok(bodies[0]!.equals(body));
    const again = await stand.get('/a/v1/events?start=-1', PARQUET);
    assert.ok(bodies[0]!.equals(Buffer.from(await again.arrayBuffer())));
    assert.equal(trouble.readings, made + 1);
  });

  it('links to the next page', async () => {
    const page = await stand.get('/a/v1/events?limit=7&format=parquet');
    const [, next = ''] = /^<([^>]+)>; rel="next"$/.exec(page.headers.get('link') ?? '') ?? [];
    const { rows } = await readParquetRows(new Uint8Array(await (await stand.get(next)).arrayBuffer()));
    assert.deepEqual(rows.map((row) => row.at(-1)).slice(0, 1), ['1970-01-01T00:00:00.007+00:00']);
    assert.equal(rows.length, 7);
  });

  it('is refused for maps of points', async () => {
    const refused = await stand.get('/a/v1/board/7/points', PARQUET);
    assert.equal(refused.status, 406);
    assert.equal((await stand.get('/a/v1/board/7/points?format=parquet')).status, 400);
  });

  it('ends when its client disconnects while it is made or sent, and leaves no file', async () => {
    const gate = Promise.withResolvers<void>();
    trouble.holdUp = gate.promise;
    const kept = namelessFiles();
    const early = connect(stand.port, '127.0.0.1');
    early.write(head('GET', '/a/v1/events?start=-2', { apikey: stand.key, ...PARQUET }));
    await until(() => trouble.reading === 1);
    early.destroy();
    await until(() => stand.log.some((line) => line['cut'] === true));
    gate.resolve();
    trouble.holdUp = undefined;
    await until(() => trouble.reading === 0);
    const ended = () => stand.log.filter((line) => line['path'] === '/a/v1/events').length;
    const before = ended();
    const late = connect(stand.port, '127.0.0.1');
    late.write(head('GET', '/a/v1/events?start=-3', { apikey: stand.key, ...PARQUET }));
    await new Promise((resolve) => late.once('data', resolve));
    late.destroy();
    // The response was cut off, or the system had already accepted all of it.
    await until(() => ended() > before);
    // The second file is complete, and is kept.
    await until(() => namelessFiles() === kept + 1);
    assert.ok(!stand.log.some((line) => line['level'] === 'error'));
  });

  it('waits while two others are made, without a delay for other requests', async () => {
    const gate = Promise.withResolvers<void>();
    trouble.holdUp = gate.promise;
    const asked = Array.from({ length: 5 }, (_, at) =>
      stand.get(`/a/v1/events?start=1970-01-01T00:00:00.00${at}Z`, PARQUET),
    );
    await until(() => trouble.reading === 2);
    for (let turn = 0; turn < 20; turn += 1) assert.equal((await stand.get('/a/v1/boards')).status, 200);
    assert.equal(trouble.reading, 2);
    gate.resolve();
    trouble.holdUp = undefined;
    for (const [at, response] of (await Promise.all(asked)).entries()) {
      const { rows } = await readParquetRows(
        new Uint8Array(await response.arrayBuffer()),
        'SELECT count(*) FROM $FILE',
      );
      assert.deepEqual(rows, [[BigInt(EVENTS - at)]]);
    }
  });

  it('is a problem after a failure halfway, without header fields of the response such as the sync token', async () => {
    trouble.breakAfterBatches = 3;
    const kept = namelessFiles();
    try {
      const response = await stand.get('/a/v1/events?start=-4', PARQUET);
      assert.equal(response.status, 500);
      assert.equal(response.headers.get('etag'), null);
      assert.equal(response.headers.get('sync-token'), null);
      assert.equal(response.headers.get('content-type'), 'application/problem+json');
      await response.text();
    } finally {
      trouble.breakAfterBatches = Number.POSITIVE_INFINITY;
    }
    assert.equal(namelessFiles(), kept);
    assert.equal(trouble.reading, 0);
  });

  it('is deleted with its version', async () => {
    assert.ok(namelessFiles() > 0);
    await stand.publish({ boards: [{ id: 99n, title: 'New' }] });
    await until(() => namelessFiles() === 0);
  });
});
