/** Chunks in a bucket. Import this module only to open one, because the SDK is slow to load. */
import type { BucketAddress } from './bucket-address.ts';
import { assertChunkNames, assertChunkPrefix } from './chunk-name.ts';
import { CHUNK_NAME, type ChunkPlace } from './chunk-place.ts';
import { type BucketBounds, SOCKETS } from './s3-client.ts';
import { S3Objects } from './s3-objects.ts';

/**
 * The methods also throw `data-unreadable` if name, region, credentials or permissions are wrong.
 */
export function openS3Bucket(address: BucketAddress, bounds: Partial<BucketBounds> = {}): ChunkPlace {
  return new S3Bucket(new S3Objects(address, bounds));
}

class S3Bucket implements ChunkPlace {
  readonly parallel = SOCKETS;
  readonly #objects: S3Objects;

  constructor(objects: S3Objects) {
    this.#objects = objects;
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    assertChunkNames([name]);
    await this.#objects.put(name, bytes);
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    assertChunkNames([name]);
    return await this.#objects.get(name);
  }

  async *list(prefix: string): AsyncGenerator<readonly string[]> {
    assertChunkPrefix(prefix);
    for await (const objects of this.#objects.list(prefix)) {
      const names = objects.map(({ key }) => key).filter((key) => CHUNK_NAME.test(key));
      if (names.length > 0) yield names;
    }
  }

  async delete(names: readonly string[]): Promise<void> {
    assertChunkNames(names);
    await this.#objects.delete(names);
  }

  async close(): Promise<void> {
    this.#objects.close();
  }
}
