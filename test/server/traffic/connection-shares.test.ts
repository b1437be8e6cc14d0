/** Limits on connections per key and organization (decision 60), over real sockets. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { askSlowly, assertRefused, metric, type SlowClient } from '../slow-client.ts';
import { openStand, type Stand, until } from '../stand.ts';

describe('connections', () => {
  const KEEP = { connection: 'keep-alive' };
  const inUse = (stand: Stand, limit: string) => metric(stand, `corkboard_in_use{limit="${limit}"}`);

  it('are limited per key and per organization; a request on an open connection is never refused', async (t) => {
    const stand = await openStand({
      limits: { 'connections-per-key': 2, 'connections-per-organization': 3 },
    });
    t.after(() => stand.close());
    const [second, third] = [await stand.makeKey(), await stand.makeKey()];
    const open = (apikey: string) => askSlowly(stand, '/a/v1/boards', { ...KEEP, apikey });
    const held = [await open(stand.key), await open(stand.key)];
    const refused = await open(stand.key);
    assert.match(refused.headers, /\r\nconnection: close\r\n/i);
    await assertRefused(Promise.resolve(refused), 429, 'too-many-connections', 'connections-per-key');
    held.push(await open(second));
    const other = open(third);
    await assertRefused(other, 429, 'too-many-connections', 'connections-per-organization');
    assert.deepEqual(
      held.map(({ status }) => status),
      [200, 200, 200],
    );
    assert.equal((await fetch(`${stand.url}/readyz`)).status, 200);
    for (const client of held) client.vanish();
    await until(async () => (await open(stand.key)).status === 200);
  });

  it('without a valid key make room for new ones, while those with a key stay open', async (t) => {
    const stand = await openStand({ limits: { 'connections-without-key': 3 } });
    t.after(() => stand.close());
    const keyed = await askSlowly(stand, '/a/v1/boards', KEEP);
    const strangers: SlowClient[] = [];
    for (let at = 0; at < 8; at += 1) strangers.push(await askSlowly(stand, '/livez', KEEP));
    await strangers[0]?.takeRest();
    const wrong = await askSlowly(stand, '/a/v1/boards', { ...KEEP, apikey: 'wrong' });
    assert.equal(wrong.status, 401);
    assert.ok((await inUse(stand, 'connections-without-key')) <= 3);
    const next = await askSlowly(stand, '/a/v1/boards');
    assert.equal(next.status, 200);
    assert.ok((await metric(stand, 'corkboard_limit_refusals_total{limit="connections-without-key"}')) >= 5);
    assert.equal((await inUse(stand, 'connections')) - (await inUse(stand, 'connections-without-key')), 1);
    keyed.vanish();
  });

  it('without a key may be idle for a short time only, as the response says; those with a key as usual', async (t) => {
    const stand = await openStand({ limits: { 'keep-alive-without-key': 50 } });
    t.after(() => stand.close());
    const keyed = await askSlowly(stand, '/a/v1/boards', KEEP);
    const stranger = await askSlowly(stand, '/livez', KEEP);
    const wrong = await askSlowly(stand, '/a/v1/boards', { ...KEEP, apikey: 'wrong' });
    assert.match(keyed.headers, /\r\nkeep-alive: timeout=72\r\n/i);
    assert.match(stranger.headers, /\r\nkeep-alive: timeout=0\r\n/i);
    await stranger.takeRest();
    await wrong.takeRest();
    assert.equal((await inUse(stand, 'connections')) - (await inUse(stand, 'connections-without-key')), 1);
    keyed.vanish();
  });
});
