/** Pulls that are killed at any request, or during the import, and started again (decision 56). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { run, start } from '../cli/command.ts';
import { killRounds, spreadMoments, tellSeed } from '../killing.ts';
import { type Deployment, openDeployment } from '../model/deployment.ts';
import { openWorld, type World } from '../world.ts';
import { openFront } from './front.ts';
import { assertMirrored, BOTH_VARIANTS } from './mirrored.ts';
import '../without-coverage.ts';

const ROUNDS = killRounds(2);
/** The approximate number of requests of a pull. */
const REQUESTS = 16;

let world: World;
let mirror: Deployment;

before(async () => {
  [world, mirror] = await Promise.all([openWorld(), openDeployment()]);
});
after(async () => {
  await Promise.all([world.close(), mirror.close()]);
});

describe('a killed pull', () => {
  it(`continues and reproduces the same bytes, ${ROUNDS} times`, async (t) => {
    tellSeed(t);
    let killed = 0;
    for (const [round, part] of spreadMoments(ROUNDS).entries()) {
      const manner = round % 2 === 0 ? 'tokens' : 'original';
      const front = await openFront(world.url, manner);
      const organization = `mirror-${round}`;
      const data = join(mirror.folder, 'data');
      const args = ['pull', `${front.url}/a`, '--organization', organization, '--data', data];
      const environment = { CORKBOARD_PULL_KEY: world.keys.full };
      // Killed at a request, whose response may be cut, or some time after the last one, during the
      // import.
      const fatal = 1 + Math.floor(part * REQUESTS);
      const child = start(args, environment);
      const ended = once(child, 'close');
      front.trouble = () => {
        if (front.asked.length !== fatal) return undefined;
        setTimeout(() => child.kill('SIGKILL'), (part * 6_000) % 300);
        return round % 3 === 0 ? { cutAfterBytes: 5 } : undefined;
      };
      await ended;
      if (child.signalCode === 'SIGKILL') killed += 1;
      front.trouble = () => undefined;
      const again = await run(args, { environment });
      assert.equal(again.code, 0, again.stderr);
      const variants = manner === 'tokens' ? BOTH_VARIANTS : (['a'] as const);
      await assertMirrored(world, mirror, { organization, key: world.keys.full, variants });
      await front.close();
    }
    assert.ok(killed >= ROUNDS / 3, `only ${killed} were killed`);
  });
});
