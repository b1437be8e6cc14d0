/**
 * Compares, array by array, a version in memory that was made from an earlier one with the same
 * version read as a whole.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { ROW_WORDS } from '../../src/dataset/event-rows.ts';
import type { Image, ImagePieces } from '../../src/dataset/image.ts';
import type { ResidentDataset } from '../../src/dataset/resident/dataset.ts';
import { holdingsOf, imageOf } from '../../src/dataset/resident/holdings-image.ts';
import { growDataset, loadDataset } from '../../src/dataset/resident/load.ts';
import { areInOrder } from '../../src/dataset/row-runs.ts';
import { LEAST_GROWABLE_BYTES } from '../../src/dataset/shared-arrays.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import type { VersionStore } from '../../src/store/files/version-store.ts';
import { forgottenUser } from '../../src/store/forgotten.ts';
import { ImageFile } from '../../src/store/version/read/image-file.ts';
import { temporaryFolder } from '../cli/command.ts';
import { runs } from '../model/runs.ts';
import { inOrder } from './held-in-order.ts';
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

/** The number of pairs and entries that are listed. */
async function changedPairs(name: string, generation: number): Promise<bigint> {
  const file = join(folder, 'organizations', name, 'generations', `${generation}.duckdb`);
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  const counted = await connection.runAndReadAll(
    'SELECT (SELECT count(*) FROM changed_pairs) + (SELECT count(*) FROM changed_earnings)',
  );
  connection.closeSync();
  instance.closeSync();
  return counted.getRows()[0]?.[0] as bigint;
}

/** The image as it is read from a file. */
async function readBack(image: ImagePieces, version: string): Promise<Image> {
  const versionPath = join(folder, `${version}.duckdb`);
  await writeFile(versionPath, '');
  const file = new ImageFile(join(folder, `${version}.image`), version, versionPath);
  await file.write(image);
  const read = await file.read();
  assert.ok(read !== undefined);
  return read;
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
    // From the version before, which may be grown itself; the last one from the first one, too.
    const latest = followed.at(-1) ?? whole;
    const from = step === steps.length - 1 ? [followed[0] ?? whole, latest] : [latest];
    for (const earlier of new Set(from)) {
      if (earlier === whole) {
        followed.push(whole);
        continue;
      }
      const { dataset, isKnown } = await openGrown(name, earlier);
      assert.deepEqual(await inOrder(dataset.held), await inOrder(whole.held));
      if (earlier === latest && isKnown) known += 1;
      if (earlier === latest) followed.push(dataset);
      else await dataset.close();
    }
    if (latest !== whole) await whole.close();
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
      // The imported points total stays beside it.
      { adjustments: [{ userId: 3n, boardId: 6n, points: 4, timestampMs: 2, reason: '' }] },
      { memberships: [{ boardId: 9n, userId: 5n }] },
    ];
    const known = await follow(steps.map((records) => ({ records })));
    assert.equal(known, steps.length - 1);
  });

  it('leaves the earlier one as it is', async () => {
    const name = await newOrganization();
    await publishRecords(store, name, WORLD);
    const earlier = await openWhole(name);
    const before = structuredClone(await inOrder(earlier.held));
    await publishRecords(store, name, {
      events: [{ ...EVENT, timestampMs: 2_500 }],
      users: [{ id: 1n, name: 'New' }],
    });
    const { dataset, isKnown } = await openGrown(name, earlier);
    assert.ok(isKnown);
    assert.deepEqual(structuredClone(await inOrder(earlier.held)), before);
    await dataset.close();
    await earlier.close();
  });

  it('has its events in the memory of the earlier one, wherever new ones belong', async () => {
    const name = await newOrganization();
    const eventsAt = (timestampMs: number, count: number) => ({
      events: Array.from({ length: count }, (_, at) => ({ ...EVENT, timestampMs: timestampMs + at })),
    });
    const many = Math.ceil(LEAST_GROWABLE_BYTES / (4 * ROW_WORDS));
    await publishRecords(store, name, WORLD);
    await publishRecords(store, name, eventsAt(10_000, many));
    const opened = [await openWhole(name)];
    // There is room for a quarter more.
    const growths = [
      { from: 0, timestampMs: 20_000, count: 1, isShared: true },
      { from: 1, timestampMs: 20_001, count: many / 2, isShared: false },
      { from: 0, timestampMs: 30_000, count: 1, isShared: false },
      { from: 3, timestampMs: 30_001, count: 1, isShared: true },
      { from: 4, timestampMs: 1, count: 1, isShared: true },
    ];
    for (const [step, { from, timestampMs, count, isShared }] of growths.entries()) {
      await publishRecords(store, name, eventsAt(timestampMs, count));
      const earlier = opened[from]!;
      const before = structuredClone(await inOrder(earlier.held));
      const { dataset, isKnown } = await openGrown(name, earlier);
      assert.ok(isKnown);
      const memory = ({ held }: ResidentDataset) => held.timeline.events.words.buffer;
      assert.equal(memory(dataset) === memory(earlier), isShared, `growth ${step}`);
      assert.deepEqual(structuredClone(await inOrder(earlier.held)), before);
      const whole = await openWhole(name);
      assert.deepEqual(await inOrder(dataset.held), await inOrder(whole.held));
      await whole.close();
      opened.push(dataset);
    }
    for (const dataset of opened) await dataset.close();
  });

  it('is the same when it is put in order and copied together from time to time', async () => {
    const name = await newOrganization();
    const boards = [7n, 8n, 9n, 10n, 11n, 12n];
    const users = Array.from({ length: 1_000 }, (_, user) => BigInt(user + 1));
    // The first twenty come by acting.
    const members = users.slice(20);
    const memberships = boards.flatMap((boardId) => members.map((userId) => ({ boardId, userId })));
    await publishRecords(store, name, {
      users: users.map((id) => ({ id, email: `${id}@x.example` })),
      boards: boards.map((id) => ({ id, title: `Board ${id}` })),
      memberships,
      points: [7n, 8n].flatMap((boardId) =>
        users.slice(10, 40).map((userId) => ({
          ...{ userId, boardId, totalPoints: 3 * Number(userId), participationScore: Number(userId) },
        })),
      ),
      events: [{ ...EVENT, timestampMs: 1_000_000 }],
    });
    let latest = await openWhole(name);
    const states = new Set<string>();
    for (let step = 0; step < 8; step++) {
      const events = Array.from({ length: 20 }, (_, at) => ({
        ...EVENT,
        ...{ timestampMs: 1_000 * ((at * 7_919 + step * 104_729) % 2_003), actorId: BigInt(at + 1) },
        // Only one board changes at first, then all of them.
        boardId: step < 4 ? 7n : boards[at % 6]!,
      }));
      await publishRecords(store, name, { events });
      const { dataset, isKnown } = await openGrown(name, latest);
      assert.ok(isKnown);
      const whole = await openWhole(name);
      assert.deepEqual(await inOrder(dataset.held), await inOrder(whole.held));
      const image = await readBack(imageOf(dataset.held), `${name}-${step}`);
      assert.deepEqual(await inOrder(await holdingsOf(image, whole)), await inOrder(whole.held));
      const totals = whole.held.standings.held.pairs.user.length;
      await whole.close();
      await latest.close();
      latest = dataset;
      const { timeline, visibility, standings } = dataset.held;
      states.add(areInOrder(timeline.events.runs) ? 'rows in order' : 'rows in runs');
      states.add(visibility.boardPeople.replaced.size === 0 ? 'lists together' : 'lists replaced');
      states.add(standings.held.pairs.user.length === totals ? 'totals together' : 'totals appended');
    }
    assert.deepEqual([...states].sort(), [
      'lists replaced',
      'lists together',
      'rows in order',
      'rows in runs',
      'totals appended',
      'totals together',
    ]);
    await latest.close();
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
      assert.deepEqual(await inOrder(dataset.held), await inOrder(whole.held));
      for (const one of [dataset, whole, earlier]) await one.close();
    }
  });

  it('is made from one that is sixteen publications behind, and no more', async () => {
    const name = await newOrganization();
    await publishRecords(store, name, WORLD);
    await publishRecords(store, name, { events: [EVENT_AFTER] });
    const furthest = await openWhole(name);
    await publishRecords(store, name, { events: [{ ...EVENT_AFTER, timestampMs: 9_001 }] });
    const earlier = await openWhole(name);
    for (let step = 0; step < 16; step++) {
      // Each changes the points total of a user, of whom the latest must count.
      const userId = step % 2 === 0 ? 1n : 3n;
      const adjustments = [{ boardId: 7n, userId, points: 5 + step, timestampMs: step, reason: '' }];
      await publishRecords(store, name, { adjustments });
    }
    const whole = await openWhole(name);
    const { dataset, isKnown } = await openGrown(name, earlier);
    assert.ok(isKnown);
    assert.deepEqual(await inOrder(dataset.held), await inOrder(whole.held));
    const { dataset: read, isKnown: isFurthestKnown } = await openGrown(name, furthest);
    assert.ok(!isFurthestKnown);
    for (const one of [dataset, whole, read, earlier, furthest]) await one.close();
  });

  it('is read as a whole if more users on boards have changed than are listed', async () => {
    const boards = Array.from({ length: 362 }, (_, at) => ({ id: BigInt(at), title: '' }));
    const users = Array.from({ length: 363 }, (_, at) => ({ id: BigInt(at), email: `${at}@x.example` }));
    const memberships = boards.flatMap((board) =>
      users.map((user) => ({ boardId: board.id, userId: user.id })),
    );
    const begin = async () => {
      const name = await newOrganization();
      await publishRecords(store, name, { boards, users });
      return { name, earlier: await openWhole(name) };
    };
    const isFollowed = async (name: string, earlier: ResidentDataset) => {
      const { dataset, isKnown } = await openGrown(name, earlier);
      await dataset.close();
      return isKnown;
    };
    const MOST = 131_072;
    const { name, earlier } = await begin();
    await publishRecords(store, name, { memberships: memberships.slice(0, MOST) });
    assert.ok(await isFollowed(name, earlier));
    const next = await openWhole(name);
    await publishRecords(store, name, { memberships: memberships.slice(MOST) });
    assert.ok(await isFollowed(name, next));
    assert.ok(!(await isFollowed(name, earlier)), 'the pairs of both publications were listed');
    const other = await begin();
    await publishRecords(store, other.name, { memberships: memberships.slice(0, MOST + 1) });
    assert.ok(!(await isFollowed(other.name, other.earlier)), 'the pairs of one publication were listed');
    for (const one of [earlier, next, other.earlier]) await one.close();
  });

  it('lists no pairs any more after users are erased', async () => {
    const name = await newOrganization();
    await publishRecords(store, name, WORLD);
    const event = { ...EVENT, actorId: 3n, timestampMs: 2_500 };
    await publishRecords(store, name, { events: [event] });
    assert.ok((await changedPairs(name, 2)) > 0n);
    await publishRecords(store, name, { users: [forgottenUser(3n, { file: 0, line: 1 })] });
    assert.equal(await changedPairs(name, 3), 0n);
  });

  it('is read as a whole after the upgrade of a file that does not tell what has changed', async () => {
    const name = await newOrganization();
    await publishRecords(store, name, WORLD);
    const instance = await DuckDBInstance.create(
      join(folder, 'organizations', name, 'generations', '1.duckdb'),
    );
    const connection = await instance.connect();
    // Format 8 listed changed boards, and events had no body.
    await connection.run(`
      ALTER TABLE events DROP COLUMN body;
      ALTER TABLE version DROP COLUMN organization_digest;
      DROP TABLE changed_pairs; DROP TABLE changed_earnings; DROP TABLE version_changes;
      CREATE TABLE version_changes (
        version VARCHAR, before VARCHAR, last_sequence BIGINT, has_users BOOLEAN, boards INTEGER[]
      );
      INSERT INTO version_changes VALUES ('1-x', NULL, 1, true, NULL);
      COMMENT ON TABLE version IS 'Corkboard generation, format 8';`);
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
