import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import type { Week, Weekday } from '../../src/points/policy.ts';
import { weekBoundaries, weekStartOf } from '../../src/points/weeks.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function week(day: Weekday, time: string, zone: string): Week {
  const [hour = '', minute = ''] = time.split(':');
  return { day, minuteOfDay: Number(hour) * 60 + Number(minute), zone };
}

/**
 * Week starts in UTC, from the start of the week that contains `from` to the first start after
 * `to`.
 */
function starts(of: Week, from: string, to: string): string[] {
  const boundaries = weekBoundaries(of, { fromMs: Date.parse(from), toMs: Date.parse(to) });
  return [...boundaries].map((startMs) => new Date(startMs).toISOString().replace(':00.000Z', 'Z'));
}

describe('weeks', () => {
  test('begin on Monday at midnight, and the last boundary is after the range', () => {
    assert.deepEqual(starts(week(1, '00:00', 'UTC'), '2026-01-01T12:00Z', '2026-01-12T00:00Z'), [
      '2025-12-29T00:00Z',
      '2026-01-05T00:00Z',
      '2026-01-12T00:00Z',
      '2026-01-19T00:00Z',
    ]);
  });

  test('keep their local time over both clock changes in Berlin', () => {
    const friday = week(5, '18:00', 'Europe/Berlin');
    assert.deepEqual(starts(friday, '2026-03-27T17:00Z', '2026-03-27T17:00Z'), [
      '2026-03-27T17:00Z',
      '2026-04-03T16:00Z',
    ]);
    assert.deepEqual(starts(friday, '2026-10-23T16:00Z', '2026-10-23T16:00Z'), [
      '2026-10-23T16:00Z',
      '2026-10-30T17:00Z',
    ]);
  });

  test('begin an hour later where the clocks skip their time: 02:30 in New York becomes 03:30', () => {
    const skipped = week(7, '02:30', 'America/New_York');
    assert.deepEqual(starts(skipped, '2026-03-01T07:30Z', '2026-03-08T07:30Z'), [
      '2026-03-01T07:30Z',
      '2026-03-08T07:30Z',
      '2026-03-15T06:30Z',
    ]);
    assert.equal(
      weekStartOf(skipped, Date.parse('2026-03-08T07:29:59.999Z')),
      Date.parse('2026-03-01T07:30Z'),
    );
  });

  test('begin at the first of two equal local times: 02:30 occurs twice in Berlin', () => {
    const doubled = week(7, '02:30', 'Europe/Berlin');
    const first = Date.parse('2026-10-25T00:30Z');
    assert.equal(weekStartOf(doubled, first - 1), Date.parse('2026-10-18T00:30Z'));
    assert.equal(weekStartOf(doubled, first), first);
    assert.equal(weekStartOf(doubled, first + HOUR_MS), first);
  });

  test('have already begun when the clocks go back over midnight, as in St. John’s in 2006', () => {
    const midnight = week(7, '00:00', 'America/St_Johns');
    const first = Date.parse('2006-10-29T02:30Z');
    // A minute after midnight, the local time is 23:01 on Saturday again.
    assert.equal(weekStartOf(midnight, first + 10 * 60_000), first);
    assert.deepEqual(
      weekBoundaries(midnight, { fromMs: first + 10 * 60_000, toMs: first + 10 * 60_000 }),
      Float64Array.of(first, first + 7 * DAY_MS + HOUR_MS),
    );
  });

  test('shift by half an hour on Lord Howe Island', () => {
    assert.deepEqual(
      starts(week(1, '00:00', 'Australia/Lord_Howe'), '2026-04-01T00:00Z', '2026-04-06T00:00Z'),
      ['2026-03-29T13:00Z', '2026-04-05T13:30Z', '2026-04-12T13:30Z'],
    );
  });

  test('all have 7 × 24 hours in Muscat, which does not change its clocks', () => {
    const boundaries = weekBoundaries(week(7, '06:15', 'Asia/Muscat'), {
      fromMs: Date.UTC(2000, 0, 1),
      toMs: Date.UTC(2030, 0, 1),
    });
    assert.equal(boundaries.length, 1568);
    assert.deepEqual([...new Set(lengths(boundaries))], [7 * DAY_MS]);
  });

  test('cover the first year to the last', () => {
    const of = week(3, '12:00', 'Europe/Berlin');
    const first = weekStartOf(of, Date.parse('0001-01-01T00:00Z'));
    assert.ok(first < Date.parse('0001-01-01T00:00Z'));
    const lastMs = Date.parse('9999-12-31T23:59:59.999Z');
    assert.ok(weekBoundaries(of, { fromMs: lastMs, toMs: lastMs }).at(-1)! > lastMs);
  });
});

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Muscat',
  'Australia/Lord_Howe',
  'America/St_Johns',
];
const EARLIEST_MS = Date.UTC(1985, 0, 1);
const LATEST_MS = Date.UTC(2040, 0, 1);

const anyWeek = fc.record({
  day: fc.constantFrom<Weekday>(1, 2, 3, 4, 5, 6, 7),
  // The hours in which clocks change are as frequent as all others together.
  minuteOfDay: fc.oneof(fc.integer({ min: 0, max: 180 }), fc.integer({ min: 0, max: 1439 })),
  zone: fc.constantFrom(...ZONES),
});
const anyInstant = fc.integer({ min: EARLIEST_MS, max: LATEST_MS });
const anyRange = fc
  .tuple(anyInstant, fc.integer({ min: 0, max: 800 * DAY_MS }))
  .map(([fromMs, lengthMs]) => ({ fromMs, toMs: fromMs + lengthMs }));

test('boundaries enclose the range closely, ascend, and are at the local day and time of the week', () => {
  fc.assert(
    fc.property(anyWeek, anyRange, (of, range) => {
      const boundaries = weekBoundaries(of, range);
      assert.ok(boundaries[0]! <= range.fromMs && range.fromMs < boundaries[1]!);
      assert.ok(boundaries.at(-2)! <= range.toMs && range.toMs < boundaries.at(-1)!);
      for (const lengthMs of lengths(boundaries)) {
        assert.ok(lengthMs >= 6 * DAY_MS + 22 * HOUR_MS && lengthMs <= 7 * DAY_MS + 2 * HOUR_MS);
      }
      for (const startMs of boundaries) assertLocal(of, startMs);
    }),
    { numRuns: 60 },
  );
});

test('the week of an instant begins at the last boundary that is not after it', () => {
  fc.assert(
    fc.property(
      anyWeek,
      anyRange,
      fc.array(fc.double({ min: 0, max: 1, noNaN: true })),
      (of, range, shares) => {
        const boundaries = weekBoundaries(of, range);
        const lengthMs = range.toMs - range.fromMs;
        const instants = shares.map((share) => range.fromMs + Math.floor(share * lengthMs));
        for (const instantMs of [range.fromMs, range.toMs, ...instants]) {
          const expected = boundaries.findLast((startMs) => startMs <= instantMs);
          assert.equal(weekStartOf(of, instantMs), expected);
        }
        for (const [index, startMs] of boundaries.entries()) {
          assert.equal(weekStartOf(of, startMs), startMs);
          if (index > 0) assert.equal(weekStartOf(of, startMs - 1), boundaries[index - 1]);
        }
      },
    ),
    { numRuns: 40 },
  );
});

function lengths(boundaries: Float64Array): number[] {
  return [...boundaries.subarray(1)].map((startMs, index) => startMs - boundaries[index]!);
}

/**
 * Asserts that the local time is the configured one. If the clocks skip it on that day, it must be
 * later by the skipped time.
 */
function assertLocal(of: Week, startMs: number): void {
  const local = Temporal.Instant.fromEpochMilliseconds(startMs).toZonedDateTimeISO(of.zone);
  const minuteOfDay = local.hour * 60 + local.minute;
  assert.equal(local.dayOfWeek, of.day);
  assert.equal(local.second * 1000 + local.millisecond, 0);
  if (minuteOfDay === of.minuteOfDay) return;
  const skippedMinutes = local.offsetNanoseconds - local.subtract({ hours: 3 }).offsetNanoseconds;
  assert.ok(skippedMinutes > 0, `${local} is not after a gap`);
  assert.equal(minuteOfDay - of.minuteOfDay, skippedMinutes / 60e9);
}
