/** The fast parser for instants in the usual form agrees with the `Date` of JavaScript. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatInstant, parseInstant, readPlainInstant } from '../../src/domain/instant.ts';

const read = (text: string) => {
  const bytes = Buffer.from(`,${text},`);
  return readPlainInstant(bytes, 1, bytes.length - 1);
};

test('the fast parser reads every instant of the years 1 to 9999 as it was written', () => {
  const instants = fc.date({
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  });
  const property = fc.property(instants, (date) => {
    assert.equal(read(formatInstant(date.getTime())), date.getTime());
    assert.equal(read(date.toISOString()), date.getTime());
  });
  fc.assert(property, { numRuns: 1000 });
});

test('both parsers read every day of four centuries, and refuse days that do not exist', () => {
  for (let year = 1896; year <= 2304; year += 1) {
    for (let month = 1; month <= 12; month += 1) {
      for (const day of [0, 1, 28, 29, 30, 31, 32]) {
        const [m, d] = [month, day].map((part) => String(part).padStart(2, '0'));
        const text = `${year}-${m}-${d}T12:34:56.789Z`;
        const date = new Date(Date.UTC(year, month - 1, day, 12, 34, 56, 789));
        const isDay = date.getUTCMonth() === month - 1 && day > 0;
        assert.equal(read(text), isDay ? date.getTime() : undefined, text);
        assert.equal(parseInstant(text), isDay ? date.getTime() : undefined, text);
      }
    }
  }
});

test('the fast parser leaves other forms and invalid instants to the slow parser', () => {
  const others = [
    ...['', 'Z', '0000-01-01T00:00:00.000Z', '2018-00-12T17:00:45.567Z', '2018-13-12T17:00:45.567Z'],
    ...[
      '2018-03-12T24:00:45.567Z',
      '2018-03-12T17:60:45.567Z',
      '2018-03-12T17:00:60.567Z',
      '2018-03-12T17:00:45.567z',
    ],
    ...[
      '2018-03-12 17:00:45.567Z',
      '2018-03-12T17:00:45.567+01:00',
      '2018-03-12T17:00:45.567-00:00',
      '2018-03-12T17:00:45,567Z',
    ],
    ...[
      '2018-03-12T17:00:45.56:Z',
      '2018-03-12T17:00:45.56/Z',
      '2018-03-12T17:00:45.56ĀZ',
      '12018-03-12T17:00:45.567Z',
    ],
  ];
  for (const text of others) assert.equal(read(text), undefined, text);
  assert.equal(parseInstant('2018-03-12T17:00:45.56\u0130Z'), undefined);
  assert.equal(parseInstant('2018-03-12T17:00:45.5\u0130Z'), undefined);
});
