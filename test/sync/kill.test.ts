/** Syncs that are killed at any moment, and run again. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { run, start, temporaryFolder } from '../cli/command.ts';
import { killRounds, momentsToKill, seed, tellSeed } from '../killing.ts';
import { IS_LONG } from '../long.ts';
import { openWorld, type World } from '../world.ts';
import { BUCKET, type CopyPlace, type CopyRow, DATABASES, PARQUET } from './copies.ts';
import { withoutPoints } from './earlier.ts';
import { type Exported, exported, sortedTexts } from './exported.ts';
import {
  assertMonths,
  eventsIn,
  NO_CHANGES,
  runWith,
  type ScriptedBatch,
  ScriptedCopy,
  type ScriptedEvent,
} from './scripted.ts';
import '../without-coverage.ts';

const KILLED_RUN = join(import.meta.dirname, 'killed-run.ts');
/** Every call in a long run, otherwise some, which depend on the seed. */
const STEP = IS_LONG ? 1 : 6;
const ROUNDS = killRounds(3);
const folder = temporaryFolder();
let world: World;
let url: string;
let shown: Exported;
before(async () => {
  world = await openWorld();
  url = `${world.url}/a`;
  shown = await exported(url, world.keys.full);
});
after(() => world.close());

describe('a killed sync', () => {
  for (const kind of DATABASES) {
    it(`leaves nothing or everything in ${kind.name}, and the next one completes it`, async (t) => {
      tellSeed(t);
      const first = await kind.make(folder);
      const startMs = performance.now();
      assert.equal((await syncUntil(first, undefined)).code, 0);
      const wholeMs = performance.now() - startMs;
      let killed = 0;
      for (const moment of momentsToKill(ROUNDS, () => killed > 0)) {
        const place = await kind.make(folder);
        const { signal } = await syncUntil(place, moment * wholeMs);
        if (signal === 'SIGKILL') killed += 1;
        if ((await rowsIfAny(place)).length > 0) await assertWhole(place);
        const again = await run(['sync', url, '--to', place.address], {
          environment: { CORKBOARD_SYNC_KEY: world.keys.full },
        });
        assert.equal(again.code, 0, again.stderr);
        await assertWhole(place);
      }
    });
  }

  it('leaves files in a folder that are whole each, and the next one completes it', async (t) => {
    tellSeed(t);
    const first = await PARQUET.make(folder);
    const startMs = performance.now();
    assert.equal((await syncUntil(first, undefined)).code, 0);
    const wholeMs = performance.now() - startMs;
    let killed = 0;
    for (const moment of momentsToKill(ROUNDS, () => killed > 0)) {
      const place = await PARQUET.make(folder);
      const { signal } = await syncUntil(place, moment * wholeMs);
      if (signal === 'SIGKILL') killed += 1;
      const known = new Set(sortedTexts(shown.events));
      const rows = (await place.rows('events')).map(({ sync_id, ...row }) => row);
      for (const row of sortedTexts(rows)) assert.ok(known.has(row));
      assert.equal((await syncUntil(place, undefined)).code, 0);
      await assertWhole(place);
      assert.deepEqual(globSync('*', { cwd: join(place.path, '.corkboard') }), ['lock']);
    }
  });
});

/** Files and objects that readers do not see, and that stay after a completed run. */
const FILE_PLACES = [
  {
    name: 'a folder',
    make: async () => {
      const place = await PARQUET.make(folder);
      return { ...place, own: async () => globSync('*', { cwd: join(place.path, '.corkboard') }) };
    },
    owned: ['lock'],
  },
  {
    name: 'a bucket',
    make: async () => {
      const place = await BUCKET.make(folder);
      const own = async () => (await place.objects.keys()).filter((key) => key.startsWith('.corkboard/'));
      return { ...place, own };
    },
    owned: ['.corkboard/holder'],
  },
] as const;

describe('a run that is killed before any of its changes of files', () => {
  const january = eventAt('a', '2018-01-05');
  const [february, march] = [eventAt('b', '2018-02-05'), eventAt('c', '2018-03-05')];
  const start = [{ ...NO_CHANGES, startsAnew: true, events: [january, february, march] }];
  const moved = eventAt('a', '2018-04-05');
  const change = [{ ...NO_CHANGES, deleted: ['c'], events: [moved, eventAt('d', '2018-02-06')] }];

  const CASES = [
    ['of a new copy', undefined, start],
    ['of a copy', start, change],
    ['of a copy without points', start, change, true],
    ['of a copy that starts again', start, [{ ...NO_CHANGES, startsAnew: true, events: [moved, march] }]],
  ] as const;
  for (const kind of FILE_PLACES) {
    for (const [name, former, batches, isEarlier = false] of CASES) {
      it(`${name} in ${kind.name} leaves each month as before or as after, and later ones complete it`, async (t) => {
        tellSeed(t);
        const [before, after] = [new ScriptedCopy(), new ScriptedCopy()];
        for (const one of former ?? []) {
          before.apply(one);
          after.apply(one);
        }
        for (const one of batches) after.apply(one);
        let [isKilled, kills] = [true, 0];
        for (let call = 1 + (seed % STEP); isKilled; call += STEP) {
          const place = await kind.make();
          if (former !== undefined) await runWith(place, former, 'first');
          if (isEarlier) await withoutPoints(place);
          isKilled = await runKilled(place.address, batches, call);
          if (isKilled) kills += 1;
          assertMonths(eventsIn(await place.rows('events')), before.events, after.events);
          // The run that completes it can be killed as well.
          await runKilled(place.address, batches, 1 + ((call * 7) % 11));
          await runWith(place, batches, 'second');
          assert.deepEqual(eventsIn(await place.rows('events')), after.events);
          assert.deepEqual(await place.rows('points'), []);
          assert.deepEqual(await place.own(), kind.owned);
        }
        assert.ok(kills > 0);
      });
    }
  }
});

function eventAt(id: string, day: string): ScriptedEvent {
  return { id, actor: 1, instantMs: Date.parse(`${day}T12:00:00Z`), title: 'Board' };
}

/** Whether the run was killed; it is not if it makes fewer calls. */
async function runKilled(address: string, batches: readonly ScriptedBatch[], call: number): Promise<boolean> {
  const words = [KILLED_RUN, address, JSON.stringify(batches), 'second'];
  const child = spawn(process.execPath, words, {
    env: { ...process.env, KILL_BEFORE: String(call) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await once(child, 'close');
  if (child.signalCode !== 'SIGKILL') assert.equal(child.exitCode, 0);
  return child.signalCode === 'SIGKILL';
}

/** Kills the command after a time, unless it has ended before. */
async function syncUntil({ address }: CopyPlace, killMs: number | undefined) {
  const child = start(['sync', url, '--to', address], { CORKBOARD_SYNC_KEY: world.keys.full });
  const ended = once(child, 'close');
  if (killMs !== undefined) {
    await Promise.race([delay(killMs), ended]);
    child.kill('SIGKILL');
  }
  await ended;
  return { code: child.exitCode, signal: child.signalCode };
}

/** None if the tables do not exist yet. */
async function rowsIfAny(place: CopyPlace): Promise<readonly CopyRow[]> {
  try {
    return await place.rows('events');
  } catch (error) {
    assert.match(String(error), /does not exist|no such table|unable to open|Cannot open/);
    return [];
  }
}

async function assertWhole(place: CopyPlace): Promise<void> {
  const withoutId = (await place.rows('events')).map(({ sync_id, ...row }) => row);
  assert.deepEqual(sortedTexts(withoutId), sortedTexts(shown.events));
  assert.deepEqual(sortedTexts(await place.rows('points')), sortedTexts(shown.points));
}
