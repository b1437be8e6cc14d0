/** Addresses of buckets: their parts, and refusals that do not repeat a secret. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AppError } from '../../src/domain/app-error.ts';
import { parseBucketAddress } from '../../src/store/chunks/bucket-address.ts';

describe('the address of a bucket', () => {
  const plain = { bucket: 'school', prefix: '', pathStyle: false };
  const understood = [
    ['s3://school', plain],
    ['s3://school/', plain],
    ['s3://my.school-1', { ...plain, bucket: 'my.school-1' }],
    ['s3://school/corkboard', { ...plain, prefix: 'corkboard/' }],
    ['s3://school/corkboard/chunks_1/', { ...plain, prefix: 'corkboard/chunks_1/' }],
    ['s3://school?region=eu-central-1', { ...plain, region: 'eu-central-1' }],
    [
      's3://school/a?endpoint=https://minio.example:9000&region=here&path-style=true',
      { ...plain, prefix: 'a/', endpoint: 'https://minio.example:9000', region: 'here', pathStyle: true },
    ],
    ['s3://school?endpoint=http%3A%2F%2F127.0.0.1', { ...plain, endpoint: 'http://127.0.0.1' }],
    ['s3://school?path-style=false', plain],
    ['s3://school?sse=AES256', { ...plain, encryption: { algorithm: 'AES256' } }],
    ['s3://school?sse=aws:kms', { ...plain, encryption: { algorithm: 'aws:kms' } }],
    [
      's3://school?sse=aws:kms&kms-key=arn:aws:kms:eu-central-1:1:key/2-3',
      { ...plain, encryption: { algorithm: 'aws:kms', kmsKey: 'arn:aws:kms:eu-central-1:1:key/2-3' } },
    ],
  ] as const;
  for (const [address, expected] of understood)
    it(`is understood: ${address}`, () => assert.deepEqual(parseBucketAddress(address), expected));

  const refused = [
    ['', /has the form s3:/],
    ['school', /has the form s3:/],
    ['https://school.s3.amazonaws.com/', /has the form s3:/],
    ['s3:', /name of a bucket/],
    ['s3:///corkboard', /name of a bucket/],
    ['s3://ab', /name of a bucket/],
    ['s3://School', /name of a bucket/],
    ['s3://a..b', /name of a bucket/],
    ['s3://school:9000/', /neither a port nor a fragment/],
    ['s3://school/a#b', /neither a port nor a fragment/],
    ['s3://secret:secret@school', /no credentials.*AWS_ACCESS_KEY_ID/],
    ['s3://secret@school', /no credentials/],
    ['s3://school//a', /prefix/],
    ['s3://school/a//b', /prefix/],
    ['s3://school/.hidden', /prefix/],
    ['s3://school/a%20b', /prefix/],
    [`s3://school/${'a'.repeat(513)}`, /prefix/],
    ['s3://school?secret=secret', /unknown parameter.*endpoint, region/],
    ['s3://school?region=a&region=b', /"region".*only once/],
    ['s3://school?region=', /region/],
    ['s3://school?region=A', /region/],
    ['s3://school?endpoint=', /endpoint/],
    ['s3://school?endpoint=minio.example:9000', /endpoint/],
    ['s3://school?endpoint=ftp://minio.example', /endpoint/],
    ['s3://school?endpoint=https://a:secret@minio.example', /endpoint.*without credentials/],
    ['s3://school?endpoint=https://minio.example?a=secret', /endpoint/],
    ['s3://school?path-style', /"path-style"/],
    ['s3://school?path-style=yes', /"path-style"/],
    ['s3://school?sse=aes256', /"sse"/],
    ['s3://school?sse=', /"sse"/],
    ['s3://school?kms-key=alias/a', /"kms-key"/],
    ['s3://school?sse=AES256&kms-key=alias/a', /"kms-key"/],
    ['s3://school?sse=aws:kms&kms-key=', /"kms-key"/],
  ] as const;
  for (const [address, message] of refused)
    it(`is refused: ${address.slice(0, 60)}`, () =>
      assert.throws(
        () => parseBucketAddress(address),
        (error) => {
          assert.ok(error instanceof AppError && error.code === 'option-malformed');
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /secret/);
          return true;
        },
      ));
});
