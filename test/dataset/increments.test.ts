/**
 * Compares, row by row, the derived tables of a version built by many publications with those of a
 * version built by one.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { runs } from '../model/runs.ts';
import { EMBEDDED, openStorage, type Storage } from '../storage.ts';
import { readGeneration } from '../store/version/generation-rows.ts';
import { joinSteps, type Step, stepsArbitrary } from './increments.ts';
import { SINGLE_CHANGES } from './single-changes.ts';
import { publishRecords, type Records } from './small-world.ts';

describe('a version built by several publications', () => {
  let folder: string;
  let storage: Storage;
  let organizations = 0;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corkboard-increments-'));
    storage = await openStorage(EMBEDDED, folder);
  });
  after(async () => {
    await storage.close();
    await rm(folder, { recursive: true });
  });

  const build = async (steps: readonly Step[]) => {
    organizations += 1;
    const organization = `organization-${organizations}`;
    const { store } = storage;
    await store.createOrganization(organization, {});
    let generation = 0;
    for (const { records, policy } of steps) {
      const settings = policy === undefined ? {} : { policy };
      const { published, problems } = await publishRecords(store, organization, records, settings);
      assert.deepEqual(problems, []);
      if (published) generation += 1;
    }
    const file = join(folder, 'data/organizations', organization, 'generations', `${generation}.duckdb`);
    return (await readGeneration(file)).tables;
  };

  it('has the same derived rows as one built at once, with late records and policy changes', async () => {
    const property = fc.asyncProperty(stepsArbitrary, async (steps) => {
      const all = joinSteps(steps);
      fc.pre(Object.values(all.records).some((records) => records.length > 0));
      const increments = await build(steps);
      assert.deepEqual(increments, await build([all]));
    });
    await fc.assert(property, runs(2));
  });

  it('has the same derived rows as one built at once when each publication makes a single change', async () => {
    const increments = await build(SINGLE_CHANGES);
    assert.deepEqual(increments, await build([joinSteps(SINGLE_CHANGES)]));
  });

  it('applies a changed policy to all events, even if few records came with it', async () => {
    const event = { type: 'pin', action: 'visited', ownerId: 1n, boardId: 7n, pinId: 70n };
    const first: Records = {
      users: [1n, 2n].map((id) => ({ id, email: `u${id}@x.example`, name: `User ${id}` })),
      boards: [7n, 8n].map((id) => ({ id, title: `Board ${id}` })),
      pins: [{ id: 70n, title: 'Pin' }],
      events: [1n, 2n].map((id) => ({ ...event, id, actorId: id, timestampMs: Number(id) })),
    };
    const adjustment = { userId: 2n, boardId: 8n, points: 3, timestampMs: 9, reason: 'elsewhere' };
    const steps: Step[] = [{ records: first }, { records: { adjustments: [adjustment] } }];
    const before = await build(steps);
    assert.deepEqual(before['awards'], []);
    const policy = (points: number) =>
      JSON.stringify({ rules: [{ on: 'pin.visited', to: 'actor', points }], goal: 20 });
    const after = await build([...steps, { records: {}, policy: policy(4) }]);
    assert.equal(after['awards']?.length, 2);
    const adjusted = "{'board': 1, 'person': 1, 'total_points': 3, 'participation_score': 15}";
    assert.deepEqual(after['standings'], [...standingsOf([4, 20], [4, 20]), adjusted]);
    const more = { ...event, id: 3n, actorId: 2n, timestampMs: 3 };
    const changed = await build([
      { records: first, policy: policy(4) },
      { records: { events: [more] }, policy: policy(6) },
    ]);
    assert.deepEqual(changed['standings'], standingsOf([6, 30], [12, 60]));
  });
});

/** Rows of the points totals of users 1 and 2 on board 7, from `[total points, score]` for each. */
function standingsOf(...figures: [number, number][]): string[] {
  return figures.map(
    ([total, score], person) =>
      `{'board': 0, 'person': ${person}, 'total_points': ${total}, 'participation_score': ${score}}`,
  );
}
