/**
 * A copy gives the same responses as its source, whatever happens during the pull (decision 56).
 */
import assert from 'node:assert/strict';
import { readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { importBundle } from '../../src/ingest/import.ts';
import { type Pulled, pull } from '../../src/pull/pull.ts';
import { IS_LONG } from '../long.ts';
import type { Variant } from '../model/answers.ts';
import { EMPTY_BUNDLE } from '../model/bundle.ts';
import { get } from '../model/client.ts';
import { deletionRecords, NO_DELETIONS } from '../model/deletions.ts';
import { type Deployment, openDeployment } from '../model/deployment.ts';
import { until } from '../server/stand.ts';
import {
  ADA,
  BOB,
  EMPTY,
  OLIVE,
  openWorld,
  RHETORIC,
  type ScopeName,
  SIRIUS,
  STARS,
  type World,
} from '../world.ts';
import { type Front, type Manner, openFront } from './front.ts';
import { assertMirrored, BOTH_VARIANTS } from './mirrored.ts';

let world: World;
let mirror: Deployment;
let front: Front | undefined;
let mirrors = 0;

before(async () => {
  [world, mirror] = await Promise.all([openWorld(), openDeployment()]);
});
after(async () => {
  await Promise.all([world.close(), mirror.close()]);
});
afterEach(() => front?.close());

function newMirror(): string {
  mirrors += 1;
  return `mirror-${mirrors}`;
}

/** Pulls with very short pauses between attempts. */
async function pullInto(organization: string, url: string, key: string): Promise<Pulled> {
  return await pullWith(organization, url, key, async (paths) => {
    const report = await importBundle({ store: mirror.store, organization, paths });
    assert.deepEqual(report.problems, []);
    return report.outcome !== 'refused';
  });
}

/** Texts of the files that a pull hands to the import, by name. */
type Files = ReadonlyMap<string, string>;

/**
 * Pulls without an import, and returns what would have been imported. A later pull that starts over
 * must then bring everything by itself, because the mirror is empty.
 */
async function pullOnly(organization: string, url: string, key: string): Promise<Files> {
  const files = new Map<string, string>();
  await pullWith(organization, url, key, async (paths) => {
    files.clear();
    for (const path of paths) files.set(basename(path), await readFile(path, 'utf8'));
    return true;
  });
  return files;
}

/**
 * Asserts that files are those of a pull by which nothing was fetched before. That their import
 * reproduces the same bytes is shown by pulls with an import.
 */
async function assertComplete(files: Files, url: string, key: string): Promise<void> {
  assert.ok(files.size > 1);
  assert.deepEqual(files, await pullOnly(newMirror(), url, key));
}

async function pullWith(
  organization: string,
  url: string,
  key: string,
  publish: (paths: readonly string[]) => Promise<boolean>,
): Promise<Pulled> {
  const folder = join(mirror.folder, '.pull', organization);
  return await pull({ url, key, folder, patience: { firstPauseMs: 1 }, publish });
}

async function assertSame(organization: string, key: string, variants: readonly Variant[]): Promise<void> {
  await assertMirrored(world, mirror, { organization, key, variants });
}

describe('a pull', () => {
  for (const [manner, base, variants, scopes] of [
    ['original', 'a', ['a'], []],
    ['original', 'b', ['b'], ['users']],
    ['tokens', 'a', BOTH_VARIANTS, []],
    ['tokens', 'b', BOTH_VARIANTS, ['boards']],
  ] as const satisfies [Manner, Variant, readonly Variant[], readonly ScopeName[]][]) {
    // The test of changes pulls variant a with the full scope; those of test/properties/ pull with
    // random boards.
    for (const scope of IS_LONG ? (['full', 'boards', 'users'] as const) : scopes) {
      it(`from a server in the manner "${manner}", variant ${base}, scope ${scope}, reproduces the same bytes`, async () => {
        front = await openFront(world.url, manner);
        const organization = newMirror();
        const key = world.keys[scope];
        assert.equal((await pullInto(organization, `${front.url}/${base}/`, key)).outcome, 'pulled');
        await assertSame(organization, key, variants);
        const { length } = front.asked;
        const version = await mirror.store.currentVersion(organization);
        const again = await pullInto(organization, `${front.url}/${base}/v1`, key);
        assert.equal(await mirror.store.currentVersion(organization), version);
        if (manner === 'original') return;
        assert.equal(again.outcome, 'unchanged');
        assert.deepEqual(front.asked.slice(length), [`/${base}/v1/users`]);
      });
    }
  }

  it('of changes fetches late events, changed names and changed points, and nothing else', async (t) => {
    const copies = await Promise.all(
      (['tokens', 'original'] as const).map(async (manner) => {
        const itsFront = await openFront(world.url, manner);
        t.after(() => itsFront.close());
        return { manner, organization: newMirror(), front: itsFront };
      }),
    );
    const pullAll = async (manners: readonly Manner[] = ['tokens', 'original']) => {
      for (const {
        organization,
        front: { url },
      } of copies.filter(({ manner }) => manners.includes(manner))) {
        assert.equal((await pullInto(organization, `${url}/a`, world.keys.full)).outcome, 'pulled');
      }
    };
    await pullAll();
    const timestamp = '2018-03-12T17:00:45.566+00:00';
    const late = {
      type: 'pin',
      action: 'commented',
      owner_id: OLIVE,
      actor_id: BOB,
      board_id: STARS,
      pin_id: SIRIUS,
      timestamp,
    };
    await world.load('harbor', {
      ...EMPTY_BUNDLE,
      users: [{ id: ADA, email: 'ada@harbor.example', first_name: 'Ada', last_name: 'King' }],
      boards: [{ id: RHETORIC, title: 'Rhetoric, changed' }],
      events: [late, late],
    });
    await untilServed(world, 'King');
    // Without tokens everything is fetched every time, however much has changed.
    await pullAll(IS_LONG ? undefined : ['tokens']);
    // A third event, imported alone, that is identical to the two others except for its id.
    const countNow = async () =>
      (await get(`${world.url}/b/v1/events`, world.keys.full)).text.split(timestamp).length;
    const count = await countNow();
    await world.load('harbor', { ...EMPTY_BUNDLE, events: [{ ...late, id: 9_000n }] });
    await until(async () => (await countNow()) > count);
    await pullAll();
    for (const {
      manner,
      organization,
      front: { asked },
    } of copies) {
      await assertSame(organization, world.keys.full, manner === 'tokens' ? BOTH_VARIANTS : ['a']);
      if (manner === 'tokens') assert.ok(asked.some((path) => /since=[\w-]{22}/.test(path)));
    }
  });

  it('starts over when its token is refused', async () => {
    front = await openFront(world.url, 'tokens');
    const organization = newMirror();
    const begun = () =>
      front?.asked.filter((path) => path.includes('since=start') && !path.includes('cursor')).length;
    await pullOnly(organization, `${front.url}/a`, world.keys.full);
    assert.equal(begun(), 1);
    await renameBoard('Rhetoric again');
    front.loseTokens();
    const files = await pullOnly(organization, `${front.url}/a`, world.keys.full);
    assert.equal(begun(), 2);
    await assertComplete(files, `${front.url}/a`, world.keys.full);
  });

  it('continues at the page after the last one that it fetched', async () => {
    front = await openFront(world.url, 'tokens');
    const organization = newMirror();
    const walked = () => front?.asked.filter((path) => path.includes('since=')) ?? [];
    front.trouble = (path) =>
      path.includes('since=') && new Set(walked()).size === 3 ? { status: 502 } : undefined;
    await assert.rejects(pullOnly(organization, `${front.url}/a`, world.keys.full), /502/);
    front.trouble = () => undefined;
    const last = walked().at(-1) ?? '';
    assert.match(last, /cursor=/);
    front.asked.length = 0;
    const files = await pullOnly(organization, `${front.url}/a`, world.keys.full);
    assert.equal(walked()[0], last);
    await assertComplete(files, `${front.url}/a`, world.keys.full);
  });

  it('erases users that were forgotten, and deletes events that were deleted in the source', async () => {
    front = await openFront(world.url, 'tokens');
    const organization = newMirror();
    const users = [5n, 6n].map((id) => ({ id, email: `u${id}@gone.example`, name: `User ${id}` }));
    const event = { type: 'board', action: 'seen', owner_id: 5n, board_id: 7n };
    const events = [5n, 6n, 5n, 6n].map((actor_id, day) => ({
      ...event,
      actor_id,
      id: BigInt(day + 1),
      timestamp: `2024-01-0${day + 1}T00:00:00Z`,
    }));
    const boards = [{ id: 7n, title: 'Seven' }];
    await world.load('goners', { ...EMPTY_BUNDLE, users, boards, events });
    const key = await world.makeKey('goners');
    await pullInto(organization, `${front.url}/a`, key);
    await world.load('goners', {
      ...EMPTY_BUNDLE,
      ...deletionRecords({ ...NO_DELETIONS, events: [{ id: 4n }] }),
      users: [{ ...users[0]!, forgotten: true }],
    });
    await until(async () => !(await get(`${world.url}/a/v1/users`, key)).text.includes('u5@'));
    const { gone } = await pullInto(organization, `${front.url}/a`, key);
    assert.deepEqual(gone, { users: 0, boards: 0, points: 0, forgotten: ['5'] });
    const questions = [{ route: 'events' }, { route: 'users' }, { route: 'boards' }] as const;
    await assertMirrored(world, mirror, { organization, key, variants: BOTH_VARIANTS, questions });
    const { text } = await get(`${mirror.url}/a/v1/events`, await mirror.makeKey(organization));
    assert.deepEqual(text.match(/2024-01-\d\d/g), ['2024-01-02']);
  });

  it('checks again if a version is published in the meantime', async () => {
    front = await openFront(world.url, 'tokens');
    const organization = newMirror();
    let published: Promise<void> | undefined;
    let isServed = false;
    front.trouble = (path) => {
      if (!path.includes('points') || isServed) return undefined;
      published ??= renameBoard('Rhetoric, meanwhile').then(() => {
        isServed = true;
      });
      return { status: 503, headers: { 'retry-after': '1' } };
    };
    await pullInto(organization, `${front.url}/a`, world.keys.full);
    await published;
    assert.ok(isServed);
    await assertSame(organization, world.keys.full, BOTH_VARIANTS);
  });

  for (const [change, base, scope] of [
    ['source', 'b', 'full'],
    ['key', 'a', 'boards'],
  ] as const) {
    it(`starts over in the same folder when the ${change} changes, and sends nothing of the former one`, async () => {
      front = await openFront(world.url, 'tokens');
      const organization = newMirror();
      await pullOnly(organization, `${front.url}/a`, world.keys.full);
      front.asked.length = 0;
      const files = await pullOnly(organization, `${front.url}/${base}`, world.keys[scope]);
      const tokens = front.asked.flatMap((path) => new URL(path, world.url).searchParams.getAll('since'));
      assert.deepEqual(new Set(tokens), new Set(['start']));
      await assertComplete(files, `${front.url}/${base}`, world.keys[scope]);
      await rm(join(mirror.folder, '.pull'), { recursive: true });
    });
  }

  it('publishes nothing until an event names the organization, and then everything', async () => {
    front = await openFront(world.url, 'tokens');
    const organization = newMirror();
    const key = await world.makeKey('harbor', { scope: { boards: [EMPTY], users: 'all' } });
    assert.equal((await pullInto(organization, `${front.url}/a`, key)).outcome, 'unchanged');
    await assert.rejects(mirror.store.organization(organization), /no organization/i);
    assert.equal((await pullInto(organization, `${front.url}/a`, key)).outcome, 'unchanged');
    await pullInto(organization, `${front.url}/a`, world.keys.full);
    await assertSame(organization, world.keys.full, BOTH_VARIANTS);
  });

  it('starts over if its records were refused the last time', async () => {
    front = await openFront(world.url, 'tokens');
    const [organization, url] = [newMirror(), `${front.url}/a`];
    const { outcome } = await pullWith(organization, url, world.keys.full, async () => false);
    assert.equal(outcome, 'refused');
    front.asked.length = 0;
    await pullOnly(organization, url, world.keys.full);
    assert.ok(front.asked.some((path) => path.includes('since=start')));
  });

  it('waits for a busy or unreachable server, and accepts no partial response', async () => {
    front = await openFront(world.url, 'original');
    const troubles = [
      { status: 429, headers: { 'retry-after': '0' } },
      { status: 503 },
      { cutAfterBytes: 1 },
      { cutAfterBytes: 0 },
    ];
    const seen = new Map<string, number>();
    front.trouble = (path) => {
      const times = seen.get(path) ?? 0;
      seen.set(path, times + 1);
      return troubles[times];
    };
    const organization = newMirror();
    const files = await pullOnly(organization, `${front.url}/a`, world.keys.full);
    assert.ok([...seen.values()].every((times) => times === troubles.length + 1));
    await assertComplete(files, `${front.url}/a`, world.keys.full);
  });

  it('fails for a wrong key, a wrong address and an unreachable server, and keeps the fetched data', async () => {
    front = await openFront(world.url, 'original');
    const refusal = (reason: RegExp) => (error: Error & { code?: string }) => {
      assert.equal(error.code, 'source-refused');
      assert.match(error.message, reason);
      return true;
    };
    await assert.rejects(pullInto(newMirror(), `${front.url}/a`, world.keys.revoked), refusal(/401/));
    await assert.rejects(pullInto(newMirror(), `${front.url}/nowhere`, world.keys.full), refusal(/no API/));
    const organization = newMirror();
    front.trouble = (path) => (path.includes('points') ? { status: 502 } : undefined);
    await assert.rejects(pullInto(organization, `${front.url}/a`, world.keys.full), refusal(/502/));
    await assert.rejects(mirror.store.organization(organization), /no organization/i);
    front.asked.length = 0;
    front.trouble = () => undefined;
    const files = await pullOnly(organization, `${front.url}/a`, world.keys.full);
    assert.ok(
      front.asked.every((path) => path.includes('points')),
      front.asked.join(),
    );
    await assertComplete(files, `${front.url}/a`, world.keys.full);
  });
});

async function renameBoard(title: string): Promise<void> {
  await world.load('harbor', { ...EMPTY_BUNDLE, boards: [{ id: RHETORIC, title }] });
  await untilServed(world, title);
}

async function untilServed({ url, keys }: World, text: string): Promise<void> {
  await until(async () => (await get(`${url}/b/v1/events`, keys.full)).text.includes(text));
}
