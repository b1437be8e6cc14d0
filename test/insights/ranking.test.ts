/** Rankings are the same whether they are looked up in the indexes of a timeline or scanned. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { countEvents, lookAt } from '../../src/insights/ranking.ts';
import { DatasetInMemory } from '../render/dataset-in-memory.ts';
import type { PlainEvent } from '../render/plain-dataset.ts';
import { worldOf } from '../render/worlds.ts';

const INDICES = 30;
const EVENTS = 400;
const START_MS = Date.UTC(2024, 0, 1);

const event = fc.record({
  kind: fc.nat({ max: 1 }),
  ...{ actor: fc.nat({ max: INDICES - 1 }), owner: fc.constant(0), board: fc.nat({ max: INDICES - 1 }) },
  ...{ pin: fc.constant(-1), timestampMs: fc.nat({ max: EVENTS }).map((ms) => START_MS + ms) },
});

async function load(events: readonly PlainEvent[]): Promise<DatasetInMemory> {
  const world = worldOf(1);
  const ids = Array.from({ length: INDICES }, (_, index) => BigInt(index));
  return await new DatasetInMemory({
    ...world,
    people: ids.map((id) => ({ ...world.people[0]!, id, email: `user${id}@example.org` })),
    boards: ids.map((id) => ({ ...world.boards[0]!, id })),
    events: events.toSorted((one, other) => one.timestampMs - other.timestampMs),
  }).load();
}

describe('lookAt', () => {
  it('counts the same whether few or all indices are requested', async () => {
    const property = fc.asyncProperty(
      fc.array(event, { minLength: EVENTS, maxLength: EVENTS }),
      fc.constantFrom('board' as const, 'actor' as const),
      fc.constantFrom(undefined, 'visited'),
      fc.option(fc.nat({ max: EVENTS }), { nil: undefined }),
      async (all, by, action, endsAfter) => {
        const dataset = await load(all);
        const endMs = endsAfter === undefined ? undefined : START_MS + endsAfter;
        const asked = { scope: FULL_SCOPE, range: { endMs }, action };
        const other = by === 'board' ? 'actor' : 'board';
        const events = await countEvents(dataset, asked, by);
        const expected = Array.from({ length: INDICES }, (_, index) => {
          const own = all.filter(
            (one) =>
              one[by] === index &&
              (endMs === undefined || one.timestampMs < endMs) &&
              (action === undefined || dataset.kinds[one.kind]!.action === action),
          );
          const lastMs = Math.max(...own.map(({ timestampMs }) => timestampMs));
          return { others: new Set(own.map((one) => one[other])).size, lastMs };
        });
        const each = Array.from({ length: INDICES }, (_, index) => index);
        const look = async (indices: readonly number[]) =>
          await lookAt(dataset, asked, { by, indices, events, other });
        assert.deepEqual(await look(each), expected);
        // One index of thirty has so few events that its rows are looked up.
        for (const index of each) assert.deepEqual(await look([index]), [expected[index]]);
      },
    );
    await fc.assert(property, { numRuns: 30 });
  });

  it('counts many events of one index with few different others', async () => {
    const events = Array.from({ length: 10_000 }, (_, at) => ({
      ...{ kind: 0, owner: 0, pin: -1, timestampMs: START_MS + at },
      // The last actor comes late, after its list has been full several times.
      ...{ board: at % 3 === 0 ? 1 : 0, actor: at === 9_998 ? INDICES - 1 : (at * at) % 7 },
    }));
    const dataset = await load(events);
    const asked = { scope: FULL_SCOPE, range: {} };
    const counts = await countEvents(dataset, asked, 'board');
    const looked = await lookAt(dataset, asked, {
      by: 'board',
      indices: [0, 1],
      events: counts,
      other: 'actor',
    });
    assert.deepEqual(
      looked,
      [0, 1].map((board) => {
        const own = events.filter((one) => one.board === board);
        return { others: new Set(own.map(({ actor }) => actor)).size, lastMs: own.at(-1)!.timestampMs };
      }),
    );
  });
});
