/** Datasets that are loaded from their memory image. */
import assert from 'node:assert/strict';
import type { ResidentDataset } from '../../src/dataset/resident/dataset.ts';
import { imageOf } from '../../src/dataset/resident/holdings-image.ts';
import { loadDataset } from '../../src/dataset/resident/load.ts';
import type { Store } from '../../src/store/store.ts';
import { openPublished } from './small-world.ts';

/** Loads the current version, writes its image, and loads it once more from that. */
export async function openFromImage(store: Store, organization: string): Promise<ResidentDataset> {
  const stored = await openPublished(store, organization);
  const loaded = await loadDataset(stored, () => {});
  const written = imageOf(loaded.held);
  await stored.image?.write(written);
  assert.deepEqual([...((await stored.image?.read()) ?? []).keys()], [...written.keys()]);
  await loaded.close();
  return await loadDataset(await openPublished(store, organization), () => {});
}
