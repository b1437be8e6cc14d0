/**
 * The same bundles in both stores, read directly and from memory: three servers (four in long runs)
 * give the same responses. The test gives all stores the same secret, because pseudonyms and
 * cursors depend on it. Entity tags are not compared: they belong to a version of one store.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { type RunningServer, startServer } from '../../src/server/start.ts';
import { withResidentDatasets } from '../../src/store/resident-store.ts';
import type { Settings, Store } from '../../src/store/store.ts';
import { IS_LONG } from '../long.ts';
import type { ParsedRequest } from '../model/answers.ts';
import { type Bundle, EMPTY_BUNDLE, writeBundle } from '../model/bundle.ts';
import { nextOf, urlPathOf } from '../model/client.ts';
import { type KeyWishes, loadFiles, storeSettings } from '../model/deployment.ts';
import { DIRECT, EMBEDDED, openStorage, type Storage } from '../storage.ts';
import { ADA, BOB, IRONY, RHETORIC, WORLD, WORLD_QUESTIONS, WORLD_SCOPES, WORLD_SETTINGS } from '../world.ts';

const DEMO = join(import.meta.dirname, '../../demo');
const SECRET = Buffer.alloc(32, 'the same for all');
const TUESDAY_MS = Date.parse('2018-03-13T00:00:00Z');

/**
 * Imported after the fixture: changes known records, and adds events that are earlier than existing
 * ones.
 */
const LATER: Bundle = {
  ...EMPTY_BUNDLE,
  users: [{ id: ADA, email: 'countess@harbor.example', name: 'Ada King' }],
  boards: [{ id: RHETORIC, title: 'Rhetoric, again' }],
  pins: [{ id: IRONY, board_id: RHETORIC, owner_id: ADA, title: 'On irony', body: 'Shorter.' }],
  events: [0, 1, TUESDAY_MS].map((timestampMs) => ({
    ...{ type: 'pin', action: 'commented', owner_id: ADA, actor_id: BOB, board_id: RHETORIC, pin_id: IRONY },
    timestamp: new Date(timestampMs).toISOString(),
  })),
  adjustments: [
    { user_id: BOB, board_id: RHETORIC, points: 4, timestamp: '2018-03-13T00:00:00Z', reason: 'a prize' },
  ],
};

const DEMO_QUESTIONS: readonly ParsedRequest[] = [
  ...(['events', 'events with pins', 'boards', 'users'] as const).map((route) => ({ route })),
  ...[1n, 2n, 9n].flatMap((id): ParsedRequest[] => [
    { route: 'events of a board', id },
    { route: 'events of a user', id },
    { route: 'points of a board', by: 'id', name: `${id}` },
    { route: 'points of a user', id, keyedBy: 'user' },
    { route: 'points of an LMS user', property: 'sis_user_id', value: `${id}`, keyedBy: 'board' },
  ]),
];

const KEYS: readonly KeyWishes[] = [
  ...Object.values(WORLD_SCOPES).map((scope) => ({ scope })),
  { redact: { email: true, name: true, id: false } },
  { redact: { email: true, name: true, id: true } },
  { scope: WORLD_SCOPES.boards, redact: { email: true, name: false, id: false } },
];

const PLAIN = { email: false, name: false, id: false };
const FORMS: readonly Readonly<Record<string, string>>[] = [
  { accept: 'application/json', 'accept-encoding': 'identity' },
  { accept: 'application/x-ndjson, application/json;q=0.5', 'accept-encoding': 'gzip' },
  { accept: 'text/csv, application/json;q=0.5', 'accept-encoding': 'identity' },
];
/** One range for each form. */
const RANGES = [{}, { startMs: TUESDAY_MS }, { startMs: 0, endMs: TUESDAY_MS }];

interface Server {
  readonly name: string;
  readonly storage: Storage;
  readonly running: RunningServer;
}

function withSecret(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name === 'organization') {
        return async (organization: string) => ({
          ...(await target.organization(organization)),
          secret: SECRET,
        });
      }
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

describe('the same bundle', () => {
  let folder: string;
  const storages: Storage[] = [];
  const servers: Server[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corkboard-same-'));
    await writeBundle(join(folder, 'world'), WORLD, 'ndjson');
    await writeBundle(join(folder, 'later'), LATER, 'csv');
    for (const kind of DIRECT) {
      const storage = await openStorage(kind, folder);
      storages.push(storage);
      const inMemory = withResidentDatasets(storage.store, { limitBytes: 1e9 });
      for (const [store, resident] of [
        [storage.store, false],
        [inMemory, true],
      ] as const) {
        // Reading a version file directly works the same in both stores.
        if (!IS_LONG && kind !== EMBEDDED && !resident) continue;
        const running = await startServer({
          ...{ host: '127.0.0.1', port: 0, defaultVariant: 'a', logLevel: 'silent' },
          store: withSecret(store),
          keyring: storage.keyring,
        });
        servers.push({
          name: `${resident ? 'from memory over' : 'straight from'} ${kind.store}`,
          storage,
          running,
        });
      }
    }
  });
  after(async () => {
    for (const { running } of servers) await running.stop();
    for (const storage of storages) await storage.close();
    await rm(folder, { recursive: true });
  });

  /** Imports the bundles one after the other into all stores. */
  async function load(organization: string, settings: Partial<Settings>, ...paths: string[]): Promise<void> {
    for (const { store } of storages) {
      await store.createOrganization(organization, settings);
      for (const path of paths) await loadFiles(store, organization, [path]);
    }
  }

  /** Keys with the same scope and redaction, one for each server. */
  async function makeKeys(
    organization: string,
    { scope = FULL_SCOPE, redact = PLAIN }: KeyWishes,
  ): Promise<readonly string[]> {
    const grant = { organization, label: '', scope, redact };
    const made = servers.map(({ storage }) => storage.keyring.create(grant, undefined));
    return (await Promise.all(made)).map(({ key }) => key);
  }

  /** The common response of all servers; fails if any differs. */
  async function ask(path: string, keys: readonly string[], form: Readonly<Record<string, string>>) {
    const replies = await Promise.all(
      servers.map(async ({ running }, index) => {
        const headers = { ...form, apikey: keys[index] ?? '' };
        return await appearance(await fetch(running.address + path, { headers }));
      }),
    );
    const [first, ...others] = replies;
    assert.ok(first);
    for (const [index, other] of others.entries()) {
      const about = `${path}, ${servers[index + 1]?.name}`;
      assert.deepEqual(other.headers, first.headers, about);
      assert.ok(other.body.equals(first.body), `${about}: ${other.body.toString('utf8', 0, 500)}`);
    }
    return first;
  }

  /**
   * Compares the servers on each route of both variants, using the forms and their ranges in turn;
   * `turn` selects the first one. Long runs use each form for each route. Returns the number of
   * responses with status 200.
   */
  async function compare(
    questions: readonly ParsedRequest[],
    keys: readonly string[],
    turn: number,
  ): Promise<number> {
    let found = 0;
    for (const [shift, variant] of (['a', 'b'] as const).entries()) {
      for (const [at, question] of questions.entries()) {
        for (const [index, form] of FORMS.entries()) {
          if (!IS_LONG && index !== (at + shift + turn) % FORMS.length) continue;
          const path = urlPathOf(variant, question, RANGES[index]);
          if (path === undefined) continue;
          const { status } = await ask(path, keys, form);
          if (status === 200) found += 1;
        }
      }
    }
    return found;
  }

  /**
   * The number of pages. Cursors name sequences, which the stores may number with different gaps.
   */
  async function walk(path: string, keys: readonly string[]): Promise<number> {
    let pages = 0;
    for (let next: readonly string[] | undefined = servers.map(() => path); next !== undefined; pages += 1) {
      const replies: readonly Response[] = await Promise.all(
        servers.map(({ running }, index) =>
          fetch(running.address + next?.[index], { headers: { apikey: keys[index] ?? '' } }),
        ),
      );
      const texts = await Promise.all(replies.map((reply) => reply.text()));
      assert.deepEqual(new Set(texts).size, 1, next[0]);
      const links = replies.map(({ status, headers }) => nextOf({ status, headers, text: '' }));
      const linked = links.filter((link) => link !== undefined);
      assert.ok(linked.length === 0 || linked.length === servers.length, next[0]);
      next = linked.length === 0 ? undefined : linked;
    }
    return pages;
  }

  it('of all kinds, followed by a second one, gives the same bytes on every route, with every key', async () => {
    await load('world', storeSettings(WORLD_SETTINGS), join(folder, 'world'), join(folder, 'later'));
    for (const [turn, wishes] of KEYS.entries()) {
      const found = await compare(WORLD_QUESTIONS, await makeKeys('world', wishes), turn);
      assert.ok(found > (IS_LONG ? 10 : 5), String(found));
    }
  });

  it('gives the same bytes after an export and import', async () => {
    const keys = await makeKeys('world', {});
    const { body } = await ask('/a/v1/events?format=ndjson', keys, {});
    await writeFile(join(folder, 'events.ndjson'), body);
    await load('nested', { id: WORLD_SETTINGS.id }, join(folder, 'events.ndjson'));
    await compare(WORLD_QUESTIONS, await makeKeys('nested', {}), 0);
  });

  it('of real data gives the same bytes on every route, plain and redacted', async () => {
    await load('demo', { courseLookup: true, lmsUserProperties: ['sis_user_id'] }, DEMO);
    const keys = await makeKeys('demo', {});
    assert.ok((await compare(DEMO_QUESTIONS, keys, 0)) > (IS_LONG ? 40 : 13));
    const redacted = await makeKeys('demo', { redact: { email: true, name: true, id: false } });
    assert.equal((await ask('/a/v1/events', redacted, { 'accept-encoding': 'zstd' })).status, 200);
  });

  it('gives the same pages', async () => {
    const keys = await makeKeys('world', {});
    for (const list of ['a/v1/events', 'b/v1/pins', 'a/v1/users', 'b/v1/boards']) {
      assert.ok((await walk(`/${list}?limit=2`, keys)) > 1);
    }
    const demo = await makeKeys('demo', {});
    assert.equal(await walk('/b/v1/events?limit=3000&format=csv', demo), 7);
  });
});

/**
 * A response without the values that differ between any two requests, and without those that
 * identify versions.
 */
async function appearance(response: Response) {
  const own = ['date', 'etag', 'data-version', 'x-request-id', 'server-timing', 'connection', 'keep-alive'];
  // The boundaries of the chunks that are compressed depend on the kind of dataset.
  if (response.headers.has('content-encoding')) own.push('content-length', 'transfer-encoding');
  const headers = [...response.headers].filter(([name]) => !own.includes(name));
  for (const name of ['etag', 'data-version'])
    assert.equal(response.headers.has(name), response.status === 200, name);
  const body = Buffer.from(await response.arrayBuffer());
  if (response.ok) return { status: response.status, headers, body };
  const problem = body.toString().replace(/"request_id":"[^"]*"/, '');
  return { status: response.status, headers, body: Buffer.from(problem) };
}
