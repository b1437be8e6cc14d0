/**
 * Objects in a bucket of Amazon S3 or of a compatible server. Their keys are relative to the prefix
 * in the address of the bucket. Import this module only to open a bucket, because the SDK is slow
 * to load; `bucket-address.ts` parses addresses.
 */
import { createReadStream } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  type _Object as ListedObject,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { AppError } from '../../domain/app-error.ts';
import { digestFile, type FileDigest } from '../../system/file-digest.ts';
import type { BucketAddress } from './bucket-address.ts';
import { bucketError, readTrouble } from './bucket-error.ts';
import { type BucketBounds, openClient, SOCKETS, signDigest } from './s3-client.ts';

const BOUNDS: BucketBounds = { attempts: 5, attemptMs: 10_000, requestMs: 30_000 };
/** S3 accepts 1,000, but some servers need longer for that many than the time of an attempt. */
const DELETE_BATCH = 100;

/** The slowest upload, and the slowest copy within the bucket, for which a request waits. */
const UPLOAD_BYTES_PER_MS = 64;
const COPY_BYTES_PER_MS = 8 * 1024;
const PAUSE_MS = 200;

export interface BucketObject {
  readonly key: string;
  readonly bytes: number;
  /** Changes with the content. */
  readonly etag: string;
}

interface SendOptions {
  readonly abortSignal: AbortSignal;
  readonly requestTimeout: number;
}

interface SendHow {
  readonly isExpected: (error: unknown) => boolean;
  readonly moreMs?: number;
}

type Send<Output> = (client: S3Client, options: SendOptions) => Promise<Output>;

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

  /** The same for a file of at most 5 GiB, of which only a small part is in memory. */
  async putFile(key: string, path: string): Promise<void> {
    const digest = await digestFile(path);
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#putStream(key, path, digest);
        return;
      } catch (error) {
        const isAway = error instanceof AppError && error.code === 'chunks-away';
        if (!isAway || attempt >= this.#bounds.attempts) throw error;
        await pause(PAUSE_MS * 2 ** attempt * Math.random());
      }
    }
  }

  /** The SDK does not send a stream again. The server compares the bytes with the signed digest. */
  async #putStream(key: string, path: string, { bytes, sha256 }: FileDigest): Promise<void> {
    const body = createReadStream(path);
    const unreadable = new Promise<never>((_resolve, reject) => body.once('error', reject));
    const place = { ...this.#place(key), ...this.#encryption };
    const command = new PutObjectCommand({ ...place, Body: body, ContentLength: bytes });
    command.middlewareStack.add(
      (next) => (input) => {
        signDigest(input.request, sha256);
        return next(input);
      },
      { name: 'signDigest', step: 'build' },
    );
    try {
      const sending = this.#send((client, options) => client.send(command, options), {
        moreMs: Math.ceil(bytes / UPLOAD_BYTES_PER_MS),
      });
      await Promise.race([sending, unreadable]);
    } finally {
      body.destroy();
    }
  }

  /** Absent if there is no such object. */
  async get(key: string): Promise<Uint8Array | undefined> {
    const command = new GetObjectCommand(this.#place(key));
    return await this.#send(
      async (client, options) => {
        const { Body } = await client.send(command, options);
        return await Body?.transformToByteArray();
      },
      { isExpected: absentKey },
    );
  }

  /** Some bytes of an object, a few MiB at most. Throws `data-unreadable` if it has changed. */
  async getRange({ key, etag }: BucketObject, start: number, length: number): Promise<Uint8Array> {
    const range = `bytes=${start}-${start + length - 1}`;
    const command = new GetObjectCommand({ ...this.#place(key), Range: range, IfMatch: etag });
    const bytes = await this.#send(
      async (client, options) => {
        const { Body, ETag } = await client.send(command, options);
        // Some compatible servers ignore the condition.
        return isSameTag(ETag, etag) ? await Body?.transformToByteArray() : undefined;
      },
      { isExpected: hasChanged },
    );
    if (bytes?.length === length) return bytes;
    throw new AppError(
      'data-unreadable',
      `The object ${key} in the bucket has been replaced or deleted while it was read. Try again.`,
    );
  }

  /**
   * Copies an object of this size, at most 5 GiB, within the bucket, in one step. Returns false if
   * there is no such object.
   */
  async copy({ key, bytes }: Omit<BucketObject, 'etag'>, target: string): Promise<boolean> {
    const { Bucket, Key } = this.#place(key);
    const place = { ...this.#place(target), ...this.#encryption };
    const command = new CopyObjectCommand({ ...place, CopySource: `${Bucket}/${encodeURI(Key)}` });
    const copied = await this.#send((client, options) => client.send(command, options), {
      isExpected: absentKey,
      moreMs: Math.ceil(bytes / COPY_BYTES_PER_MS),
    });
    return copied !== undefined;
  }

  /** Objects whose keys begin with `prefix`, in batches. */
  async *list(prefix: string): AsyncGenerator<readonly BucketObject[]> {
    let token: string | undefined;
    do {
      const command = new ListObjectsV2Command({
        Bucket: this.#address.bucket,
        Prefix: this.#address.prefix + prefix,
        ...(token !== undefined && { ContinuationToken: token }),
      });
      const page = await this.#send((client, options) => client.send(command, options));
      yield (page.Contents ?? []).flatMap((object) => this.#relative(object));
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
    const result = await this.#send((client, options) => client.send(command, options), {
      isExpected: isNotImplemented,
    });
    return result === undefined || (result.Errors ?? []).length > 0 ? keys : [];
  }

  /** Stops after the first failure, when no request is in flight. */
  async #deleteAlone(keys: readonly string[]): Promise<void> {
    for (let at = 0; at < keys.length; at += SOCKETS) {
      const deletions = keys.slice(at, at + SOCKETS).map((key) => {
        const command = new DeleteObjectCommand(this.#place(key));
        return this.#send((client, options) => client.send(command, options), { isExpected: absentKey });
      });
      const failed = (await Promise.allSettled(deletions)).find((result) => result.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
    }
  }

  /**
   * Sends one request within its limits, to which `moreMs` is added. Absent for errors for which
   * `isExpected` is true. Throws an `AppError`.
   */
  async #send<Output>(send: Send<Output>, how?: { readonly moreMs?: number }): Promise<Output>;
  async #send<Output>(send: Send<Output>, how: SendHow): Promise<Output | undefined>;
  async #send<Output>(
    send: Send<Output>,
    { isExpected, moreMs = 0 }: Partial<SendHow> = {},
  ): Promise<Output | undefined> {
    const { attemptMs, requestMs } = this.#bounds;
    // The time of a request starts when there is a socket for it.
    using _turn = await this.#turns.take();
    const abortSignal = AbortSignal.timeout(requestMs + moreMs);
    const options = { abortSignal, requestTimeout: attemptMs + moreMs };
    try {
      return await Promise.race([send(this.#client, options), rejectedBy(abortSignal)]);
    } catch (error) {
      if (isExpected?.(error) === true) return undefined;
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

  #relative({ Key: key = '', Size: bytes = 0, ETag: etag = '' }: ListedObject): BucketObject[] {
    const { prefix } = this.#address;
    return key.startsWith(prefix) ? [{ key: key.slice(prefix.length), bytes, etag }] : [];
  }
}

function absentKey(error: unknown): boolean {
  return readTrouble(error)?.name === 'NoSuchKey';
}

function hasChanged(error: unknown): boolean {
  return absentKey(error) || readTrouble(error)?.status === 412;
}

/** Some servers send tags without quotes in listings, and some send none with an object. */
function isSameTag(one: string | undefined, other: string): boolean {
  return one === undefined || one.replaceAll('"', '') === other.replaceAll('"', '');
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
