/** Byte ranges (RFC 9110, section 14; decision 91). */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { bytesFrom } from '../../src/server/bodies/body.ts';
import { firstBytes } from '../../src/server/request/byte-range.ts';
import { runs } from '../model/runs.ts';
import { largeRecords, openStand, type Stand } from './stand.ts';

const PATH = '/a/v1/events';
const PROBLEM = 'application/problem+json';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

/** Unlike `fetch`, neither decompresses nor adds header fields. */
async function ask(stand: Stand, headers: Record<string, string>, path = PATH, method = 'GET') {
  return await new Promise<Answer>((resolve, reject) => {
    const options = { method, headers: { apikey: stand.key, ...headers } };
    const asking = request(stand.url + path, options, async (response) => {
      const { statusCode: status = 0, headersDistinct } = response;
      const fields = new Headers();
      for (const [name, values] of Object.entries(headersDistinct))
        fields.set(name, (values ?? []).join(', '));
      resolve({ status, headers: fields, body: await buffer(response) });
    });
    asking.once('error', reject).end();
  });
}

/** Expects the bytes from `from` to before `to`. */
function assertPart({ status, headers, body }: Answer, whole: Answer, from: number, to: number): void {
  assert.equal(status, 206);
  assert.equal(headers.get('content-range'), `bytes ${from}-${to - 1}/${whole.body.length}`);
  assert.equal(headers.get('content-length'), String(to - from));
  assert.ok(body.equals(whole.body.subarray(from, to)), `bytes ${from} to ${to}`);
  for (const name of ['etag', 'content-type', 'cache-control', 'vary', 'accept-ranges', 'content-encoding'])
    assert.equal(headers.get(name), whole.headers.get(name), name);
}

function assertWhole({ status, headers, body }: Answer, whole: Answer): void {
  assert.equal(status, 200);
  assert.equal(headers.get('content-range'), null);
  assert.ok(body.equals(whole.body));
}

describe('a range of bytes', () => {
  let stand: Stand;
  let whole: Answer;
  let size: number;
  before(async () => {
    stand = await openStand();
    whole = await ask(stand, {});
    size = whole.body.length;
  });
  after(() => stand.close());

  it('is offered with every representation', async () => {
    for (const path of [
      PATH,
      '/a/v1/boards',
      '/b/v1/users',
      '/a/v1/board/7/points',
      '/insights/v1/overview',
    ]) {
      const { status, headers } = await ask(stand, {}, path);
      assert.deepEqual([status, headers.get('accept-ranges')], [200, 'bytes'], path);
    }
    const { headers } = await ask(stand, {}, PATH, 'HEAD');
    assert.deepEqual([headers.get('accept-ranges'), headers.get('content-length')], ['bytes', String(size)]);
  });

  it('is what the standard says it is', async () => {
    const cases: readonly (readonly [string, number, number])[] = [
      ['bytes=0-0', 0, 1],
      ['bytes=0-', 0, size],
      ['bytes=5-9', 5, 10],
      ['Bytes=5-9', 5, 10],
      ['bytes= 5-9 ', 5, 10],
      [`bytes=${size - 1}-`, size - 1, size],
      ['bytes=-1', size - 1, size],
      [`bytes=-${size}`, 0, size],
      [`bytes=-${size + 7}`, 0, size],
      [`bytes=3-${size + 99}`, 3, size],
      ['bytes=3-999999999999999', 3, size],
      ['bytes=3-9223372036854775807', 3, size],
      [`bytes=-${'9'.repeat(400)}`, 0, size],
    ];
    for (const [range, from, to] of cases) assertPart(await ask(stand, { range }), whole, from, to);
  });

  it('is ignored if it is not understood', async () => {
    const fields = [
      'bytes=9-5',
      'bytes=a-b',
      'bytes=-',
      'bytes=',
      'bytes',
      'lines=0-1',
      '0-1',
      'bytes=0x1-2',
    ];
    for (const range of [...fields, 'bytes=1-2;3']) {
      assertWhole(await ask(stand, { range }), whole);
    }
  });

  it('is refused beyond the end, and if there are several', async () => {
    for (const range of [`bytes=${size}-`, `bytes=${size + 5}-${size + 9}`, 'bytes=-0']) {
      const { status, headers, body } = await ask(stand, { range });
      assert.equal(status, 416, range);
      assert.equal(headers.get('content-range'), `bytes */${size}`);
      assert.equal(headers.get('content-type'), PROBLEM);
      assert.equal(headers.get('etag'), null);
      assert.equal(JSON.parse(body.toString()).code, 'range-unsatisfiable');
    }
    for (const range of ['bytes=0-1,4-5', 'bytes=0-1, -1', 'bytes=,0-1,']) {
      const { status, body } = await ask(stand, { range });
      assert.equal(status, 416, range);
      assert.match(JSON.parse(body.toString()).detail, /one range/);
    }
  });

  it('requires the entity tag of If-Range, compared strongly', async () => {
    const etag = whole.headers.get('etag') ?? '';
    const range = 'bytes=2-3';
    assertPart(await ask(stand, { range, 'if-range': etag }), whole, 2, 4);
    for (const other of [`W/${etag}`, '"other"', 'Wed, 21 Oct 2015 07:28:00 GMT', etag.slice(1), '*']) {
      assertWhole(await ask(stand, { range, 'if-range': other }), whole);
    }
    // Without a range, the field means nothing.
    assertWhole(await ask(stand, { 'if-range': etag }), whole);
  });

  it('comes after the other conditions', async () => {
    const etag = whole.headers.get('etag') ?? '';
    const beyond = `bytes=${size}-`;
    for (const range of [beyond, 'bytes=0-1,4-5']) {
      assert.equal((await ask(stand, { range, 'if-none-match': etag })).status, 304);
      assert.equal((await ask(stand, { range, 'if-match': '"other"' })).status, 412);
      assert.equal((await ask(stand, { range }, '/a/v1/board/999/points')).status, 404);
    }
    assert.equal((await ask(stand, { range: 'bytes=0-1', 'if-match': '"other"' })).status, 412);
    assertPart(await ask(stand, { range: 'bytes=0-1', 'if-match': etag }), whole, 0, 2);
    const { status, headers } = await ask(stand, { range: 'bytes=0-1', apikey: 'wrong' });
    assert.deepEqual([status, headers.get('content-range')], [401, null]);
  });

  it('has no effect on HEAD and refusals', async () => {
    const { status, headers } = await ask(stand, { range: 'bytes=0-1' }, PATH, 'HEAD');
    assert.deepEqual([status, headers.get('content-length')], [200, String(size)]);
    assert.equal((await ask(stand, { range: 'bytes=0-1' }, '/a/v1/none')).status, 404);
  });

  it('is one of a compressed response, and of Parquet', async () => {
    for (const headers of [{ 'accept-encoding': 'gzip' }, { accept: 'application/vnd.apache.parquet' }]) {
      const all = await ask(stand, headers);
      const part = await ask(stand, { ...headers, range: 'bytes=4-11' });
      assertPart(part, all, 4, 12);
    }
  });
});

describe('a range of a large response', () => {
  let stand: Stand;
  before(async () => {
    stand = await openStand({ records: largeRecords(3, 2_000) });
  });
  after(() => stand.close());

  it('is the same while the response is made and when it is kept', async () => {
    // Parquet is compressed.
    for (const [accept, from, to] of [
      ['application/json', 300_000, 1_300_000],
      ['text/csv', 300_000, 1_300_000],
      ['application/vnd.apache.parquet', 3_000, 9_000],
    ] as const) {
      const headers = { accept };
      const range = `bytes=${from}-${to - 1}`;
      const first = await ask(stand, { ...headers, range });
      const whole = await ask(stand, headers);
      assertPart(first, whole, from, to);
      assertPart(await ask(stand, { ...headers, range }), whole, from, to);
      const { length } = whole.body;
      assertPart(await ask(stand, { ...headers, range: 'bytes=-7000' }), whole, length - 7_000, length);
      assert.equal((await ask(stand, { ...headers, range: `bytes=${length}-` })).status, 416);
    }
  });

  it('of a compressed one is sent as soon as its length is known', async () => {
    for (const encoding of ['gzip', 'zstd']) {
      const headers = { 'accept-encoding': encoding, accept: 'application/x-ndjson' };
      const whole = await ask(stand, headers);
      assert.equal(whole.headers.get('content-encoding'), encoding);
      const head = await ask(stand, headers, PATH, 'HEAD');
      assert.equal(head.headers.get('content-length'), null);
      let part = await ask(stand, { ...headers, range: 'bytes=100-299' });
      // Until then, the range is ignored.
      for (let round = 0; part.status === 200 && round < 100; round++) {
        assertWhole(part, whole);
        await delay(20);
        part = await ask(stand, { ...headers, range: 'bytes=100-299' });
      }
      assertPart(part, whole, 100, 300);
    }
  });

  it('continues a response that was cut anywhere, to the same bytes', async () => {
    const whole = await ask(stand, {});
    const digest = (body: Buffer) => createHash('sha256').update(body).digest('hex');
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: whole.body.length - 1 }), {
      minLength: 1,
      maxLength: 4,
    });
    const property = fc.asyncProperty(cuts, async (places) => {
      const ends = [...places.sort((one, other) => one - other), whole.body.length];
      const parts: Buffer[] = [];
      let at = 0;
      for (const end of ends) {
        const range = `bytes=${at}-`;
        const etag = whole.headers.get('etag') ?? '';
        const { status, body } = await ask(stand, { range, 'if-range': etag });
        assert.equal(status, 206);
        parts.push(body.subarray(0, end - at));
        at = end;
      }
      assert.equal(digest(Buffer.concat(parts)), digest(whole.body));
    });
    await fc.assert(property, runs(5));
  });
});

describe('the bytes of a part', () => {
  it('are the same however the whole is divided', async () => {
    const division = fc.array(fc.uint8Array({ minLength: 0, maxLength: 5 }), { minLength: 1, maxLength: 8 });
    const property = fc.asyncProperty(division, fc.nat(12), fc.nat(12), async (chunks, from, count) => {
      const parts: Uint8Array[] = [];
      for await (const part of firstBytes(bytesFrom(chunks, from), count)) parts.push(part);
      assert.deepEqual(Buffer.concat(parts), Buffer.concat(chunks).subarray(from, from + count));
    });
    await fc.assert(property, runs(200));
  });
});
