/** Syncs that are killed at any moment, and run again. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { run, start, temporaryFolder } from '../cli/command.ts';
import { killRounds, momentsToKill, tellSeed } from '../killing.ts';
import { openWorld, type World } from '../world.ts';
import { type CopyPlace, type CopyRow, PLACES } from './copies.ts';
import { type Exported, exported, sortedTexts } from './exported.ts';
import '../without-coverage.ts';

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
  for (const kind of PLACES) {
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
        const rows = await rowsIfAny(place);
        if (rows.length > 0) assertWhole(rows);
        const again = await run(['sync', url, '--to', place.address], {
          environment: { CORKBOARD_SYNC_KEY: world.keys.full },
        });
        assert.equal(again.code, 0, again.stderr);
        assertWhole(await place.rows('events'));
      }
    });
  }
});

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

function assertWhole(rows: readonly CopyRow[]): void {
  const withoutId = rows.map(({ sync_id, ...row }) => row);
  assert.deepEqual(sortedTexts(withoutId), sortedTexts(shown.events));
}
