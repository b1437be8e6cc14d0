/** Objects in a bucket that are files, of which ranges are read, or that are copied within it. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { parseBucketAddress } from '../../src/store/chunks/bucket-address.ts';
import { type BucketObject, S3Objects } from '../../src/store/chunks/s3-objects.ts';
import { temporaryFolder } from '../cli/command.ts';
import { FaultProxy, sendError } from '../s3/fault-proxy.ts';
import { sharedBucket } from '../shared-servers.ts';

const folder = temporaryFolder();
const ATTEMPT_MS = 1000;
const CONTENT = randomBytes(200_000);

describe('an object in a bucket', () => {
  let proxy: FaultProxy;
  let objects: S3Objects;
  let path: string;
  before(async () => {
    const bucket = await sharedBucket();
    Object.assign(process.env, bucket.env);
    proxy = await FaultProxy.start(bucket.endpoint);
    const address = bucket.addressAt(proxy.endpoint).replace('?', `/${randomUUID()}?`);
    objects = new S3Objects(parseBucketAddress(address), { attemptMs: ATTEMPT_MS });
    path = join(folder, 'file');
    await writeFile(path, CONTENT);
  });
  beforeEach(() => {
    proxy.fault = () => false;
  });
  after(async () => {
    objects.close();
    await proxy.close();
  });

  async function find(key: string): Promise<BucketObject> {
    for await (const batch of objects.list(key)) return batch[0] ?? assert.fail();
    return assert.fail();
  }

  it('is put from a file for longer than other requests take', async () => {
    proxy.fault = async ({ response }) => {
      await pause(1.5 * ATTEMPT_MS);
      // Without its length, so that the response ends later than it begins.
      response.writeHead(200, { etag: '"x"' }).flushHeaders();
      await pause(20);
      return response.end().writableEnded;
    };
    await objects.putFile('slow', path);
    assert.equal(proxy.requests, 1);
  });

  it('is put from a file again after errors that pass, with all bytes', async () => {
    proxy.fault = ({ number, response }) => number <= 2 && sendError(response, 500, 'InternalError');
    await objects.putFile('again', path);
    assert.equal(proxy.requests, 3);
    assert.ok(CONTENT.equals((await objects.get('again')) ?? Buffer.alloc(0)));
  });

  it('is not put from a file that cannot be read', async () => {
    await assert.rejects(objects.putFile('none', join(folder, 'none')), { code: 'ENOENT' });
    assert.equal(await objects.get('none'), undefined);
  });

  it('is read in ranges, unless it has been replaced', async () => {
    await objects.put('ranges', CONTENT);
    const found = await find('ranges');
    assert.deepEqual(Buffer.from(await objects.getRange(found, 1000, 5000)), CONTENT.subarray(1000, 6000));
    await objects.put('ranges', randomBytes(CONTENT.length));
    const replaced = { code: 'data-unreadable', message: /has been replaced or deleted/ };
    await assert.rejects(objects.getRange(found, 1000, 5000), replaced);
    await objects.delete(['ranges']);
    await assert.rejects(objects.getRange(found, 1000, 5000), replaced);
  });

  it('is copied, unless there is none', async () => {
    await objects.put('month=2018-01/original', CONTENT);
    const bytes = CONTENT.length;
    assert.equal(await objects.copy({ key: 'month=2018-01/original', bytes }, 'copy'), true);
    assert.ok(CONTENT.equals((await objects.get('copy')) ?? Buffer.alloc(0)));
    assert.equal(await objects.copy({ key: 'none', bytes }, 'copy'), false);
    assert.ok(CONTENT.equals((await objects.get('copy')) ?? Buffer.alloc(0)));
  });
});
