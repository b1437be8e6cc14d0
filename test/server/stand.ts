/**
 * A server over a real store and keyring with a few records, and functions to send raw requests to
 * it.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import type { KeyGrant, Keyring } from '../../src/keys/keyring.ts';
import { type ServerOptions, startServer } from '../../src/server/start.ts';
import type { Store } from '../../src/store/store.ts';
import { publishRecords, type Records, WORLD } from '../dataset/small-world.ts';
import { DEFAULT_STORAGE, openStorage, type Storage, type StorageKind } from '../storage.ts';

export const ORGANIZATION = 'harbor';

export interface Stand {
  /** Folder of the data, if the store uses files. */
  readonly folder: string;
  readonly url: string;
  readonly port: number;
  readonly key: string;
  readonly store: Store;
  /** The store that the server reads: `store`, or `store` with datasets in memory. */
  readonly served: Store;
  readonly keyring: Keyring;
  /** Command-line options that select the data. */
  readonly words: readonly string[];
  /** The same keys, as a command opens them. */
  openKeyring(): Keyring;
  /** Lines of the log so far, parsed. */
  readonly log: Record<string, unknown>[];
  makeKey(grant?: Partial<KeyGrant>, expiresMs?: number): Promise<string>;
  publish(records: Records): Promise<void>;
  get(path: string, headers?: Record<string, string>, method?: string): Promise<Response>;
  stop(): Promise<void>;
  close(): Promise<void>;
}

export interface StandOptions extends Partial<Omit<ServerOptions, 'store' | 'keyring'>> {
  /** Absent: the default of the product. */
  readonly kind?: StorageKind;
  /**
   * Published before the server starts; absent: the small world; `undefined`: nothing is published.
   */
  readonly records?: Records | undefined;
  /** Wraps the store that the server reads. */
  readonly around?: (store: Store) => Store;
  /**
   * Publishes the records for this server only, with new secrets. Otherwise the data folder may be
   * a copy of an earlier one.
   */
  readonly isUnique?: boolean;
}

const SETTINGS = { title: 'Harbor', lmsUserProperties: ['sis'], policy: '' };

/** Data folders by their records. Copying a folder takes much less time than publishing again. */
const templates = new Map<Records, Promise<string>>();
process.once('exit', () => {
  for (const folder of templateFolders) rmSync(folder, { recursive: true, force: true });
});
const templateFolders: string[] = [];

async function makeTemplate(records: Records): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-template-'));
  templateFolders.push(folder);
  const storage = await openStorage(DEFAULT_STORAGE, folder);
  await storage.store.createOrganization(ORGANIZATION, SETTINGS);
  await publishRecords(storage.store, ORGANIZATION, records);
  await storage.close();
  return folder;
}

/** Opens a storage with the organization and its records; absent records: nothing is published. */
async function openFilled(
  kind: StorageKind,
  folder: string,
  records: Records | undefined,
  isUnique: boolean,
): Promise<Storage> {
  if (kind.store === 'DuckDB' && records !== undefined && !isUnique) {
    const template = templates.get(records) ?? makeTemplate(records);
    templates.set(records, template);
    await cp(await template, folder, { recursive: true });
    return await openStorage(kind, folder);
  }
  const storage = await openStorage(kind, folder);
  await storage.store.createOrganization(ORGANIZATION, SETTINGS);
  if (records !== undefined) await publishRecords(storage.store, ORGANIZATION, records);
  return storage;
}

export async function openStand(options: StandOptions = {}): Promise<Stand> {
  const { kind = DEFAULT_STORAGE, around = (store) => store, isUnique = false, ...others } = options;
  const { records = 'records' in options ? undefined : WORLD, ...serverOptions } = others;
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-server-'));
  const storage = await openFilled(kind, folder, records, isUnique);
  const { store, keyring } = storage;
  const log: Record<string, unknown>[] = [];
  const server = await startServer({
    host: '127.0.0.1',
    port: 0,
    defaultVariant: 'a',
    logStream: { write: (lines) => void log.push(...lines.match(/.+/g)!.map((line) => JSON.parse(line))) },
    ...serverOptions,
    store: around(storage.served),
    keyring,
  });
  const makeKey = async (grant: Partial<KeyGrant> = {}, expiresMs?: number) => {
    const plain = {
      organization: ORGANIZATION,
      label: '',
      scope: FULL_SCOPE,
      redact: { email: false, name: false, id: false },
    };
    return (await keyring.create({ ...plain, ...grant }, expiresMs)).key;
  };
  const key = await makeKey();
  return {
    url: server.address,
    port: Number(new URL(server.address).port),
    ...{ folder, key, store, keyring, log, makeKey, words: storage.words },
    openKeyring: () => storage.openKeyring(),
    served: storage.served,
    async publish(more) {
      await publishRecords(store, ORGANIZATION, more);
    },
    get: (path, headers = {}, method = 'GET') =>
      fetch(server.address + path, {
        method,
        headers: { apikey: key, 'accept-encoding': 'identity', ...headers },
      }),
    stop: () => server.stop(),
    async close() {
      await server.stop();
      await storage.close();
      await rm(folder, { recursive: true });
    },
  };
}

export interface RawReply {
  /** Statuses of preceding interim responses, such as 100. */
  readonly interim: readonly number[];
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Sends bytes unchanged on a new connection, and reads until the server closes it. */
export async function sendRaw(port: number, request: string | Uint8Array): Promise<RawReply> {
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  // If the server does not read everything, it may reset the connection after its response.
  socket.on('error', () => undefined);
  socket.write(request);
  await once(socket, 'close');
  return replyOf(Buffer.concat(chunks).toString('latin1'), []);
}

function replyOf(text: string, interim: readonly number[]): RawReply {
  const end = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = text.slice(0, Math.max(end, 0)).split('\r\n');
  const status = Number(statusLine.split(' ')[1]);
  const body = text.slice(end + 4);
  if (status >= 100 && status < 200) return replyOf(body, [...interim, status]);
  const fields = lines.map((line) => [
    line.slice(0, line.indexOf(':')).toLowerCase(),
    line.slice(line.indexOf(':') + 1).trim(),
  ]);
  const headers = new Map(fields.map(([name = '', value = '']) => [name, value]));
  return { interim, status, headers, body };
}

/** Head of a request that closes its connection. */
export function head(method: string, target: string, fields: Record<string, string> = {}): string {
  const all = { host: 'x', connection: 'close', ...fields };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** Long enough for a busy machine; only a failing test waits for it. */
const PATIENCE_MS = 60_000;

/** Waits until a condition holds, by polling. Throws after `timeoutMs`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  timeoutMs = PATIENCE_MS,
): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error('The condition did not come to hold in time.');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const large = new Map<string, Records>();

/** More than is ever on the way to a client that does not read: its buffers have 4 MB or less. */
const MORE_THAN_BUFFERS_MB = 12;

/**
 * Records whose export is about `megabytes` of JSON, so that it is sent in many chunks, with events
 * of `eventBytes` each: the fewer they are, the less their publication takes. Memoized.
 */
export function largeRecords(megabytes = MORE_THAN_BUFFERS_MB, eventBytes = 20_000): Records {
  const name = `${megabytes} ${eventBytes}`;
  const records = large.get(name) ?? makeLargeRecords(megabytes, eventBytes);
  large.set(name, records);
  return records;
}

function makeLargeRecords(megabytes: number, eventBytes: number): Records {
  const count = Math.ceil((megabytes * 1e6) / eventBytes);
  // No two events are alike, so that misplaced bytes are noticed.
  const pins = Array.from({ length: count }, (_, index) => ({
    ...{ id: BigInt(1_000 + index), boardId: 7n, ownerId: 5n, title: `Pin ${index}` },
    body: `${index} `.repeat(Math.ceil((eventBytes - 100) / `${index} `.length)),
  }));
  return {
    ...WORLD,
    pins: [...(WORLD.pins ?? []), ...pins],
    events: pins.map(({ id }, index) => ({
      ...{ type: 'pin', action: 'visited', ownerId: 5n, actorId: 1n, boardId: 7n, pinId: id },
      timestampMs: index,
    })),
  };
}

/** Asserts that a response is a problem document, in the form that all refusals share. */
export function assertProblem(reply: RawReply, status: number, code: string): Record<string, unknown> {
  assert.equal(reply.status, status, reply.body);
  assert.equal(reply.headers.get('content-type'), 'application/problem+json');
  const problem: Record<string, unknown> = JSON.parse(reply.body);
  assert.deepEqual(Object.keys(problem), [
    'type',
    'title',
    'status',
    'detail',
    'instance',
    'code',
    'request_id',
  ]);
  assert.equal(problem['status'], status);
  assert.equal(problem['code'], code);
  assert.equal(problem['type'], `/problems/${code}`);
  assert.equal(problem['request_id'], reply.headers.get('x-request-id'));
  return problem;
}
