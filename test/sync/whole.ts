/** Runs of a sync as the command makes them, and whether a copy is what the server shows. */
import assert from 'node:assert/strict';
import { openSource, type SyncSource } from '../../src/sync/source.ts';
import { type SyncCounts, sync } from '../../src/sync/sync.ts';
import { openTarget } from '../../src/sync/targets/open-target.ts';
import type { Followed } from '../client/followed.ts';
import type { CopyPlace, CopyRow } from './copies.ts';
import { exported, sortedTexts } from './exported.ts';

export async function update(place: CopyPlace, source: SyncSource): Promise<SyncCounts> {
  const target = await openTarget(place.address, { schema: 'community' });
  try {
    return await sync(source, target);
  } finally {
    await target.close();
  }
}

/** With pages of two elements. */
export function sourceOf({ baseUrl, key }: Pick<Followed, 'baseUrl' | 'key'>): SyncSource {
  return openSource(baseUrl, key, { pageSize: 2, retry: { retries: 0 } });
}

export async function assertWhole(place: CopyPlace, { baseUrl, key }: Followed): Promise<void> {
  const shown = await exported(baseUrl, key);
  const events = await place.rows('events');
  const ids = new Set(events.map((event) => event['sync_id']));
  assert.equal(ids.size, events.length, 'every event has its own sync_id');
  const withoutId = ({ sync_id, ...row }: CopyRow) => row;
  assert.deepEqual(sortedTexts(events.map(withoutId)), sortedTexts(shown.events));
  for (const list of ['users', 'boards', 'points'] as const) {
    assert.deepEqual(sortedTexts(await place.rows(list)), sortedTexts(shown[list]));
  }
}
