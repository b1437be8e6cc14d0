import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { Clock, UTC } from '../../console/src/view/clock.ts';
import { addDays, countDays, dayOf, startOfDay } from '../../console/src/view/days.ts';
import { boundsOf, intervalsFor, presetsOf, readRange } from '../../console/src/view/range.ts';
import { chooseZoneData, knownZone } from '../../src/system/zones.ts';

const ZONES = [
  'UTC',
  'Europe/Vienna',
  'America/Sao_Paulo',
  'Asia/Kathmandu',
  'Asia/Beirut',
  'Pacific/Apia',
  'Africa/Cairo',
];
const dayArbitrary = fc
  .integer({ min: Date.UTC(1975, 0, 1) / 86_400_000, max: Date.UTC(2035, 0, 1) / 86_400_000 })
  .map((days) => new Date(days * 86_400_000).toISOString().slice(0, 10));

/** As the server tells it. */
function clockOf(zone: string): Clock {
  const offsets = knownZone(zone).offsetsBetween(Date.UTC(1970), Date.UTC(2100));
  return new Clock(
    offsets.map(([fromMs, offsetMs], at) => ({
      start: at === 0 ? null : new Date(fromMs).toISOString(),
      seconds: offsetMs / 1000,
    })),
  );
}

// The rules that `Temporal` uses.
chooseZoneData('node');

describe('days of a time zone', () => {
  it('begin at their first instant, even on clock changes', () => {
    const property = fc.property(dayArbitrary, fc.constantFrom(...ZONES), (day, zone) => {
      // A day that a zone skipped has no beginning.
      if (zone === 'Pacific/Apia' && day === '2011-12-30') return;
      const expected = Temporal.PlainDate.from(day).toZonedDateTime({ timeZone: zone }).startOfDay();
      const clock = clockOf(zone);
      assert.equal(startOfDay(day, clock), expected.epochMilliseconds);
      assert.equal(dayOf(startOfDay(day, clock), clock), day);
    });
    fc.assert(property, { numRuns: 400 });
  });

  it('are added and counted by the calendar', () => {
    assert.equal(addDays('2020-02-28', 2), '2020-03-01');
    assert.equal(countDays('2019-12-31', '2020-01-01'), 2);
  });
});

describe('the range', () => {
  const read = (query: string) => readRange(new URLSearchParams(query), 'Europe/Vienna');

  it('is read from the address, and invalid values are ignored', () => {
    assert.deepEqual(read(''), { from: undefined, to: undefined, zone: 'Europe/Vienna' });
    assert.deepEqual(read('from=2018-13-01&to=x&zone=Nowhere/Land').from, undefined);
    assert.deepEqual(read('from=2018-03-31&to=2018-03-01&zone=UTC'), {
      ...{ from: '2018-03-01', to: '2018-03-31', zone: 'UTC' },
    });
  });

  it('includes its last day', () => {
    assert.deepEqual(boundsOf(read('from=2018-03-25&to=2018-03-25'), clockOf('Europe/Vienna')), {
      start: '2018-03-24T23:00:00.000Z',
      end: '2018-03-25T22:00:00.000Z',
    });
  });

  it('has presets that count back from the last event, so that a shared view stays the same', () => {
    const presets = presetsOf('2017-05-01T10:00:00Z', '2018-03-31T23:30:00Z', clockOf('Europe/Vienna'));
    const [all, week] = presets;
    assert.deepEqual([all?.from, all?.to], [undefined, undefined]);
    assert.deepEqual([week?.from, week?.to], ['2018-03-26', '2018-04-01']);
    assert.deepEqual(
      presets.slice(-2).map(({ name }) => name),
      ['2018', '2017'],
    );
    assert.equal(presetsOf(null, null, UTC).length, 1);
  });

  it('gets an interval that keeps a chart readable', () => {
    const best = (query: string) =>
      intervalsFor(read(query), UTC, '2010-01-01T00:00:00Z', '2020-01-01T00:00:00Z').best;
    assert.equal(best('from=2018-03-01&to=2018-03-03'), 'hour');
    assert.equal(best('from=2018-03-01&to=2018-05-31'), 'day');
    assert.equal(best('from=2018-01-01&to=2018-12-31'), 'week');
    assert.equal(best(''), 'month');
  });
});
