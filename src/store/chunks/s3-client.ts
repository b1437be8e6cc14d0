/**
 * The client of a bucket: it finds the credentials, signs, retries and limits the time of every
 * request. Import this module only to open a bucket, because the SDK is slow to load.
 */
import { createHash, getFips } from 'node:crypto';
import { Readable } from 'node:stream';
import { S3Client } from '@aws-sdk/client-s3';
import { AppError } from '../../domain/app-error.ts';
import type { BucketAddress } from './bucket-address.ts';

export interface BucketBounds {
  /** How often a request is sent, including the first time. */
  readonly attempts: number;
  /** From sending a request until its response begins, and again until the response has arrived. */
  readonly attemptMs: number;
  /** For all attempts of a request, including the pauses between them. */
  readonly requestMs: number;
}

const CONNECT_MS = 3000;
/** How many connections to the bucket there are at most. */
export const SOCKETS = 16;
/** A server may send spaces until it has copied a large object. The request has its own limit. */
const COPY_BODY_MS = 600_000;
/** Many times the size of a chunk or of a page of a listing. */
const BODY_LIMIT_BYTES = 8 * 2 ** 20;

export function openClient({ endpoint, region, pathStyle }: BucketAddress, bounds: BucketBounds): S3Client {
  const agent = { keepAlive: true, maxSockets: SOCKETS };
  const client = new S3Client({
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    forcePathStyle: pathStyle,
    // Its warnings are not for the users of the product.
    logger: { debug: ignore, info: ignore, warn: ignore, error: ignore },
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
    (next, { commandName }) =>
      async (input) => {
        const bodyMs = commandName === 'CopyObjectCommand' ? COPY_BODY_MS : bounds.attemptMs;
        const result = await next(input);
        const { response } = result;
        // Not from the beginning of the request: an upload has a limit of its own.
        const deadline = Date.now() + bodyMs;
        if (hasBody(response)) response.body = Readable.from([await readBody(response.body, deadline)]);
        return result;
      },
    { name: 'readWholeBody', step: 'deserialize', priority: 'low' },
  );
  return client;
}

function ignore(): void {}

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

/** The signature of a stream covers this digest of it; otherwise it would cover no body. */
export function signDigest(request: unknown, sha256: string): void {
  if (typeof request !== 'object' || request === null || !('headers' in request)) return;
  Object.assign(request.headers as object, { 'x-amz-content-sha256': sha256 });
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
          'The bucket returned more bytes than expected. Check that no other program writes to its prefix.',
        );
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } finally {
    clearTimeout(timer);
  }
}
