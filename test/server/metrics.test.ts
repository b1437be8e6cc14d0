import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Keyring } from '../../src/keys/keyring.ts';
import { createMetrics } from '../../src/server/observability/metrics.ts';
import { Impaired } from '../../src/server/versions/impaired.ts';

it('the process is measured once, however many servers it opens', async (t) => {
  const intervals = t.mock.method(globalThis, 'setInterval');
  const keyring = { list: async () => [] } as unknown as Keyring;
  const make = () => createMetrics(new Impaired(), keyring, { workers: 1, namesOrganizations: false });
  const servers = [make(), make(), make()];
  assert.ok(intervals.mock.callCount() <= 1);
  for (const { countRequest } of servers.slice(1)) countRequest('/x', 'GET', 200, 1, 1);
  const texts = await Promise.all(servers.map(async ({ render }) => String(await render())));
  const counts = texts.map((text) => /^corkboard_requests_total\{.*\} 1$/m.test(text));
  assert.deepEqual(counts, [false, true, true]);
  for (const text of texts) assert.match(text, /^nodejs_eventloop_utilization_histogram_count \d+$/m);
});
