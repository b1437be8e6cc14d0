/**
 * The servers that all test files of a run share: databases of one PostgreSQL, and one bucket. They
 * start on first use. With `--test-global-setup=test/global-setup.ts` the process that runs the
 * test files starts and stops them, and the test files request them over a socket. A test file that
 * runs alone starts its own.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { migrate } from '../src/store/catalog/migrate.ts';
import { PostgresDatabase } from '../src/store/catalog/postgres-database.ts';
import { startPostgres, type Throwaway } from './postgres/throwaway.ts';
import { bucketAt, givenBucket, type S3Server, startS3Server, type TestBucket } from './s3/server.ts';

/** Environment variable with the port of the process that has the servers. */
const PORT = 'CORKBOARD_TEST_SERVERS_PORT';

/**
 * No test kills this server, so commits need not be flushed at once. With hundreds of databases,
 * vacuum would never pause.
 */
const SETTINGS = { synchronous_commit: 'off', autovacuum: 'off' };

/** A migrated database has the tables of a shared store, all of them empty. */
type Wish = 'empty database' | 'migrated database' | `copy of ${string}` | 'bucket';

/** Creates a database that is not shared, and returns its address. */
export async function newDatabase(kind: 'empty' | 'migrated'): Promise<string> {
  return await fulfill(`${kind} database`);
}

/** Creates a copy of such a database, which must have no connections, and returns its address. */
export async function copyDatabase(address: string): Promise<string> {
  return await fulfill(`copy of ${address}`);
}

let bucket: Promise<TestBucket> | undefined;

/** The shared bucket, with a separate prefix for each process. */
export function sharedBucket(): Promise<TestBucket> {
  bucket ??= findBucket();
  return bucket;
}

async function findBucket(): Promise<TestBucket> {
  return givenBucket() ?? bucketAt(await fulfill('bucket'), `/${randomUUID()}`);
}

class Servers {
  #postgres: Promise<Throwaway> | undefined;
  #template: Promise<string> | undefined;
  #s3: Promise<S3Server> | undefined;

  /** The address of the requested resource. */
  async fulfill(wish: Wish): Promise<string> {
    if (wish === 'bucket') {
      this.#s3 ??= startS3Server();
      return (await this.#s3).endpoint;
    }
    this.#postgres ??= startPostgres(SETTINGS);
    const postgres = await this.#postgres;
    if (wish === 'empty database') return await postgres.newDatabase();
    if (wish.startsWith('copy of ')) return await postgres.newDatabase(wish.slice('copy of '.length));
    this.#template ??= migratedDatabase(postgres);
    return await postgres.newDatabase(await this.#template);
  }

  /** Drops a database that a test file had requested. */
  async takeBack(address: string): Promise<void> {
    if (address.startsWith('postgres:')) await (await this.#postgres)?.dropDatabase(address);
  }

  async stop(): Promise<void> {
    const [postgres, s3] = [this.#postgres, this.#s3];
    [this.#postgres, this.#s3] = [undefined, undefined];
    await Promise.all([postgres?.then((one) => one.stop()), s3?.then((one) => one.close())]);
  }
}

async function migratedDatabase(postgres: Throwaway): Promise<string> {
  const url = await postgres.newDatabase();
  const database = new PostgresDatabase(url);
  await migrate(database);
  await database.close();
  return url;
}

/**
 * Makes the servers of this process available to test files that start from now on. The returned
 * function ends that and stops the servers.
 */
export async function lendServers(): Promise<() => Promise<void>> {
  const servers = new Servers();
  const loans = new Map<Socket, Promise<void>>();
  const listener = createServer((socket) => {
    const loan = lend(socket, servers)
      .catch((error: unknown) => {
        process.stderr.write(`${String(error)}\n`);
        socket.destroy();
      })
      .finally(() => loans.delete(socket));
    loans.set(socket, loan);
  });
  listener.listen(0, '127.0.0.1').unref();
  await once(listener, 'listening');
  process.env[PORT] = String((listener.address() as AddressInfo).port);
  return async () => {
    listener.close();
    for (const socket of loans.keys()) socket.destroy();
    await Promise.all(loans.values());
    await servers.stop();
  };
}

/** Each connection is for one resource, and stays open while the resource is in use. */
async function lend(socket: Socket, servers: Servers): Promise<void> {
  const closed = new Promise<unknown>((resolve) => socket.once('close', resolve));
  // The test file was killed.
  socket.on('error', () => socket.destroy());
  const line = once(createInterface({ input: socket }), 'line');
  const [wish] = await Promise.race([line, closed.then(() => [])]);
  if (wish === undefined) return;
  const address = await servers.fulfill(wish);
  socket.write(`${address}\n`);
  await closed;
  await servers.takeBack(address);
}

const own = new Servers();

async function fulfill(wish: Wish): Promise<string> {
  const port = process.env[PORT];
  if (port === undefined) return await own.fulfill(wish);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(`${wish}\n`);
  for await (const address of createInterface({ input: socket })) {
    // The connection must not keep a finished test file alive.
    socket.unref();
    return address;
  }
  throw new Error(`There is no ${wish}: the process that runs the tests says why.`);
}
