/** Objects in a bucket for tests, without the code of the product. */
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';

/** Keys are relative to the prefix in the address. */
export class TestObjects {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;

  constructor(address: string) {
    const { hostname, pathname, searchParams } = new URL(address);
    const [endpoint, region] = [searchParams.get('endpoint'), searchParams.get('region')];
    this.#bucket = hostname;
    this.#prefix = `${pathname.slice(1)}/`;
    this.#client = new S3Client({
      ...(endpoint !== null && { endpoint }),
      ...(region !== null && { region }),
      forcePathStyle: searchParams.get('path-style') === 'true',
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    });
  }

  /** In the order of the keys. */
  async keys(): Promise<readonly string[]> {
    return Object.keys(await this.tags());
  }

  /** Keys, with an entity tag for the content of each, in the order of the keys. */
  async tags(): Promise<Readonly<Record<string, string>>> {
    const found: [string, string][] = [];
    for (let token: string | undefined; ; ) {
      const page = await this.#client.send(
        new ListObjectsV2Command({
          ...{ Bucket: this.#bucket, Prefix: this.#prefix },
          ...(token !== undefined && { ContinuationToken: token }),
        }),
      );
      for (const { Key = '', ETag = '' } of page.Contents ?? [])
        found.push([Key.slice(this.#prefix.length), ETag]);
      token = page.NextContinuationToken;
      if (token === undefined) break;
    }
    return Object.fromEntries(found.sort());
  }

  async get(key: string): Promise<Buffer> {
    const { Body } = await this.#client.send(new GetObjectCommand(this.#place(key)));
    return Buffer.from((await Body?.transformToByteArray()) ?? []);
  }

  async put(key: string, content: string): Promise<void> {
    const ContentLength = Buffer.byteLength(content);
    await this.#client.send(new PutObjectCommand({ ...this.#place(key), Body: content, ContentLength }));
  }

  async delete(key: string): Promise<void> {
    await this.#client.send(new DeleteObjectCommand(this.#place(key)));
  }

  #place(key: string) {
    return { Bucket: this.#bucket, Key: this.#prefix + key };
  }
}
