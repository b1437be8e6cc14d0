/**
 * Compares, array by array, a version in memory that was made from an earlier one with the same
 * version read as a whole.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import type { Dataset } from '../../src/dataset/dataset.ts';
import type { Holdings, ResidentDataset } from '../../src/dataset/resident/dataset.ts';
import { imageOf } from '../../src/dataset/resident/holdings-image.ts';
import { growDataset, loadDataset } from '../../src/dataset/resident/load.ts';
import { LEAST_GROWABLE_BYTES } from '../../src/dataset/shared-arrays.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import type { VersionStore } from '../../src/store/files/version-store.ts';
import { forgottenUser } from '../../src/store/forgotten.ts';
import { temporaryFolder } from '../cli/command.ts';
import { runs } from '../model/runs.ts';
import { type Step, stepsArbitrary } from './increments.ts';
import { SINGLE_CHANGES } from './single-changes.ts';
import { openPublished, publishRecords, type Records, WORLD } from './small-world.ts';

const folder = temporaryFolder();
let store: VersionStore;
let organizations = 0;

before(async () => {
  store = await openFolderStore(folder);
});

async function newOrganization(): Promise<string> {
  organizations += 1;
  const name = `organization-${organizations}`;
  await store.createOrganization(name, {});
  return name;
}

/** The data of a version, with what has no order in the same order. */
function inOrder(held: Holdings) {
  const { records, boardNames, userNames } = held;
  const arrays = new Map<string, unknown>(imageOf(held));
  const { offsets, rows } = held.visibility.boardPeople;
  const people = Array.from({ length: offsets.length - 1 }, (_, board) =>
    rows.slice(offsets[board], offsets[board + 1]).sort(),
  );
  arrays.set('board people rows', people);
  // The sums of awards of the same instant depend on their order; only the last one is used.
  const { timestampMs, sums, offsets: awards } = held.standings.held.earnings.parts;
  const isLast = (place: number) =>
    timestampMs[place] !== timestampMs[place + 1] || awards.includes(place + 1);
  arrays.set(
    'awards sums',
    [...sums].filter((_, place) => isLast(place)),
  );
  const texts = (of: object) =>
    Object.entries(of).map(([name, column]) => [
      name,
      'at' in column && 'size' in column
        ? Array.from({ length: column.count }, (_, at) => column.at(at))
        : [...column],
    ]);
  // Compared as texts below.
  const isOfText = (column: string) => /^(users|boards|pins) .* (bytes|offsets)$/.test(column);
  const plain = [...arrays].filter(([column]) => !isOfText(column));
  return {
    arrays: new Map(plain.map(([column, array]) => [column, Array.from(array as Int32Array)])),
    records: [texts(records.users), texts(records.boards), texts(records.pins)],
    ...{ boardNames, userNames, sizes: held.sizes },
  };
}

async function openWhole(name: string): Promise<ResidentDataset> {
  return await loadDataset(await openPublished(store, name), () => undefined);
}

/** The current version made from an earlier one, and whether its changes were known. */
async function openGrown(
  name: string,
  earlier: ResidentDataset,
): Promise<{ readonly dataset: ResidentDataset; readonly isKnown: boolean }> {
  const stored: Dataset = await openPublished(store, name);
  const followed = await growDataset(earlier, stored, () => undefined);
  const dataset = followed ?? (await loadDataset(stored, () => undefined));
  return { dataset, isKnown: followed !== undefined };
}

/** Publishes the steps, and follows them. Returns how many versions were made from earlier ones. */
async function follow(steps: readonly Step[]): Promise<number> {
  const name = await newOrganization();
  const followed: ResidentDataset[] = [];
  let known = 0;
  for (const [step, { records, policy }] of steps.entries()) {
    await publishRecords(store, name, records, policy === undefined ? {} : { policy });
    if ((await store.currentVersion(name)) === undefined) continue;
    const whole = await openWhole(name);
    // From the version before, and the last one from the first one, too.
    const from = step === steps.length - 1 ? [followed[0], followed.at(-1)] : [followed.at(-1)];
    for (const earlier of new Set(from)) {
      if (earlier === undefined) continue;
      const { dataset, isKnown } = await openGrown(name, earlier);
      assert.deepEqual(inOrder(dataset.held), inOrder(whole.held));
      if (earlier === followed.at(-1) && isKnown) known += 1;
      await dataset.close();
    }
    followed.push(whole);
  }
  for (const dataset of followed) await dataset.close();
  return known;
}

const EVENT = { type: 'board', action: 'followed', ownerId: 1n, actorId: 1n, boardId: 7n } as const;
const EVENT_AFTER = { ...EVENT, timestampMs: 9_000 };

describe('a version in memory that was made from an earlier one', () => {
  it('is the same as one that was read as a whole', async () => {
    let known = 0;
    const property = fc.asyncProperty(stepsArbitrary, async (steps) => {
      known += await follow(steps);
    });
    // A few random ones may all be read as a whole, such as after changes of the policy.
    const examples: [readonly Step[]][] = [[[{ records: WORLD }, { records: { events: [EVENT_AFTER] } }]]];
    await fc.assert(property, { ...runs(4), examples });
    assert.ok(known > 0, 'some versions were made from earlier ones');
  });

  it('is the same if each publication makes a single change', async () => {
    assert.ok((await follow(SINGLE_CHANGES)) >= SINGLE_CHANGES.length - 3);
  });

  it('is the same with new and changed records between, before and behind others', async () => {
    const steps: readonly Records[] = [
      WORLD,
      { users: [{ id: 1n, email: 'other@x.example', firstName: 'Longer than before' }] },
      { users: [{ id: 2n, email: 'two@x.example', lms: { sis: 'B-2' } }] },
      // The name of one user becomes that of another one, then of no one.
      { users: [{ id: 2n, lms: { sis: '' } }] },
      { users: [{ id: 3n, lms: { sis: 'B-2' } }] },
      { users: [{ id: 3n, lms: { sis: '' } }] },
      {
        boards: [
          { id: 6n, title: 'Six', ltiId: 'lti-6' },
          { id: 8n, title: '' },
        ],
      },
      { pins: [{ id: 60n, boardId: 6n, title: 'ü', tags: ['a\u2028b'] }] },
      { events: [{ ...EVENT, timestampMs: -1_000_000 }] },
      {
        events: [
          { ...EVENT, timestampMs: 3_000 },
          { ...EVENT, actorId: 2n, boardId: 6n, timestampMs: 3_000 },
        ],
      },
      { events: [{ ...EVENT, type: 'user', timestampMs: 9_000_000 }] },
      { adjustments: [{ userId: 2n, boardId: 6n, points: 5, timestampMs: 1, reason: 'late' }] },
      { points: [{ userId: 2n, boardId: 6n, totalPoints: 9, participationScore: 1 }] },
      { memberships: [{ boardId: 9n, userId: 5n }] },
    ];
    const known = await follow(steps.map((records) => ({ records })));
    assert.equal(known, steps.length - 1);
  });

  it('leaves the earlier one as it is', async () => {
    const name = await newOrganization();
    await publishRecords(store, name, WORLD);
    const earlier = await openWhole(name);
    const before = structuredClone(inOrder(earlier.held).arrays);
    await publishRecords(store, name, {
      events: [{ ...EVENT, timestampMs: 2_500 }],
      users: [{ id: 1n, name: 'New' }],
    });
    const { dataset, isKnown } = await openGrown(name, earlier);
    assert.ok(isKnown);
    assert.deepEqual(inOrder(earlier.held).arrays, before);
    await dataset.close();
    await earlier.close();
  });

  it('has its events in the memory of the earlier one if new ones are behind all others', async () => {
    const name = await newOrganization();
    const eventsAt = (timestampMs: number, count: number) => ({
      events: Array.from({ length: count }, (_, at) => ({ ...EVENT, timestampMs: timestampMs + at })),
    });
    const many = Math.ceil(LEAST_GROWABLE_BYTES / 40);
    await publishRecords(store, name, WORLD);
    await publishRecords(store, name, eventsAt(10_000, many));
    const opened = [await openWhole(name)];
    // There is room for a quarter more.
    const growths = [
      { from: 0, timestampMs: 20_000, count: 1, isShared: true },
      { from: 1, timestampMs: 20_001, count: many / 2, isShared: false },
      { from: 0, timestampMs: 30_000, count: 1, isShared: false },
      { from: 3, timestampMs: 30_001, count: 1, isShared: true },
      { from: 4, timestampMs: 1, count: 1, isShared: false },
    ];
    for (const [step, { from, timestampMs, count, isShared }] of growths.entries()) {
      await publishRecords(store, name, eventsAt(timestampMs, count));
      const earlier = opened[from]!;
      const before = structuredClone(inOrder(earlier.held).arrays);
      const { dataset, isKnown } = await openGrown(name, earlier);
      assert.ok(isKnown);
      const memory = ({ held }: ResidentDataset) => held.timeline.events.words.buffer;
      assert.equal(memory(dataset) === memory(earlier), isShared, `growth ${step}`);
      assert.deepEqual(inOrder(earlier.held).arrays, before);
      const whole = await openWhole(name);
      assert.deepEqual(inOrder(dataset.held), inOrder(whole.held));
      await whole.close();
      opened.push(dataset);
    }
    for (const dataset of opened) await dataset.close();
  });

  it('is read as a whole after deletions, erasures, changes of the policy, and going back', async () => {
    const name = await newOrganization();
    await publishRecords(store, name, WORLD);
    await publishRecords(store, name, { events: [{ ...EVENT, timestampMs: 2_500 }] });
    const changes: readonly (() => Promise<unknown>)[] = [
      () => publishRecords(store, name, {}, { policy: '{"rules":[]}' }),
      () => publishRecords(store, name, { users: [forgottenUser(3n, { file: 0, line: 1 })] }),
      () => publishRecords(store, name, { events: [{ ...EVENT, timestampMs: 2_600 }] }),
      () => store.rollBack(name, 4, { waitMs: 0 }),
    ];
    for (const [at, change] of changes.entries()) {
      const earlier = await openWhole(name);
      await change();
      const { dataset, isKnown } = await openGrown(name, earlier);
      const whole = await openWhole(name);
      assert.equal(isKnown, at === 2, `change ${at}`);
      assert.deepEqual(inOrder(dataset.held), inOrder(whole.held));
      for (const one of [dataset, whole, earlier]) await one.close();
    }
  });

  it('is read as a whole after the upgrade of a file that does not tell what has changed', async () => {
    const name = await newOrganization();
    await publishRecords(store, name, WORLD);
    const instance = await DuckDBInstance.create(
      join(folder, 'organizations', name, 'generations', '1.duckdb'),
    );
    const connection = await instance.connect();
    await connection.run(
      "DROP TABLE version_changes; COMMENT ON TABLE version IS 'Corkboard generation, format 7'",
    );
    connection.closeSync();
    instance.closeSync();
    let earlier = await openWhole(name);
    for (const expected of [false, true]) {
      await publishRecords(store, name, { events: [{ ...EVENT, timestampMs: expected ? 2_500 : 2_400 }] });
      const { dataset, isKnown } = await openGrown(name, earlier);
      assert.equal(isKnown, expected);
      await earlier.close();
      earlier = dataset;
    }
    await earlier.close();
  });

  it('is read as a whole if the earlier one is of a different organization, or later', async () => {
    const [one, other] = [await newOrganization(), await newOrganization()];
    for (const name of [one, other]) await publishRecords(store, name, WORLD);
    const earlier = await openWhole(one);
    await publishRecords(store, other, { events: [{ ...EVENT, timestampMs: 2_500 }] });
    const { dataset, isKnown } = await openGrown(other, earlier);
    assert.ok(!isKnown);
    const first = await openPublished(store, one);
    assert.equal(await first.changesSince?.(dataset), undefined);
    for (const each of [dataset, earlier, first]) await each.close();
  });
});
