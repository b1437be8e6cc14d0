/** When the memory image of a version is written. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it, type TestContext } from 'node:test';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import { estimateResidentBytes } from '../../src/store/resident-limit.ts';
import { withResidentDatasets } from '../../src/store/resident-store.ts';
import type { Store } from '../../src/store/store.ts';
import { ImageFile } from '../../src/store/version/read/image-file.ts';
import { until } from '../server/stand.ts';
import { publishEvents } from '../store/many-events.ts';
import { openPublished } from './small-world.ts';

/** Enough for an image of more than eight megabytes, and too few. */
const SIZES = { large: 180_000, small: 1_000 } as const;
const TOO_SOON_MS = 59_000;
const LATE_ENOUGH_MS = 91_000;

let folder: string;
let store: Store;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corkboard-keeper-'));
  store = withResidentDatasets(await openFolderStore(folder), { limitBytes: Number.POSITIVE_INFINITY });
  for (const [organization, events] of Object.entries(SIZES)) {
    await store.createOrganization(organization, {});
    await publishEvents(store, organization, 1, events);
  }
});
after(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

async function openAndWait(t: TestContext, organization: string, closesAtMs: number): Promise<void> {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const dataset = await openPublished(store, organization);
  t.mock.timers.tick(closesAtMs);
  await dataset.close();
  t.mock.timers.tick(LATE_ENOUGH_MS - closesAtMs);
  t.mock.timers.reset();
}

it('a version that is closed within a minute gets none, and a small one neither', async (t) => {
  const write = t.mock.method(ImageFile.prototype, 'write', async () => {});
  await openAndWait(t, 'large', TOO_SOON_MS);
  await openAndWait(t, 'small', LATE_ENOUGH_MS);
  assert.equal(write.mock.callCount(), 0);
});

it('a version that will be opened again gets one before it is closed, unless it is small', async (t) => {
  const write = t.mock.method(ImageFile.prototype, 'write', async () => {});
  for (const organization of ['large', 'small']) {
    const dataset = await openPublished(store, organization);
    await dataset.setAside?.();
    await dataset.close();
  }
  assert.equal(write.mock.callCount(), 1);
});

it('a version that has been served for a minute and a half has one, which the next opening reads', async (t) => {
  await openAndWait(t, 'large', LATE_ENOUGH_MS);
  await until(async () => existsSync(join(folder, 'organizations/large/generations/1.image')));
  const stored = await openFolderStore(folder);
  const direct = await openPublished(stored, 'large');
  assert.ok(((await direct.image?.read())?.size ?? 0) > 60);
  await direct.close();
  await stored.close();
  const again = await openPublished(store, 'large');
  assert.equal(again.timeline?.events.count, SIZES.large);
  await again.close();
});

it('a version with an image counts by its size while it is loaded, not by an estimate', async () => {
  const image = join(folder, 'organizations/large/generations/1.image');
  const { size } = await stat(image);
  for (const limitBytes of [size, size - 1]) {
    const limited = withResidentDatasets(await openFolderStore(folder), { limitBytes });
    const dataset = await openPublished(limited, 'large');
    assert.equal(dataset.timeline !== undefined, limitBytes === size);
    assert.ok(estimateResidentBytes(dataset.counts, 0) > limitBytes);
    await dataset.close();
    await limited.close();
  }
});
