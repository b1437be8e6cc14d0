/** Runs in a bucket that a different run has replaced, because they did not renew their lock. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { temporaryFolder } from '../cli/command.ts';
import { type Fault, FaultProxy, send, sendError } from '../s3/fault-proxy.ts';
import { sharedBucket } from '../shared-servers.ts';
import { assertNothingUnfinished, behind, CHANGE, event, FIRST, firstCopyIn, SECOND } from './bucket-copy.ts';
import { eventsIn, NO_CHANGES, runWith } from './scripted.ts';

const folder = temporaryFolder();

describe('a run in a bucket that is replaced by a different one', () => {
  let proxy: FaultProxy;
  let other: FaultProxy;
  before(async () => {
    const { endpoint } = await sharedBucket();
    proxy = await FaultProxy.start(endpoint);
    other = await FaultProxy.start(endpoint);
  });
  after(async () => {
    await proxy.close();
    await other.close();
  });

  /**
   * `act` comes before the request that stores the object, or after it. From then on the run does
   * not renew its lock.
   */
  function cutOffAt(key: string, when: 'before' | 'after', act: () => Promise<void>): Fault {
    let isCutOff = false;
    return async ({ request: { method, url = '' }, response, forward }) => {
      if (method !== 'PUT') return false;
      if (isCutOff && url.includes('/locks/')) return sendError(response, 403, 'AccessDenied');
      if (isCutOff || !url.includes(key)) return false;
      isCutOff = true;
      if (when === 'before') await act();
      const reply = await forward();
      if (when === 'after') await act();
      send(response, reply);
      return true;
    };
  }

  for (const [what, change, after] of [
    ['whose uploads are gone', CHANGE, SECOND],
    ['which only removes a file', [{ ...NO_CHANGES, deleted: ['a'] }], FIRST.slice(1)],
  ] as const) {
    it(`before its change is written down withdraws the change, ${what}`, async () => {
      const place = await firstCopyIn(folder);
      proxy.fault = cutOffAt('change.json', 'before', () =>
        runWith(place, [], 'first').then(() => undefined),
      );
      const replaced = runWith(behind(proxy, place), change, 'second');
      await assert.rejects(replaced, { code: 'copy-busy', message: /A different run has continued/ });
      assert.deepEqual(eventsIn(await place.rows('events')), FIRST);
      await assertNothingUnfinished(place);
      await runWith(place, change, 'second');
      assert.deepEqual(eventsIn(await place.rows('events')), after);
      await assertNothingUnfinished(place);
    });
  }

  it('after it has stored its state leaves the change of the other to those that complete it', async () => {
    const place = await firstCopyIn(folder);
    const later = [event('e', '2018-05-05'), event('f', '2018-06-05')];
    const third = [{ ...NO_CHANGES, events: later }];
    other.fault = ({ request: { headers, url = '' }, response }) =>
      headers['x-amz-copy-source'] !== undefined &&
      decodeURIComponent(url).includes('month=2018-06') &&
      sendError(response, 403, 'AccessDenied');
    proxy.fault = cutOffAt('corkboard_sync.json', 'after', async () => {
      await assert.rejects(runWith(behind(other, place), third, 'third'), { code: 'data-unreadable' });
    });
    const replaced = runWith(behind(proxy, place), CHANGE, 'second');
    await assert.rejects(replaced, { code: 'copy-busy', message: /A different run has continued/ });
    await runWith(place, third, 'third');
    assert.deepEqual(eventsIn(await place.rows('events')), [...SECOND, ...later]);
    await assertNothingUnfinished(place);
  });

  it('before its change is written down can store it even after the other has looked for one', async () => {
    const place = await firstCopyIn(folder);
    const state = JSON.parse(`${await place.objects.get('corkboard_sync.json')}`);
    const late = { run: randomUUID(), written: { '2018-02': 7 }, removed: ['2018-01'], state };
    await place.objects.put(`.corkboard/unfinished/${late.run}/x.next`, 'upload');
    let isStored = false;
    other.fault = async ({ request: { method } }) => {
      if (method !== 'POST' || isStored) return false;
      isStored = true;
      await place.objects.put('.corkboard/change.json', JSON.stringify(late));
      return false;
    };
    await runWith(behind(other, place), [], 'first');
    assert.ok(isStored);
    await assertNothingUnfinished(place);
    await runWith(place, CHANGE, 'second');
    assert.deepEqual(eventsIn(await place.rows('events')), SECOND);
  });
});
