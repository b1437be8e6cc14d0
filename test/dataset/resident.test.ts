/** Resident datasets: the contract of stores, the memory limit, and shared memory. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { heldBytes } from '../../src/dataset/resident/holdings-image.ts';
import { loadDataset } from '../../src/dataset/resident/load.ts';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import { defaultResidentLimit, estimateResidentBytes } from '../../src/store/resident-limit.ts';
import { withResidentDatasets } from '../../src/store/resident-store.ts';
import type { Store } from '../../src/store/store.ts';
import { describeScopes } from './scope-contract.ts';
import { eventsInWords, openPublished, publishRecords, type Records, WORLD } from './small-world.ts';
import { describeStore } from './store-contract.ts';

const folders: string[] = [];
async function openStore(limitBytes: number): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-resident-'));
  folders.push(folder);
  return withResidentDatasets(await openFolderStore(folder), { limitBytes });
}
after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

describeStore('resident', () => openStore(Number.POSITIVE_INFINITY));
describeScopes('resident', () => openStore(Number.POSITIVE_INFINITY));

const EVENT = { type: 'board', action: 'followed', ownerId: 1n, actorId: 1n, boardId: 7n };

/** One more event, which makes a later version of the small world. */
function laterBy(timestampMs: number): Records {
  return { events: [{ ...EVENT, timestampMs }] };
}

describe('the limit of resident datasets', () => {
  /** What the small world counts before and after it is loaded. */
  let estimated: number;
  let held: number;
  before(async () => {
    await prepare(0, 'acme');
    const stored = await openPublished(store, 'acme');
    estimated = estimateResidentBytes(stored.counts, (await stored.textBytes?.()) ?? 0);
    const loaded = await loadDataset(stored, () => undefined);
    held = heldBytes(loaded.held);
    assert.ok(estimated > held);
    await loaded.close();
    await store.close();
  });

  const opened: Dataset[] = [];
  let store: Store;
  const open = async (organization: string) => {
    const dataset = await openPublished(store, organization);
    opened.push(dataset);
    return dataset;
  };
  const isResident = (dataset: Dataset) => dataset.timeline !== undefined;
  const prepare = async (limitBytes: number, ...organizations: string[]) => {
    store = await openStore(limitBytes);
    for (const organization of organizations) {
      await store.createOrganization(organization, {});
      await publishRecords(store, organization, WORLD);
    }
  };
  afterEach(async () => {
    for (const dataset of opened.splice(0)) await dataset.close();
    await store.close();
  });

  it('admits a dataset that fits to the byte, and no larger one', async () => {
    await prepare(estimated, 'acme');
    assert.ok(isResident(await open('acme')));
    await publishRecords(store, 'acme', laterBy(1));
    // What a version in memory takes is known more exactly.
    assert.ok(isResident(await open('acme')));
    for (const dataset of opened.splice(0)) await dataset.close();
    const larger = await open('acme');
    assert.ok(!isResident(larger));
    assert.equal((await eventsInWords(larger)).length, 6);
  });

  it('reads a version from the store that has more kinds than fit a row', async () => {
    await prepare(Number.POSITIVE_INFINITY, 'acme');
    assert.ok(isResident(await open('acme')));
    const [event] = WORLD.events!;
    const events = Array.from({ length: 65_536 }, (_, at) => ({ ...event!, action: `action ${at}` }));
    await publishRecords(store, 'acme', { events });
    const dataset = await open('acme');
    assert.ok(!isResident(dataset));
    assert.equal(dataset.counts.events, WORLD.events!.length + events.length);
  });

  it('counts the size of loaded datasets and the estimate of the next one; closing a dataset frees its share', async () => {
    await prepare(held + estimated, 'one', 'two', 'three');
    const [one, two, three] = [await open('one'), await open('two'), await open('three')];
    assert.deepEqual([one, two, three].map(isResident), [true, true, false]);
    await opened.splice(opened.indexOf(one), 1)[0]?.close();
    assert.ok(isResident(await open('three')));
  });

  it('says what must leave memory for a dataset, unless it never fits', async () => {
    await prepare(held + estimated, 'one', 'two', 'three');
    const [one, two, three] = [await open('one'), await open('two'), await open('three')];
    assert.equal(store.missingBytes?.(three), held);
    assert.deepEqual(
      [one, two, three].map((dataset) => store.heldBytes?.(dataset)),
      [held, held, 0],
    );
    await opened.splice(opened.indexOf(two), 1)[0]?.close();
    assert.equal(store.missingBytes?.(three), 0);
    const pin = { ...WORLD.pins![0]!, body: 'é'.repeat(3_000) };
    await publishRecords(store, 'three', { pins: [pin] });
    const tooLarge = await open('three');
    assert.deepEqual([isResident(tooLarge), store.missingBytes?.(tooLarge)], [false, undefined]);
  });

  it('holds for datasets that are opened at the same time', async () => {
    await prepare(estimated, 'one', 'two');
    const both = await Promise.all(['one', 'two'].map(open));
    assert.equal(both.filter(isResident).length, 1);
  });

  it('includes texts of any length', async () => {
    await prepare(estimated + 5_000, 'acme');
    assert.ok(isResident(await open('acme')));
    const pin = { ...WORLD.pins![0]!, body: 'é'.repeat(5_000) };
    await publishRecords(store, 'acme', { pins: [pin] });
    assert.ok(!isResident(await open('acme')));
  });

  it('does not count a version in addition to the one that it replaces', async () => {
    // More than one event takes.
    await prepare(held + 500 + estimated, 'acme', 'other');
    const before = await open('acme');
    await publishRecords(store, 'acme', laterBy(1));
    const next = await open('acme');
    assert.deepEqual([before, next].map(isResident), [true, true]);
    assert.ok(isResident(await open('other')));
  });
});

describe('the default limit of resident datasets', () => {
  it('is at most half of the total memory', () => {
    const limit = defaultResidentLimit();
    assert.ok(Number.isSafeInteger(limit) && limit > 0);
    assert.ok(limit <= totalmem() / 2);
  });
});

describe('the timeline of a resident dataset', () => {
  it('is in memory that other threads can read', async () => {
    const store = await openStore(Number.POSITIVE_INFINITY);
    await store.createOrganization('acme', {});
    await publishRecords(store, 'acme', WORLD);
    const dataset = await openPublished(store, 'acme');
    const { timeline } = dataset;
    assert.ok(timeline !== undefined);
    const { count, words, doubles } = timeline.events;
    assert.equal(count, 5);
    const scope = { boards: [7n], users: [1n, 5n] };
    const { boards, people, rows } = timeline.select({ scope, range: {}, actor: 1, board: 1 });
    const all = timeline.select({ scope, range: {} });
    const arrays = [words, doubles, people, rows, all.boards, all.people];
    assert.equal(boards, undefined, 'a visible board needs no flags');
    for (const array of arrays) assert.ok(array?.buffer instanceof SharedArrayBuffer);
    await dataset.close();
    await store.close();
  });

  it('recognizes a selection of everything when the scope names every board and the sequence limit includes every event', async () => {
    const store = await openStore(Number.POSITIVE_INFINITY);
    await store.createOrganization('acme', {});
    await publishRecords(store, 'acme', WORLD);
    const dataset = await openPublished(store, 'acme');
    const whole = dataset.timeline?.select({ scope: FULL_SCOPE, range: {} });
    for (const users of ['all', 'of-boards'] as const) {
      const scope = { boards: [9n, 8n, 7n, 404n], users };
      assert.deepEqual(dataset.timeline?.select({ scope, range: {}, upToSequence: 5 }), whole);
    }
    await dataset.close();
    await store.close();
  });
});
