/** The numbers of keys with warnings, in `/metrics`. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { openSqliteKeyring } from '../../src/keys/sqlite-keyring.ts';
import { addKeyGauges } from '../../src/server/observability/key-gauges.ts';
import { openStand, type StandOptions } from './stand.ts';

const DAY_MS = 86_400_000;

/** A server with keys of two organizations: in each one expires soon and one is unused. */
async function opened(t: TestContext, options: StandOptions) {
  const stand = await openStand(options);
  t.after(() => stand.close());
  const longAgo = openSqliteKeyring(`${stand.folder}/data`, () => Date.now() - 100 * DAY_MS);
  for (const organization of ['harbor', 'lake']) {
    await stand.makeKey({ organization }, Date.now() + 13 * DAY_MS);
    await stand.makeKey({ organization }, Date.now() + 15 * DAY_MS);
    const grant = { organization, label: '', scope: { boards: 'all', users: 'all' } } as const;
    const unredacted = { ...grant, redact: { email: false, name: false, id: false } };
    await longAgo.create(unredacted, undefined);
    const { entry } = await longAgo.create(unredacted, Date.now() + DAY_MS);
    await longAgo.revoke(entry.id);
  }
  await longAgo.close();
  return stand;
}

const linesOf = (text: string) => text.split('\n').filter((line) => /^corkboard_keys_/.test(line));

describe('the metrics of keys', () => {
  it('count all organizations together, and show no names', async (t) => {
    const stand = await opened(t, {});
    const text = await (await stand.get('/metrics')).text();
    assert.deepEqual(linesOf(text), ['corkboard_keys_expiring 2', 'corkboard_keys_unused 2']);
  });

  it('count each organization if the server names organizations', async (t) => {
    const stand = await opened(t, { metricsOrganizations: true });
    const text = await (await stand.get('/metrics')).text();
    assert.deepEqual(linesOf(text), [
      'corkboard_keys_expiring{organization="harbor"} 1',
      'corkboard_keys_expiring{organization="lake"} 1',
      'corkboard_keys_unused{organization="harbor"} 1',
      'corkboard_keys_unused{organization="lake"} 1',
    ]);
  });

  it('read the keys at most once a minute, and have no values while they cannot be read', async () => {
    let reads = 0;
    const away = new Registry();
    addKeyGauges({ dates: () => Promise.reject(new Error(`away ${++reads}`)) }, away, false);
    const [first, second] = [await away.metrics(), await away.metrics()];
    assert.deepEqual([linesOf(first), linesOf(second), reads], [[], [], 1]);
    const empty = new Registry();
    addKeyGauges({ dates: async () => [] }, empty, false);
    assert.deepEqual(linesOf(await empty.metrics()), [
      'corkboard_keys_expiring 0',
      'corkboard_keys_unused 0',
    ]);
  });

  it('do not wait for a database that does not respond', async () => {
    const hanging = new Registry();
    addKeyGauges({ dates: () => new Promise(() => undefined) }, hanging, true);
    // The timer of the gauges does not keep the process alive.
    const alive = setInterval(() => undefined, 1_000);
    assert.deepEqual(linesOf(await hanging.metrics()), []);
    clearInterval(alive);
  });
});
