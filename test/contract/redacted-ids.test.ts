/**
 * Responses for a key that redacts ids: the same pseudonym everywhere, in an order that reveals
 * nothing (decision 63).
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { importBundle } from '../../src/ingest/import.ts';
import { pull } from '../../src/pull/pull.ts';
import { UserPseudonyms } from '../../src/render/redaction/user-pseudonyms.ts';
import { forgetUsers } from '../../src/store/forgotten.ts';
import { type Bundle, EMPTY_BUNDLE } from '../model/bundle.ts';
import { get } from '../model/client.ts';
import { type Deployment, openDeployment } from '../model/deployment.ts';
import { parseExact } from '../model/insights-model.ts';
import { until } from '../server/stand.ts';

/**
 * Ascending, in the order of the import, so that no order of the store matches the order of the
 * pseudonyms by chance.
 */
const IDS = Array.from({ length: 12 }, (_, at) => 5_000_000_000_000_000n + 7n * BigInt(at));
const [OWNER, ADA, BOB] = IDS as [bigint, bigint, bigint];
const GONE = IDS.at(-1)!;
const [BOARD, OTHER] = [7n, 8n];
const REDACT_IDS = { email: false, name: false, id: true };

const SCHOOL: Bundle = {
  ...EMPTY_BUNDLE,
  users: IDS.map((id, at) => ({
    id,
    email: `m${at}@uni.example`,
    name: `Ada Lovelace ${at}`,
    lms: { sis: `S${at}` },
  })),
  boards: [BOARD, OTHER].map((id) => ({ id, title: `Board ${id}` })),
  pins: [{ id: 9n, board_id: BOARD, owner_id: OWNER, title: 'Pin' }],
  // All users do the same, so that only the order of ties distinguishes them.
  events: IDS.slice(1).map((actor_id) => ({
    ...{ type: 'pin', action: 'commented', owner_id: OWNER, actor_id, board_id: BOARD, pin_id: 9n },
    timestamp: '2024-01-03T00:00:00Z',
  })),
  memberships: [{ board_id: OTHER, user_id: ADA }],
};

interface Person {
  readonly id: string;
}

describe('a key that redacts ids', () => {
  let deployment: Deployment;
  let key: string;
  let pseudonyms: UserPseudonyms;
  before(async () => {
    deployment = await openDeployment();
    const policy = JSON.stringify({ rules: [{ on: 'pin.commented', to: 'owner', points: 2 }] });
    await deployment.store.createOrganization('school', { policy, lmsUserProperties: ['sis'] });
    await deployment.load('school', SCHOOL);
    key = await deployment.makeKey('school', { redact: REDACT_IDS });
    pseudonyms = new UserPseudonyms((await deployment.store.organization('school')).secret);
  });
  after(() => deployment.close());

  const shown = (id: bigint) => String(pseudonyms.ofOne(id));
  const inOrder = (ids: readonly bigint[]) =>
    Array.from(pseudonyms.of(BigInt64Array.from(ids)).sort(), (id) => String(id));

  async function load<T>(path: string, by = key): Promise<T> {
    const { status, text } = await get(deployment.url + path, by);
    assert.equal(status, 200, `${path} ${text}`);
    for (const id of IDS) assert.ok(!text.includes(String(id)), `${path} shows ${id}`);
    return parseExact(text) as T;
  }

  it('gets users and points of a board in the order of the pseudonyms', async () => {
    for (const variant of ['a', 'b']) {
      const users = await load<Person[]>(`/${variant}/v1/users`);
      assert.deepEqual(
        users.map(({ id }) => id),
        inOrder(IDS),
      );
    }
    const points = await load<Record<string, { user_id: string }>>(`/a/v1/board/${BOARD}/points`);
    assert.deepEqual(
      Object.values(points).map(({ user_id }) => user_id),
      inOrder(IDS),
    );
    const listed = inOrder(IDS).map(BigInt);
    assert.ok(
      listed.every((id) => id >= 0n && id < 2n ** 53n),
      'exact in every client',
    );
  });

  it('names users by their pseudonyms only, in paths, filters and points maps', async () => {
    const ada = shown(ADA);
    const events = await load<{ actor: Person }[]>(`/a/v1/events/user/${ada}`);
    assert.deepEqual(
      events.map(({ actor }) => actor.id),
      [ada],
    );
    const points = await load<Record<string, unknown>>(`/a/v1/user/${ada}/points`);
    assert.deepEqual(Object.keys(points), [ada, `${ada}:${OTHER}`]);
    const overview = await load<{ user: Person; events: number }>(`/insights/v1/overview?user=${ada}`);
    assert.deepEqual([overview.user.id, overview.events], [ada, 1]);
    for (const path of [
      `/a/v1/events/user/${ADA}`,
      `/b/v1/user/${ADA}`,
      `/a/v1/user/${ADA}/points`,
      `/insights/v1/overview?user=${ADA}`,
      `/insights/v1/boards/${BOARD}/users/${ADA}/ledger`,
    ]) {
      assert.equal((await get(deployment.url + path, key)).status, 404, path);
    }
  });

  it('gets users with equal numbers in the order of the pseudonyms', async () => {
    const actors = inOrder(IDS.slice(1));
    for (const order of ['events', 'recent']) {
      for (const top of [4, 100]) {
        const path = `/insights/v1/users?order=${order}&top=${top}`;
        const ranked = await load<{ user: Person }[]>(path);
        assert.deepEqual(
          ranked.map(({ user }) => user.id),
          actors.slice(0, top),
          path,
        );
      }
    }
    const path = `/insights/v1/boards/${BOARD}/interactions?top=5`;
    const { edges } = await load<{ edges: { actor: string; owner: string }[] }>(path);
    assert.deepEqual(
      edges.map(({ actor }) => actor),
      actors.slice(0, 5),
    );
    assert.ok(edges.every(({ owner }) => owner === shown(OWNER)));
    const participation = await load<{ at_risk: { user: Person }[] }>(
      `/insights/v1/boards/${BOARD}/participation`,
    );
    const atRisk = participation.at_risk.map(({ user }) => user.id);
    assert.deepEqual(
      atRisk.filter((id) => id !== shown(OWNER)),
      actors,
    );
  });

  it('gets pseudonyms in the lines of a ledger', async () => {
    const ledger = await load<{ lines: { what: string }[] }>(
      `/insights/v1/boards/${BOARD}/users/${shown(OWNER)}/ledger`,
    );
    assert.deepEqual(
      ledger.lines.map(({ what }) => what),
      IDS.slice(1).map((id) => `pin.commented on pin 9 by user ${shown(id)}`),
    );
  });

  it('gets the users of a scope that names real ids', async () => {
    const scope = { boards: 'all', users: [BOB, OWNER] } as const;
    const scoped = await deployment.makeKey('school', { redact: REDACT_IDS, scope });
    assert.deepEqual(
      (await load<Person[]>('/a/v1/users', scoped)).map(({ id }) => id),
      inOrder([BOB, OWNER]),
    );
    assert.equal((await get(`${deployment.url}/a/v1/events/user/${shown(ADA)}`, scoped)).status, 404);
  });

  it('can be used for a pull, and the pseudonyms are the ids in the copy', async () => {
    const publish = async (paths: readonly string[]) => {
      const report = await importBundle({ store: deployment.store, organization: 'copy', paths });
      assert.deepEqual(report.problems, []);
      return true;
    };
    const redact = { email: true, name: true, id: true };
    const puller = await deployment.makeKey('school', { redact });
    await pull({
      ...{ url: `${deployment.url}/a`, key: puller, publish },
      folder: join(deployment.folder, '.pull', 'copy'),
    });
    const copied = await deployment.makeKey('copy');
    for (const path of ['/a/v1/users', '/b/v1/users', '/a/v1/events', `/a/v1/board/${BOARD}/points`]) {
      assert.deepEqual(await load(path, copied), await load(path, puller), path);
    }
  });

  it('gets forgotten users by pseudonym, in a sync and on a live stream', async () => {
    const headers = { apikey: key, accept: 'text/event-stream' };
    const abort = new AbortController();
    const stream = await fetch(`${deployment.url}/a/v1/events`, { headers, signal: abort.signal });
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    let told = '';
    const hear = async (text: string) => {
      while (!told.includes(text)) told += (await reader.read()).value ?? assert.fail(told);
    };
    await hear('event: synced');
    const since = (await get(`${deployment.url}/a/v1/events`, key)).headers.get('sync-token');
    await forgetUsers(deployment.store, 'school', [GONE], { waitMs: 0 });
    const changes = async () => (await get(`${deployment.url}/a/v1/events?since=${since}`, key)).text;
    await until(async () => (await changes()) !== '[]');
    const forgotten = `{"forgotten":{"user":${shown(GONE)}}}`;
    assert.ok((await changes()).startsWith(`[${forgotten}`), await changes());
    await hear(`data: ${forgotten}`);
    assert.doesNotMatch(told, new RegExp(String(GONE)));
    abort.abort();
  });
});
