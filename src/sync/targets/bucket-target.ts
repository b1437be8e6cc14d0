/** A copy in a bucket of Parquet files (decision 103). */
import { parseBucketAddress } from '../../store/chunks/bucket-address.ts';
import { S3Objects } from '../../store/chunks/s3-objects.ts';
import type { CopyTarget } from '../copy-target.ts';
import type { LockOptions } from './bucket-lock.ts';
import { CopyBucket } from './copy-bucket.ts';
import { parquetTarget } from './parquet-target.ts';

/** `address` is that of a bucket in the store. Throws `option-malformed`. */
export async function openBucketTarget(address: string, lock?: LockOptions): Promise<CopyTarget> {
  const objects = new S3Objects(parseBucketAddress(address));
  const target = parquetTarget(new CopyBucket(objects, lock), 'bucket');
  return { ...target, close: async () => objects.close() };
}
