/**
 * Chunks in a bucket of Amazon S3 or of a compatible server. The SDK finds the credentials, signs
 * and retries; this module limits the time of every request. Import this module only to open a
 * bucket, because the SDK is slow to load; `bucket-address.ts` parses addresses.
 */
import { createHash, getFips } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { AppError } from '../../domain/app-error.ts';
import type { BucketAddress } from './bucket-address.ts';
import { bucketError, readTrouble } from './bucket-error.ts';
import { assertChunkNames, assertChunkPrefix } from './chunk-name.ts';
import { CHUNK_NAME, type ChunkPlace } from './chunk-place.ts';

export interface BucketBounds {
  /** How often a request is sent, including the first time. */
  readonly attempts: number;
  /** From sending a request until its response has arrived. */
  readonly attemptMs: number;
  /** For all attempts of a request, including the pauses between them. */
  readonly requestMs: number;
}

const BOUNDS: BucketBounds = { attempts: 5, attemptMs: 10_000, requestMs: 30_000 };
const CONNECT_MS = 3000;
const SOCKETS = 16;
/** S3 accepts 1,000, but some servers need longer for that many than the time of an attempt. */
const DELETE_BATCH = 100;
/** Many times the size of a chunk or of a page of a listing. */
const BODY_LIMIT_BYTES = 8 * 2 ** 20;

/**
 * The methods also throw `data-unreadable` if name, region, credentials or permissions are wrong.
 */
export function openS3Bucket(address: BucketAddress, bounds: Partial<BucketBounds> = {}): ChunkPlace {
  return new S3Bucket(address, { ...BOUNDS, ...bounds });
}

type Send<Output> = (client: S3Client, options: { readonly abortSignal: AbortSignal }) => Promise<Output>;

class S3Bucket implements ChunkPlace {
  readonly parallel = SOCKETS;
  readonly #address: BucketAddress;
  readonly #bounds: BucketBounds;
  readonly #client: S3Client;
  readonly #turns = new ConnectionTurns(SOCKETS);

  constructor(address: BucketAddress, bounds: BucketBounds) {
    this.#address = address;
    this.#bounds = bounds;
    this.#client = openClient(address, bounds);
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    assertChunkNames([name]);
    const { bucket, encryption } = this.#address;
    const command = new PutObjectCommand({
      Bucket: bucket,
      Key: this.#keyOf(name),
      Body: bytes,
      ...(encryption && { ServerSideEncryption: encryption.algorithm }),
      ...(encryption?.kmsKey !== undefined && { SSEKMSKeyId: encryption.kmsKey }),
    });
    await this.#send((client, options) => client.send(command, options));
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    assertChunkNames([name]);
    const command = new GetObjectCommand({ Bucket: this.#address.bucket, Key: this.#keyOf(name) });
    return await this.#send(async (client, options) => {
      const { Body } = await client.send(command, options);
      return await Body?.transformToByteArray();
    }, absentKey);
  }

  async *list(prefix: string): AsyncGenerator<readonly string[]> {
    assertChunkPrefix(prefix);
    let token: string | undefined;
    do {
      const command = new ListObjectsV2Command({
        Bucket: this.#address.bucket,
        Prefix: this.#keyOf(prefix),
        ...(token !== undefined && { ContinuationToken: token }),
      });
      const page = await this.#send((client, options) => client.send(command, options));
      const names = (page.Contents ?? []).flatMap(({ Key }) => this.#nameOf(Key));
      if (names.length > 0) yield names;
      token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  async delete(names: readonly string[]): Promise<void> {
    assertChunkNames(names);
    for (let at = 0; at < names.length; at += DELETE_BATCH) {
      const keys = names.slice(at, at + DELETE_BATCH).map((name) => this.#keyOf(name));
      await this.#deleteAlone(await this.#deleteTogether(keys));
    }
  }

  async close(): Promise<void> {
    this.#client.destroy();
  }

  /**
   * Returns the keys that may still exist: all of them if the bucket deletes one object at a time.
   */
  async #deleteTogether(keys: readonly string[]): Promise<readonly string[]> {
    const command = new DeleteObjectsCommand({
      Bucket: this.#address.bucket,
      Delete: { Objects: keys.map((Key) => ({ Key })), Quiet: true },
    });
    const result = await this.#send((client, options) => client.send(command, options), isNotImplemented);
    return result === undefined || (result.Errors ?? []).length > 0 ? keys : [];
  }

  /** Stops after the first failure, when no request is in flight. */
  async #deleteAlone(keys: readonly string[]): Promise<void> {
    for (let at = 0; at < keys.length; at += SOCKETS) {
      const deletions = keys.slice(at, at + SOCKETS).map((key) => {
        const command = new DeleteObjectCommand({ Bucket: this.#address.bucket, Key: key });
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

  #keyOf(name: string): string {
    return `${this.#address.prefix}${name}`;
  }

  /** Empty for a key that is not the key of a chunk. */
  #nameOf(key = ''): string[] {
    const name = key.slice(this.#address.prefix.length);
    return key.startsWith(this.#address.prefix) && CHUNK_NAME.test(name) ? [name] : [];
  }
}

function openClient({ endpoint, region, pathStyle }: BucketAddress, bounds: BucketBounds): S3Client {
  const agent = { keepAlive: true, maxSockets: SOCKETS };
  const client = new S3Client({
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    forcePathStyle: pathStyle,
    maxAttempts: bounds.attempts,
    // Chunks have their own digests, and compatible servers do not know those of the SDK.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: Math.min(CONNECT_MS, bounds.attemptMs),
      requestTimeout: bounds.attemptMs,
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: agent,
    },
  });
  // Many compatible servers know no other digest of a deletion. Where MD5 is not allowed, the
  // request has the digest of the SDK; if the bucket does not know that, objects are deleted one at
  // a time.
  if (getFips() === 0)
    client.middlewareStack.add(
      (next, { commandName }) =>
        (input) => {
          if (commandName === 'DeleteObjectsCommand') replaceDigest(input.request);
          return next(input);
        },
      { name: 'replaceDigest', step: 'build', priority: 'low' },
    );
  // The SDK returns the body unread, outside of its attempts and their time limit, so it would not
  // retry after a connection that breaks half way. So each attempt reads the whole body.
  client.middlewareStack.add(
    (next) => async (input) => {
      const deadline = Date.now() + bounds.attemptMs;
      const result = await next(input);
      const { response } = result;
      if (hasBody(response)) response.body = Readable.from([await readBody(response.body, deadline)]);
      return result;
    },
    { name: 'readWholeBody', step: 'deserialize', priority: 'low' },
  );
  return client;
}

interface OutgoingRequest {
  readonly headers: Record<string, string>;
  readonly body: string | Uint8Array;
}

function isOutgoing(request: unknown): request is OutgoingRequest {
  return (
    typeof request === 'object' &&
    request !== null &&
    'headers' in request &&
    'body' in request &&
    (typeof request.body === 'string' || request.body instanceof Uint8Array)
  );
}

function replaceDigest(request: unknown): void {
  if (!isOutgoing(request)) return;
  for (const name of Object.keys(request.headers))
    if (/^x-amz-(sdk-)?checksum-/i.test(name)) delete request.headers[name];
  request.headers['content-md5'] = createHash('md5').update(request.body).digest('base64');
}

function hasBody(response: unknown): response is { body: Readable } {
  return (
    typeof response === 'object' &&
    response !== null &&
    'body' in response &&
    response.body instanceof Readable
  );
}

async function readBody(body: Readable, deadline: number): Promise<Buffer> {
  // The SDK retries errors of this name.
  const late = Object.assign(new Error('The body of the response took too long.'), { name: 'TimeoutError' });
  const timer = setTimeout(() => body.destroy(late), Math.max(deadline - Date.now(), 0));
  try {
    const chunks: Buffer[] = [];
    let lengthBytes = 0;
    for await (const chunk of body) {
      lengthBytes += chunk.length;
      if (lengthBytes > BODY_LIMIT_BYTES)
        throw new AppError(
          'data-unreadable',
          'The bucket returned more bytes than a chunk has. Check that no other program writes to its prefix.',
        );
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } finally {
    clearTimeout(timer);
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
