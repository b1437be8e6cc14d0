/** Chunks in a bucket of an S3-compatible server, and the settings that it requires. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { parseBucketAddress } from '../../src/store/chunks/bucket-address.ts';
import type { ChunkPlace } from '../../src/store/chunks/chunk-place.ts';
import { openS3Bucket } from '../../src/store/chunks/s3-bucket.ts';
import { IS_LONG } from '../long.ts';
import type { TestBucket } from '../s3/server.ts';
import { sharedBucket } from '../shared-servers.ts';
import { describeChunkPlace, listed } from './chunk-place-contract.ts';

let bucket: TestBucket;
before(async () => {
  bucket = await sharedBucket();
  Object.assign(process.env, bucket.env);
});

function openUnder(prefix: string): ChunkPlace {
  return openS3Bucket(parseBucketAddress(bucket.address.replace('?', `${prefix}?`)));
}

// A page of a listing has a thousand names, and so has a deletion; the test server is slow with
// each.
describeChunkPlace('in a bucket', async () => openUnder('/contract'), IS_LONG ? 2_345 : 1_010);

describe('chunks in a bucket', () => {
  it('are under the prefix of the address, and chunks under other prefixes are invisible', async () => {
    const [whole, inner, similar] = [openUnder('/deep'), openUnder('/deep/er'), openUnder('/deep-er')];
    for (const [index, place] of [whole, inner, similar].entries())
      await place.put('school/one', Buffer.from([index]));
    assert.deepEqual(await listed(inner, ''), ['school/one']);
    assert.deepEqual(await listed(similar, ''), ['school/one']);
    assert.deepEqual(await listed(whole, ''), ['school/one'], 'deep/er/school/one is no name of a chunk');
    await whole.delete(['school/one']);
    assert.deepEqual(Buffer.from((await inner.get('school/one')) ?? ''), Buffer.from([1]));
    assert.deepEqual(Buffer.from((await similar.get('school/one')) ?? ''), Buffer.from([2]));
    for (const place of [whole, inner, similar]) await place.close();
  });

  it('may be at the top of the bucket', async () => {
    const [, bucketAlone = '', parameters = ''] = /^(s3:\/\/[^/?]+)[^?]*(.*)$/.exec(bucket.address) ?? [];
    const place = openS3Bucket(parseBucketAddress(bucketAlone + parameters));
    const bytes = randomBytes(10);
    const name = `top-${bytes.toString('hex')}/one`;
    await place.put(name, bytes);
    assert.deepEqual(Buffer.from((await place.get(name)) ?? ''), bytes);
    assert.deepEqual(await listed(place, name.replace('one', '')), [name]);
    await place.delete([name]);
    await place.close();
  });
});

describe('a wrong setting of a bucket', () => {
  async function refusedWith(
    message: RegExp,
    change: { readonly env?: NodeJS.ProcessEnv; readonly address?: string },
  ): Promise<void> {
    const kept = { ...process.env };
    // Removes only variables that the other tests do not need.
    for (const name of Object.keys(change.env ?? {})) delete process.env[name];
    for (const [name, value] of Object.entries(change.env ?? {}))
      if (value !== undefined) process.env[name] = value;
    const place = openS3Bucket(parseBucketAddress(change.address ?? bucket.address));
    try {
      const refused = { name: 'AppError', code: 'data-unreadable', message };
      await assert.rejects(place.get('school/one'), refused);
      await assert.rejects(place.put('school/one', randomBytes(1)), refused);
    } finally {
      await place.close();
      Object.assign(process.env, kept);
    }
  }

  it('is named: the secret', () =>
    refusedWith(/does not accept the credentials/, { env: { AWS_SECRET_ACCESS_KEY: 'another' } }));

  it('is named: the access key', () =>
    refusedWith(/does not accept the credentials/, { env: { AWS_ACCESS_KEY_ID: 'ANOTHER' } }));

  it('is named: no credentials at all', () =>
    refusedWith(/No credentials for the bucket were found/, {
      env: { AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined },
    }));

  it('is named: no region', () =>
    refusedWith(/region of the bucket is not set.*AWS_REGION/, { env: { AWS_REGION: undefined } }));

  it('is named: the bucket', () =>
    refusedWith(/does not exist\. Check its name/, {
      address: bucket.address.replace(/^s3:\/\/[^/?]+/, 's3://no-such-bucket'),
    }));
});
