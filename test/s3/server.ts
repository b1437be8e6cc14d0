/**
 * A bucket for tests, on an S3-compatible server (s3rver, which checks signatures) in a separate
 * process. `CORKBOARD_TEST_BUCKET` gives the address of a different bucket, which is used instead
 * with the credentials of the environment; tests store their objects there under a random prefix.
 */
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TestBucket {
  /** In the form that `parseBucketAddress` reads. */
  readonly address: string;
  /** The same bucket behind a proxy, whose endpoint is an `http://` address. */
  addressAt(endpoint: string): string;
  /** The address of the server, for a proxy. */
  readonly endpoint: string;
  /** Environment variables for the process that opens the bucket. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

const BUCKET = 'corkboard-test';
/** The only account of s3rver. */
const ACCOUNT = 'S3RVER';

export interface S3Server {
  readonly endpoint: string;
  close(): Promise<void>;
}

/** Closed after the test or suite `t`, or by the caller. */
export async function startBucket(t?: { after(work: () => Promise<void>): void }): Promise<TestBucket> {
  const given = givenBucket();
  if (given !== undefined) return given;
  const { endpoint, close } = await startS3Server();
  t?.after(close);
  return { ...bucketAt(endpoint, ''), close };
}

export async function startS3Server(): Promise<S3Server> {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-s3-'));
  // s3rver encrypts the tokens of a listing's pages with DES, which OpenSSL 3 calls legacy.
  const server = fork(join(import.meta.dirname, 'server-process.ts'), [folder, BUCKET], {
    execArgv: ['--openssl-legacy-provider'],
  });
  const [port] = await once(server, 'message', { signal: AbortSignal.timeout(30_000) });
  // A finished test file must not wait for it.
  server.unref();
  server.channel?.unref();
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return {
    endpoint: `http://127.0.0.1:${port}`,
    async close() {
      server.ref();
      const ended = once(server, 'exit');
      server.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The bucket of a running server, or a prefix of it. */
export function bucketAt(endpoint: string, prefix: string): TestBucket {
  function addressAt(at: string): string {
    return `s3://${BUCKET}${prefix}?endpoint=${at}&path-style=true`;
  }

  return {
    address: addressAt(endpoint),
    addressAt,
    endpoint,
    env: {
      AWS_ACCESS_KEY_ID: ACCOUNT,
      AWS_SECRET_ACCESS_KEY: ACCOUNT,
      AWS_REGION: 'us-east-1',
      // Ignores the configuration of the machine on which the tests run.
      AWS_CONFIG_FILE: '/dev/null',
      AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
      AWS_EC2_METADATA_DISABLED: 'true',
    },
    close: async () => {},
  };
}

/** The bucket of `CORKBOARD_TEST_BUCKET`, if it is set. */
export function givenBucket(): TestBucket | undefined {
  const given = process.env['CORKBOARD_TEST_BUCKET'];
  if (given === undefined) return undefined;
  const at = given.indexOf('?');
  const [path, search] = at < 0 ? [given, ''] : [given.slice(0, at), given.slice(at + 1)];
  const place = `${path.replace(/\/$/, '')}/${randomUUID()}`;

  function addressAt(endpoint: string): string {
    const parameters = new URLSearchParams(search);
    parameters.set('endpoint', endpoint);
    return `${place}?${parameters}`;
  }

  return {
    address: `${place}?${search}`,
    addressAt,
    endpoint: new URLSearchParams(search).get('endpoint') ?? '',
    env: {},
    close: async () => {},
  };
}
