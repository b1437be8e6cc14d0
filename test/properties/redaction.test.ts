/**
 * Responses for redacting keys: no real value on any route, in any representation; one stable
 * pseudonym for each user; and lists in the order of the ids that the key sees (decisions 22, 63).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { isRedacting, type Redaction } from '../../src/domain/redaction.ts';
import { FULL_SCOPE, type Scope } from '../../src/domain/scope.ts';
import { UserPseudonyms } from '../../src/render/redaction/user-pseudonyms.ts';
import type { Route } from '../../src/server/request/route.ts';
import { publishedBases } from '../../src/server/routes/variants.ts';
import { IS_LONG } from '../long.ts';
import { allRedactions, BOARD_IDS, LMS_PROPERTIES } from '../model/arbitrary.ts';
import { get, nextOf, type Reply } from '../model/client.ts';
import { type Deployment, holdsRecords, installPlan, openDeployment } from '../model/deployment.ts';
import { ADDRESS_PARTS, disguisedArbitrary, GIVEN_NAMES, REAL_IDS, REASONS } from '../model/disguised.ts';
import { parseExact } from '../model/insights-model.ts';
import { runs } from '../model/runs.ts';
import { readParquetRows } from '../render/parquet-rows.ts';

const REDACTIONS = allRedactions().filter(isRedacting);
const SCOPES: readonly Scope[] = [
  FULL_SCOPE,
  { boards: BOARD_IDS.slice(0, 2), users: 'of-boards' },
  { boards: 'all', users: REAL_IDS.slice(1) },
];
const ROUTES = publishedBases('a')
  .filter(({ base }) => base !== '')
  .flatMap(({ base, table }) => table.routes.map((route) => ({ base, route })));

interface Seen {
  readonly redact: Redaction;
  readonly url: string;
  readonly key: string;
  /** Ids as the key sees them. */
  readonly users: readonly string[];
}

/** Fails if the bytes of a response identify users. */
function assertHidden(bytes: Buffer, { redact }: Pick<Seen, 'redact'>, where: string): void {
  const text = bytes.toString('latin1');
  if (redact.email || redact.id) assert.doesNotMatch(text, ADDRESS_PARTS, where);
  if (redact.name) assert.doesNotMatch(text, GIVEN_NAMES, where);
  assert.doesNotMatch(text, REASONS, where);
  if (!redact.id) return;
  for (const id of REAL_IDS) {
    assert.ok(!text.includes(String(id).replace('-', '')), `${where} shows the id ${id}`);
    const binary = Buffer.alloc(8);
    binary.writeBigInt64LE(id);
    assert.ok(!bytes.includes(binary) && !bytes.includes(binary.reverse()), `${where} holds the id ${id}`);
  }
}

/** Checks header fields, and the decoded contents of cursors and tokens. */
function assertHiddenInHead(reply: Pick<Reply, 'headers'>, seen: Seen, where: string): void {
  for (const [name, value] of reply.headers) {
    assertHidden(Buffer.from(value), seen, `${where}, ${name}`);
    for (const [word] of value.matchAll(/[\w-]{16,}/g))
      assertHidden(Buffer.from(word, 'base64url'), seen, `${where}, ${name} decoded`);
  }
}

/** The paths of a route for existing records, plain and with the parameters that the route has. */
function pathsOf(base: string, route: Route, users: readonly string[]): string[] {
  const values: Readonly<Record<string, readonly string[]>> = {
    board: BOARD_IDS.map(String),
    user: users,
    lti: BOARD_IDS.map((id) => `lti-${id}`),
    course: BOARD_IDS.map((id) => `C${id}`),
    prop: LMS_PROPERTIES.map(encodeURIComponent),
    val: ['S1', 'n%201'],
  };
  const paths = route.names.reduce<readonly string[]>(
    (all, { name }) => {
      const kind = Object.keys(values).find((one) => name.startsWith(one));
      return all.flatMap((path) => values[kind!]!.map((value) => path.replace(`{${name}}`, value)));
    },
    [`${base}/v1${route.path}`],
  );
  const queries = ['', ...(route.parameters.includes('by') ? ['by=role', 'by=board'] : [])];
  if (route.parameters.includes('property')) {
    queries.push(...LMS_PROPERTIES.map((name) => `by=lms&property=${encodeURIComponent(name)}`));
  }
  if (route.parameters.includes('user')) queries.push(...users.map((user) => `user=${user}`));
  if (route.parameters.includes('key')) queries.push('key=board');
  if (route.parameters.includes('order')) queries.push('order=recent&top=2');
  return paths.flatMap((path) => queries.map((query) => (query === '' ? path : `${path}?${query}`)));
}

/**
 * Whether a path is read in a representation: the first path of a route in each, the others in each
 * third one; all in long runs.
 */
function isRead(at: number, turn: number): boolean {
  return IS_LONG || at === 0 || (at + turn) % 3 === 0;
}

/** Reads all routes. */
async function readAll(seen: Seen): Promise<void> {
  for (const { base, route } of ROUTES) {
    for (const [at, path] of pathsOf(base, route, seen.users).entries()) {
      const separator = path.includes('?') ? '&' : '?';
      for (const [turn, representation] of route.representations.entries()) {
        if (!isRead(at, turn)) continue;
        if (representation === 'event-stream') await readStream(seen, path);
        else if (representation === 'parquet') await readParquet(seen, path);
        else await readPages(seen, `${path}${separator}format=${representation}`, route);
      }
      if (route.parameters.includes('since')) await readPages(seen, `${path}${separator}since=start`, route);
      if (route.parameters.includes('limit')) await readPages(seen, `${path}${separator}limit=1`, route);
    }
  }
}

async function readPages(seen: Seen, first: string, { parameters }: Route): Promise<void> {
  // Without a `format` parameter, the route returns JSON anyway.
  const known = parameters.includes('format') ? first : first.replace(/[?&]format=json/, '');
  for (let path: string | undefined = known.replace(/(points|ledger)&/, '$1?'); path !== undefined; ) {
    const reply = await get(seen.url + path, seen.key);
    assert.ok([200, 403, 404].includes(reply.status), `${path}: ${reply.text}`);
    assertHidden(Buffer.from(reply.text), seen, path);
    assertHiddenInHead(reply, seen, path);
    path = nextOf(reply);
  }
}

async function readParquet(seen: Seen, path: string): Promise<void> {
  const headers = { apikey: seen.key, accept: 'application/vnd.apache.parquet' };
  const response = await fetch(seen.url + path, { headers });
  assertHiddenInHead(response, seen, path);
  const bytes = Buffer.from(await response.arrayBuffer());
  assertHidden(bytes, seen, path);
  if (response.status !== 200) return;
  const { rows } = await readParquetRows(bytes);
  assertHidden(Buffer.from(rows.flat().join('\n')), seen, `${path} as Parquet`);
}

async function readStream(seen: Seen, path: string): Promise<void> {
  const separator = path.includes('?') ? '&' : '?';
  const abort = new AbortController();
  const headers = { apikey: seen.key, accept: 'text/event-stream' };
  const response = await fetch(`${seen.url}${path}${separator}since=start`, {
    headers,
    signal: abort.signal,
  });
  assertHiddenInHead(response, seen, path);
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes('event: synced') || response.status !== 200) break;
  }
  abort.abort();
  assertHidden(Buffer.from(text), seen, `${path} as a stream`);
}

type Listed = readonly { readonly id: string; readonly email: string; readonly name: string }[];

describe('redaction', () => {
  let deployment: Deployment;
  before(async () => {
    deployment = await openDeployment();
  });
  after(() => deployment.close());

  async function load<T>(key: string, path: string): Promise<T> {
    const reply = await get(deployment.url + path, key);
    assert.equal(reply.status, 200, reply.text);
    return parseExact(reply.text) as T;
  }

  it('shows no real value on any route, in any representation, header, cursor, stream or table', async () => {
    const property = fc.asyncProperty(
      disguisedArbitrary,
      fc.constantFrom(...REDACTIONS),
      fc.constantFrom(...SCOPES),
      async (plan, redact, scope) => {
        const { organization } = await installPlan(deployment, plan);
        const key = await deployment.makeKey(organization, { redact, scope, lmsSplits: LMS_PROPERTIES });
        const users = (await load<Listed>(key, '/b/v1/users')).map(({ id }) => id);
        await readAll({ redact, key, users: users.slice(0, IS_LONG ? 3 : 2), url: deployment.url });
      },
    );
    await fc.assert(property, runs(4));
  });

  it('gives each user one stable pseudonym, and lists users in the order of the visible ids', async () => {
    const property = fc.asyncProperty(
      disguisedArbitrary.filter(({ bundles }) => bundles.filter(holdsRecords).length > 1),
      async (plan) => {
        const [first, ...later] = plan.bundles.filter(holdsRecords);
        const { organization } = await installPlan(deployment, { ...plan, bundles: [first!] });
        const full = await deployment.makeKey(organization);
        const { secret } = await deployment.store.organization(organization);
        const pseudonyms = new UserPseudonyms(secret);
        const keys = await Promise.all(
          REDACTIONS.map(async (redact) => ({
            redact,
            key: await deployment.makeKey(organization, { redact }),
          })),
        );
        const seen = new Map<string, string>();
        for (const [version, bundle] of [undefined, ...later].entries()) {
          if (bundle !== undefined) await publish(full, organization, bundle, plan.format);
          const real = await load<Listed>(full, '/b/v1/users');
          for (const [turn, { key, redact }] of keys.entries()) {
            const listed = await load<Listed>(key, '/b/v1/users');
            const expected = real.map(({ id }) => (redact.id ? pseudonyms.ofOne(BigInt(id)) : BigInt(id)));
            assert.deepEqual(
              listed.map(({ id }) => BigInt(id)),
              [...BigInt64Array.from(expected).sort()],
            );
            if (IS_LONG || (turn + version) % 2 === 0) {
              await assertPagesAgree(key, listed);
              await assertPointsInOrder(key);
            }
            await assertFound(
              key,
              listed,
              real.map(({ id }) => id),
              turn,
            );
            for (const { id, email, name } of listed) {
              const known = `${JSON.stringify(redact)} ${id}`;
              const words = `${redact.email || redact.id ? email : ''} ${redact.name ? name : ''}`;
              assert.equal(words, seen.get(known) ?? words, 'a pseudonym stays');
              seen.set(known, words);
            }
            if (redact.email) assert.equal(new Set(listed.map(({ email }) => email)).size, listed.length);
          }
        }
      },
    );
    await fc.assert(property, runs(2));
  });

  async function publish(
    key: string,
    organization: string,
    bundle: Parameters<Deployment['load']>[1],
    format: 'csv' | 'ndjson',
  ) {
    const tag = async () => (await get(`${deployment.url}/a/v1/boards`, key)).headers.get('etag');
    const earlier = await tag();
    const { published } = await deployment.load(organization, bundle, format);
    while (published && (await tag()) === earlier) await delay(20);
  }

  /** Pages of users together have the same order as the whole list. */
  async function assertPagesAgree(key: string, listed: Listed): Promise<void> {
    const walked: string[] = [];
    for (let path: string | undefined = '/a/v1/users?limit=2'; path !== undefined; ) {
      const reply = await get(deployment.url + path, key);
      walked.push(...(parseExact(reply.text) as Listed).map(({ id }) => id));
      path = nextOf(reply);
    }
    assert.deepEqual(
      walked,
      listed.map(({ id }) => id),
    );
  }

  /**
   * Users are found by the ids that the key sees, and by no others. Uses the routes in turn, from
   * number `turn` on; in long runs all for each id.
   */
  async function assertFound(
    key: string,
    listed: Listed,
    real: readonly string[],
    turn: number,
  ): Promise<void> {
    const shown = new Set(listed.map(({ id }) => id));
    for (const [at, id] of [...new Set([...shown, ...real])].entries()) {
      const paths = [
        `/a/v1/events/user/${id}`,
        `/a/v1/user/${id}/points`,
        `/insights/v1/overview?user=${id}`,
      ];
      for (const path of paths.filter((_, way) => IS_LONG || way === (at + turn) % paths.length)) {
        const { status, text } = await get(deployment.url + path, key);
        assert.equal(status, shown.has(id) ? 200 : 404, `${path} ${text}`);
        const named = [...text.matchAll(/"actor":\{"id":(-?\d+)|"user_id":(-?\d+)|"user":\{"id":(-?\d+)/g)];
        for (const [, ...ids] of named) assert.equal(ids.find(Boolean), id, path);
      }
    }
  }

  async function assertPointsInOrder(key: string): Promise<void> {
    for (const board of BOARD_IDS) {
      const { status, text } = await get(`${deployment.url}/a/v1/board/${board}/points`, key);
      if (status !== 200) continue;
      const ids = [...text.matchAll(/"user_id":(-?\d+)/g)].map(([, id]) => BigInt(id!));
      assert.deepEqual(ids, [...BigInt64Array.from(ids).sort()], `points of board ${board}`);
    }
  }
});
