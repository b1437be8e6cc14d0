/** A bucket that is slow, refuses or loses connections: the retried requests, and the errors. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { afterEach, before, beforeEach, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { parseBucketAddress } from '../../src/store/chunks/bucket-address.ts';
import type { ChunkPlace } from '../../src/store/chunks/chunk-place.ts';
import { openS3Bucket } from '../../src/store/chunks/s3-bucket.ts';
import type { BucketBounds } from '../../src/store/chunks/s3-client.ts';
import { type Fault, FaultProxy, type Reply, send, sendError, sendHalf } from '../s3/fault-proxy.ts';
import type { TestBucket } from '../s3/server.ts';
import { sharedBucket } from '../shared-servers.ts';
import { listed } from './chunk-place-contract.ts';

const AWAY = { name: 'AppError', code: 'chunks-away' };
const CHUNK = randomBytes(256 * 1024);
/** Longer than any bound of these tests. */
const LONG_MS = 60_000;

describe('chunks in a bucket that fails', { timeout: LONG_MS }, () => {
  let bucket: TestBucket;
  /** One for each test, because a request that was given up can still arrive in the next one. */
  let proxy: FaultProxy;
  const opened: ChunkPlace[] = [];
  before(async () => {
    bucket = await sharedBucket();
    Object.assign(process.env, bucket.env);
  });
  beforeEach(async () => {
    proxy = await FaultProxy.start(bucket.endpoint);
    await open().put('school/one', CHUNK);
    proxy.fault = () => false;
  });
  afterEach(async () => {
    for (const place of opened.splice(0)) await place.close();
    await proxy.close();
  });

  function open(bounds: Partial<BucketBounds> = {}, more = ''): ChunkPlace {
    const place = openS3Bucket(parseBucketAddress(bucket.addressAt(proxy.endpoint) + more), bounds);
    opened.push(place);
    return place;
  }

  /** Every method once. */
  function uses(place: ChunkPlace): readonly (readonly [string, () => Promise<unknown>])[] {
    return [
      ['put', () => place.put('school/two', CHUNK)],
      ['get', () => place.get('school/one')],
      ['list', () => listed(place, 'school/')],
      ['delete', () => place.delete(['school/two', 'school/three'])],
    ];
  }

  const passing: readonly (readonly [string, Fault])[] = [
    ['500', ({ response }) => sendError(response, 500, 'InternalError')],
    ['502 without a word', ({ response }) => void response.writeHead(502).end() === undefined],
    ['a connection that breaks', ({ response }) => response.destroy().destroyed],
    ['a response that breaks half way', async ({ response, forward }) => sendHalf(response, await forward())],
  ];
  for (const [name, fault] of passing) {
    it(`are put, got, listed and deleted in spite of ${name}`, async () => {
      const place = open();
      for (const [, use] of uses(place)) {
        proxy.fault = (proxied) => proxied.number <= 2 && fault(proxied);
        const result = await use();
        assert.equal(proxy.requests, 3);
        if (result instanceof Uint8Array) assert.ok(CHUNK.equals(result), 'all bytes have arrived');
      }
      assert.deepEqual(await listed(place, 'school/'), ['school/one']);
    });
  }

  const lasting: readonly (readonly [string, Fault])[] = [
    ['503 SlowDown', ({ response }) => sendError(response, 503, 'SlowDown')],
    ['429', ({ response }) => sendError(response, 429, 'TooManyRequests')],
    [
      '503 with a long Retry-After',
      ({ response }) => void response.writeHead(503, { 'retry-after': '3600' }).end() === undefined,
    ],
    ['no response', () => true],
    [
      'a response that stops halfway',
      ({ response }) => void response.writeHead(200, { 'content-length': '100' }).write('half') === undefined,
    ],
    ['connections that break', ({ response }) => response.destroy().destroyed],
  ];
  for (const [name, fault] of lasting) {
    // Without bounds, a Retry-After or an endless response would outlast the timeout of the suite.
    it(`are away, within the bounds, while there is nothing but ${name}`, async () => {
      proxy.fault = fault;
      const place = open({ attempts: 3, attemptMs: 150, requestMs: 700 });
      const running = uses(place).map(([, use]) => assert.rejects(use(), AWAY));
      await Promise.all(running);
      assert.ok(proxy.requests <= 3 * running.length, `${proxy.requests} requests`);
    });
  }

  it('are away if no server listens', async () => {
    const unused = await FaultProxy.start('http://127.0.0.1');
    const { endpoint } = unused;
    await unused.close();
    const place = openS3Bucket(parseBucketAddress(bucket.addressAt(endpoint)), { attempts: 2 });
    for (const [, use] of uses(place)) await assert.rejects(use(), AWAY);
    await place.close();
  });

  const settings: readonly (readonly [number, string, RegExp])[] = [
    [403, 'AccessDenied', /denies access\. Check its name.*s3:ListBucket/],
    [403, 'InvalidAccessKeyId', /does not accept the credentials/],
    [400, 'ExpiredToken', /does not accept the credentials/],
    [404, 'NoSuchBucket', /does not exist\. Check its name, the endpoint/],
    [301, 'PermanentRedirect', /different region.*AWS_REGION/],
    [400, 'AuthorizationHeaderMalformed', /different region/],
    [400, 'KMS.NotFoundException', /kms-key/],
    [501, 'NotImplemented', /does not support the request.*sse/],
    [400, 'InvalidArgument', /refuses the request \(400, InvalidArgument\)/],
    [404, '', /refuses the request \(404/],
  ];
  for (const [status, code, message] of settings) {
    it(`are unreadable after ${status} ${code}, which says what to check`, async () => {
      proxy.fault = ({ response }) => sendError(response, status, code);
      for (const [name, use] of uses(open())) {
        const before = proxy.requests;
        await assert.rejects(use(), { name: 'AppError', code: 'data-unreadable', message }, name);
        // A deletion that is refused for its form is tried again for each of the two chunks.
        const expected = name === 'delete' && [400, 501].includes(status) ? 3 : 1;
        assert.equal(proxy.requests - before, expected, name);
      }
    });
  }

  it('are unreadable if a different program has stored a large object in their place', async () => {
    proxy.fault = ({ response }) => void response.writeHead(200).end(Buffer.alloc(9 * 2 ** 20)) === undefined;
    await assert.rejects(open().get('school/one'), { code: 'data-unreadable', message: /more bytes/ });
    assert.equal(proxy.requests, 1);
  });

  it('are deleted together, with a digest that compatible servers know', async () => {
    const headers: unknown[] = [];
    proxy.fault = async ({ request, forward }) => {
      const names = Object.keys(request.headers).filter((name) => /md5|checksum/.test(name));
      headers.push([request.method, names, (await forward()).status]);
      return false;
    };
    await open().delete(['school/two', 'school/three']);
    assert.deepEqual(headers, [['POST', ['content-md5'], 200]]);
  });

  it('are deleted one by one if the server cannot delete several', async () => {
    for (const [status, code] of [
      [501, 'NotImplemented'],
      [400, 'MissingContentMD5'],
      [405, 'MethodNotAllowed'],
    ] as const) {
      const place = open();
      for (const name of ['school/two', 'school/three']) await place.put(name, CHUNK);
      proxy.fault = ({ request, response }) => request.method === 'POST' && sendError(response, status, code);
      await place.delete(['school/two', 'school/three', 'school/four']);
      assert.deepEqual(await listed(place, 'school/'), ['school/one']);
    }
  });

  it('are deleted again if the server reports that it could not delete some', async () => {
    const place = open();
    await place.put('school/two', CHUNK);
    const body = Buffer.from(
      '<DeleteResult><Error><Key>school/two</Key><Code>InternalError</Code></Error></DeleteResult>',
    );
    proxy.fault = ({ request, response }) =>
      request.method === 'POST' && send(response, { status: 200, headers: {}, body }) === undefined;
    await place.delete(['school/two']);
    assert.equal(await place.get('school/two'), undefined);
  });

  it('are listed as the bucket lists them, even if its listing is out of date', async () => {
    const place = open();
    let kept: Reply | undefined;
    proxy.fault = async ({ response, forward }) => {
      kept ??= await forward();
      send(response, kept);
      return true;
    };
    assert.deepEqual(await listed(place, 'school/'), ['school/one']);
    proxy.fault = () => false;
    await place.put('school/two', CHUNK);
    proxy.fault = ({ response }) => kept !== undefined && send(response, kept) === undefined;
    assert.deepEqual(await listed(place, 'school/'), ['school/one']);
    proxy.fault = () => false;
    await place.delete(['school/two']);
  });

  it('use at most 16 connections, and wait for a free one as long as necessary', async () => {
    const place = open({ attempts: 1 });
    let [atOnce, most] = [0, 0];
    proxy.fault = async () => {
      most = Math.max(most, ++atOnce);
      await new Promise((resolve) => setTimeout(resolve, 30));
      atOnce--;
      return false;
    };
    await Promise.all(Array.from({ length: 200 }, () => place.get('school/none')));
    assert.equal(proxy.requests, 200);
    assert.ok(most > 1 && most <= 16, `${most} at once`);
  });

  it('are stored with the encryption in the address', async () => {
    const sent: unknown[] = [];
    proxy.fault = ({ request: { headers } }) => {
      sent.push([
        headers['x-amz-server-side-encryption'],
        headers['x-amz-server-side-encryption-aws-kms-key-id'],
      ]);
      return false;
    };
    await open().put('school/one', CHUNK);
    await open({}, '&sse=AES256').put('school/one', CHUNK);
    await open({}, '&sse=aws:kms').put('school/one', CHUNK);
    await open({}, '&sse=aws:kms&kms-key=alias/school').put('school/one', CHUNK);
    assert.deepEqual(sent, [
      [undefined, undefined],
      ['AES256', undefined],
      ['aws:kms', undefined],
      ['aws:kms', 'alias/school'],
    ]);
  });

  it('reveal neither the key nor the signed text in an error', async () => {
    const key = process.env['AWS_ACCESS_KEY_ID'] ?? '';
    assert.notEqual(key, '');
    proxy.fault = ({ response }) => {
      const body =
        '<Error><Code>SignatureDoesNotMatch</Code><Message>No.</Message>' +
        `<AWSAccessKeyId>${key}</AWSAccessKeyId><StringToSign>signed-words</StringToSign></Error>`;
      response.writeHead(403, { 'content-type': 'application/xml' }).end(body);
      return true;
    };
    await assert.rejects(open().get('school/one'), (error) => {
      const shown = inspect(error, { depth: 9, showHidden: true });
      assert.match(shown, /SignatureDoesNotMatch/);
      assert.doesNotMatch(shown, new RegExp(`${key}|signed-words`));
      return true;
    });
  });
});
