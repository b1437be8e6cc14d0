/**
 * Objects in a bucket of Amazon S3 or of a compatible server. Their keys are relative to the prefix
 * in the address of the bucket. Import this module only to open a bucket, because the SDK is slow
 * to load; `bucket-address.ts` parses addresses.
 */
import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { BucketAddress } from './bucket-address.ts';
import { bucketError, readTrouble } from './bucket-error.ts';
import { type BucketBounds, openClient, SOCKETS } from './s3-client.ts';

const BOUNDS: BucketBounds = { attempts: 5, attemptMs: 10_000, requestMs: 30_000 };
/** S3 accepts 1,000, but some servers need longer for that many than the time of an attempt. */
const DELETE_BATCH = 100;

type Send<Output> = (client: S3Client, options: { readonly abortSignal: AbortSignal }) => Promise<Output>;

/**
 * The methods throw `chunks-away` when the bucket cannot be reached after retries, and
 * `data-unreadable` if name, region, credentials or permissions are wrong.
 */
export class S3Objects {
  readonly #address: BucketAddress;
  readonly #bounds: BucketBounds;
  readonly #client: S3Client;
  readonly #turns = new ConnectionTurns(SOCKETS);

  constructor(address: BucketAddress, bounds: Partial<BucketBounds> = {}) {
    this.#address = address;
    this.#bounds = { ...BOUNDS, ...bounds };
    this.#client = openClient(address, this.#bounds);
  }

  /** The object is durable when the promise is fulfilled. It replaces one with the same key. */
  async put(key: string, bytes: Uint8Array): Promise<void> {
    const command = new PutObjectCommand({ ...this.#place(key), ...this.#encryption, Body: bytes });
    await this.#send((client, options) => client.send(command, options));
  }

  /** Absent if there is no such object. */
  async get(key: string): Promise<Uint8Array | undefined> {
    const command = new GetObjectCommand(this.#place(key));
    return await this.#send(async (client, options) => {
      const { Body } = await client.send(command, options);
      return await Body?.transformToByteArray();
    }, absentKey);
  }

  /** Keys that begin with `prefix`, in batches. */
  async *list(prefix: string): AsyncGenerator<readonly string[]> {
    let token: string | undefined;
    do {
      const command = new ListObjectsV2Command({
        Bucket: this.#address.bucket,
        Prefix: this.#address.prefix + prefix,
        ...(token !== undefined && { ContinuationToken: token }),
      });
      const page = await this.#send((client, options) => client.send(command, options));
      yield (page.Contents ?? []).flatMap(({ Key }) => this.#relative(Key));
      token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  /** Keys that do not exist are ignored. */
  async delete(keys: readonly string[]): Promise<void> {
    for (let at = 0; at < keys.length; at += DELETE_BATCH) {
      await this.#deleteAlone(await this.#deleteTogether(keys.slice(at, at + DELETE_BATCH)));
    }
  }

  close(): void {
    this.#client.destroy();
  }

  /**
   * Returns the keys that may still exist: all of them if the bucket deletes one object at a time.
   */
  async #deleteTogether(keys: readonly string[]): Promise<readonly string[]> {
    const command = new DeleteObjectsCommand({
      Bucket: this.#address.bucket,
      Delete: { Objects: keys.map((key) => ({ Key: this.#place(key).Key })), Quiet: true },
    });
    const result = await this.#send((client, options) => client.send(command, options), isNotImplemented);
    return result === undefined || (result.Errors ?? []).length > 0 ? keys : [];
  }

  /** Stops after the first failure, when no request is in flight. */
  async #deleteAlone(keys: readonly string[]): Promise<void> {
    for (let at = 0; at < keys.length; at += SOCKETS) {
      const deletions = keys.slice(at, at + SOCKETS).map((key) => {
        const command = new DeleteObjectCommand(this.#place(key));
        return this.#send((client, options) => client.send(command, options), absentKey);
      });
      const failed = (await Promise.allSettled(deletions)).find((result) => result.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
    }
  }

  /**
   * Sends one request within its limits. Absent for errors for which `isExpected` is true. Throws
   * an `AppError`.
   */
  async #send<Output>(send: Send<Output>): Promise<Output>;
  async #send<Output>(
    send: Send<Output>,
    isExpected: (error: unknown) => boolean,
  ): Promise<Output | undefined>;
  async #send<Output>(
    send: Send<Output>,
    isExpected: (error: unknown) => boolean = () => false,
  ): Promise<Output | undefined> {
    // The time of a request starts when there is a socket for it.
    using _turn = await this.#turns.take();
    const abortSignal = AbortSignal.timeout(this.#bounds.requestMs);
    try {
      return await Promise.race([send(this.#client, { abortSignal }), rejectedBy(abortSignal)]);
    } catch (error) {
      if (isExpected(error)) return undefined;
      throw bucketError(error);
    }
  }

  #place(key: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#address.bucket, Key: this.#address.prefix + key };
  }

  get #encryption() {
    const { encryption } = this.#address;
    return {
      ...(encryption && { ServerSideEncryption: encryption.algorithm }),
      ...(encryption?.kmsKey !== undefined && { SSEKMSKeyId: encryption.kmsKey }),
    };
  }

  #relative(key = ''): string[] {
    const { prefix } = this.#address;
    return key.startsWith(prefix) ? [key.slice(prefix.length)] : [];
  }
}

function absentKey(error: unknown): boolean {
  return readTrouble(error)?.name === 'NoSuchKey';
}

/** Some servers delete one object at a time, or require digests that the SDK does not send. */
function isNotImplemented(error: unknown): boolean {
  return [400, 405, 501].includes(readTrouble(error)?.status ?? 0);
}

/** The SDK also watches the signal, but not while it looks for credentials. */
function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** Allows `count` concurrent holders; others wait in the order of their calls. */
class ConnectionTurns {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  async take(): Promise<Disposable> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return { [Symbol.dispose]: () => this.#giveBack() };
  }

  #giveBack(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}
