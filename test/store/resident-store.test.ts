/** From which version a store makes the next one in memory. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { beforeEach, describe, it } from 'node:test';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import type { VersionStore } from '../../src/store/files/version-store.ts';
import { withResidentDatasets } from '../../src/store/resident-store.ts';
import type { Store } from '../../src/store/store.ts';
import { temporaryFolder } from '../cli/command.ts';
import { eventsInWords, openPublished, publishRecords, WORLD } from '../dataset/small-world.ts';

const EVENT = { type: 'board', action: 'followed', ownerId: 1n, actorId: 1n, boardId: 7n } as const;
const root = temporaryFolder();
let folders = 0;
let store: VersionStore;
/** The versions from which changes were asked for, in order. */
let asked: string[];
let breaks: boolean;
/** How often the texts of a whole version were added up. */
let measured: number;

/** Notes and breaks `changesSince`, and notes `textBytes`. */
function watched(): Store {
  return new Proxy<Store>(store, {
    get: (target, name) => {
      if (name === 'openDataset') return async (of: string) => noting(await target.openDataset(of));
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function noting(dataset: Dataset | undefined): Dataset | undefined {
  if (dataset === undefined) return undefined;
  const changesSince = dataset.changesSince!.bind(dataset);
  dataset.changesSince = async (before) => {
    asked.push(before.version);
    if (breaks) throw new Error('broken');
    return await changesSince(before);
  };
  const textBytes = dataset.textBytes!.bind(dataset);
  dataset.textBytes = async () => {
    measured += 1;
    return await textBytes();
  };
  return dataset;
}

beforeEach(async () => {
  folders += 1;
  store = await openFolderStore(join(root, String(folders)));
  asked = [];
  breaks = false;
  measured = 0;
  await store.createOrganization('school', {});
  await publishRecords(store, 'school', WORLD);
});

const publish = (timestampMs: number) =>
  publishRecords(store, 'school', { events: [{ ...EVENT, timestampMs }] });

describe('a store with datasets in memory', () => {
  it('makes a version from the one that it has loaded last, until that is closed', async () => {
    const resident = withResidentDatasets(watched(), { limitBytes: 1e9 });
    const first = await openPublished(resident, 'school');
    await publish(2_500);
    const second = await openPublished(resident, 'school');
    await first.close();
    await publish(2_600);
    const third = await openPublished(resident, 'school');
    assert.deepEqual(asked, [first.version, second.version]);
    assert.equal(measured, 1);
    for (const dataset of [second, third]) await dataset.close();
    const again = await openPublished(resident, 'school');
    assert.equal(asked.length, 2);
    assert.equal((await eventsInWords(again)).length, WORLD.events!.length + 2);
    await again.close();
  });

  it('reads a version as a whole if making it from the one before fails', async () => {
    const resident = withResidentDatasets(watched(), { limitBytes: 1e9 });
    const first = await openPublished(resident, 'school');
    await publish(2_500);
    breaks = true;
    const second = await openPublished(resident, 'school');
    assert.equal(asked.length, 1);
    assert.ok(second.timeline !== undefined);
    assert.equal((await eventsInWords(second)).length, WORLD.events!.length + 1);
    for (const dataset of [first, second]) await dataset.close();
  });

  it('reads a version from disk if it does not fit any longer', async () => {
    const resident = withResidentDatasets(watched(), { limitBytes: 100_000 });
    const first = await openPublished(resident, 'school');
    assert.ok(first.timeline !== undefined);
    const events = Array.from({ length: 2_000 }, (_, at) => ({ ...EVENT, timestampMs: 2_500 + at }));
    await publishRecords(store, 'school', { events });
    const second = await openPublished(resident, 'school');
    assert.equal(second.timeline, undefined);
    assert.deepEqual(asked, []);
    for (const dataset of [first, second]) await dataset.close();
  });
});
