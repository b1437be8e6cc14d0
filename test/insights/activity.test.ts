/** The limits of activity: periods, series, and counts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { AppError } from '../../src/domain/app-error.ts';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { countActivity } from '../../src/insights/activity.ts';
import { type Groups, groupsOf, noGroups } from '../../src/insights/groups.ts';
import { Periods } from '../../src/insights/periods.ts';
import { SeriesCounts } from '../../src/insights/series.ts';
import { PlainDataset } from '../render/plain-dataset.ts';
import { worldOf } from '../render/worlds.ts';

const HOUR_MS = 3_600_000;
const START_MS = Date.UTC(2018, 2, 12);
const MOST_FIGURES = 500_000;

/** Activity by board. Each board has one event, in the first hour of the range. */
async function activityOf(boards: number, hours: number, top = 1_000) {
  const world = worldOf(1);
  const dataset = new PlainDataset({
    ...world,
    boards: Array.from({ length: boards }, (_, board) => ({ ...world.boards[0]!, id: BigInt(board) })),
    events: Array.from({ length: boards }, (_, board) => ({
      ...{ ...world.events[0]!, board, timestampMs: START_MS },
    })),
  });
  const asked = { scope: FULL_SCOPE, range: { startMs: START_MS, endMs: START_MS + hours * HOUR_MS } };
  const groups = await groupsOf(dataset, 'board', asked, top);
  return await countActivity(dataset, asked, new Periods('hour', 'UTC'), groups);
}

function isRefused(error: unknown): boolean {
  return error instanceof AppError && error.code === 'range-too-fine';
}

describe('activity', () => {
  it('has at most 10,000 periods, 1,000 series and 500,000 counts', async () => {
    for (const [boards, hours, top] of [
      [50, 10_000, 1_000],
      [1_000, 500, 1_000],
      [1, 10_000, 1],
    ] as const) {
      const { events, startsMs } = await activityOf(boards, hours, top);
      assert.equal(startsMs.length, hours);
      assert.equal(events.filter((series) => series?.length === hours).length, Math.min(boards, top));
    }
  });

  it('is refused beyond these limits, with an error that says how to stay within them', async () => {
    await assert.rejects(activityOf(51, 10_000), isRefused);
    await assert.rejects(activityOf(1_000, 501), isRefused);
    await assert.rejects(activityOf(1, 10_001), isRefused);
    // The boards beyond the first 1,000 are counted in one further series.
    await assert.rejects(activityOf(1_001, 500), isRefused);
    await assert.rejects(activityOf(1_000, 501), /500,000 figures.*shorter range.*"top"/);
    assert.equal((await activityOf(1_000, 501, 100)).startsMs.length, 501);
  });

  it('is refused with groups of few actors whether they have events or not', async () => {
    const dataset = new PlainDataset(worldOf(1));
    const names = [...Array.from({ length: 50 }, (_, group) => `group ${group}`), undefined];
    const groups: Groups = { column: 'actor', groupOf: new Int32Array(dataset.counts.users), names };
    const activity = async (hours: number, fewestActors?: number) => {
      const range = { startMs: START_MS, endMs: START_MS + hours * HOUR_MS };
      const periods = new Periods('hour', 'UTC');
      return await countActivity(dataset, { scope: FULL_SCOPE, range }, periods, { ...groups, fewestActors });
    };
    assert.equal((await activity(10_000)).startsMs.length, 10_000);
    await assert.rejects(activity(10_000, 10), isRefused);
    assert.equal((await activity(9_000, 10)).startsMs.length, 9_000);
  });
});

it('series equal a plain count, and only groups with events count towards the limit', async () => {
  const groups = 5;
  const periods = 6;
  const event = fc.record({ group: fc.nat({ max: groups - 1 }), period: fc.nat({ max: periods - 1 }) });
  const property = fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
    const counts = new SeriesCounts(groups);
    for (let period = 0; period < periods; period++) {
      for (const { group } of events.filter((one) => one.period === period)) counts.add(group);
      counts.leave(period);
    }
    const expected = Array.from({ length: groups }, (_, group) => {
      const own = events.filter((one) => one.group === group);
      if (own.length === 0) return undefined;
      return Array.from({ length: periods }, (_, at) => own.filter(({ period }) => period === at).length);
    });
    const series = await counts.inPeriods(periods);
    assert.deepEqual(
      series.map((one) => one && [...one]),
      expected,
    );
    const shown = expected.filter((one) => one !== undefined).length;
    if (shown === 0) return counts.refuseTooMany(Number.MAX_SAFE_INTEGER);
    const most = Math.floor(MOST_FIGURES / shown);
    counts.refuseTooMany(most);
    assert.throws(() => counts.refuseTooMany(most + 1), isRefused);
  });
  await fc.assert(property);
});

it('activity begins with the day of its first event, also when clocks go back across midnight', async () => {
  // At 00:01 on 29 October, the clocks of St. John's showed 23:01 again.
  const midnightMs = Date.UTC(2006, 9, 29, 2, 30);
  const world = worldOf(1);
  const timestampMs = midnightMs + 15 * 60_000;
  const dataset = new PlainDataset({ ...world, events: [{ ...world.events[0]!, timestampMs }] });
  for (const startMs of [undefined, midnightMs, midnightMs - HOUR_MS]) {
    const asked = { scope: FULL_SCOPE, range: { startMs } };
    const periods = new Periods('day', 'America/St_Johns');
    const { people, events, startsMs } = await countActivity(dataset, asked, periods, noGroups(dataset));
    assert.equal(startsMs.at(-1), midnightMs);
    assert.deepEqual(people.at(-1), 1);
    assert.equal(events[0]?.at(-1), 1);
  }
});
