/**
 * The parsers for instants agree with each other and with the `Date` of JavaScript. The slow one
 * reads what other software writes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  EARLIEST_INSTANT_MS,
  formatInstant,
  parseInstant,
  readPlainInstant,
} from '../../src/domain/instant.ts';

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

test('seconds with a fraction are the same instant as milliseconds, to the last digit', () => {
  const largest = 99_999_999_999_999;
  const property = fc.property(fc.integer({ min: EARLIEST_INSTANT_MS, max: largest }), (instantMs) => {
    const digits = String(Math.abs(instantMs)).padStart(4, '0');
    const seconds = `${instantMs < 0 ? '-' : ''}${digits.slice(0, -3)}.${digits.slice(-3)}`;
    assert.equal(parseInstant(seconds), instantMs);
    assert.equal(parseInstant(`${seconds}999`), instantMs);
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

const MOMENT_MS = Date.UTC(2025, 2, 1, 10, 0, 0, 250);
const IN_1880_MS = Date.UTC(1880, 0, 1, 0, 0, 0, 123);

/** As the program itself wrote the instant. */
for (const [program, text, instantMs] of [
  ['PostgreSQL 17, DuckDB 1.5.6', '2025-03-01 10:00:00.25+00', MOMENT_MS],
  ['PostgreSQL 17, DuckDB 1.5.6', '2025-03-01 05:00:00.25-05', MOMENT_MS],
  ['PostgreSQL 17, DuckDB 1.5.6', '2025-03-01 15:30:00.25+05:30', MOMENT_MS],
  ['pandas 3.0.6, to_csv', '2025-03-01 10:00:00.250000+00:00', MOMENT_MS],
  ['pandas 3.0.6, to_csv', '1880-01-01 05:21:10.123000+05:21:10', IN_1880_MS],
  ['pandas 3.0.6, to_json', '2025-03-01T10:00:00.250Z', MOMENT_MS],
  ['polars 1.44.2, write_csv', '2025-03-01T15:30:00.250+0530', MOMENT_MS],
  ['polars 1.44.2, write_ndjson', '2025-03-01T15:30:00.250+05:30', MOMENT_MS],
  ['ISO 8601', '2025-03-01T12:00:00.250+02', MOMENT_MS],
] as const) {
  test(`an instant as ${program} writes it, ${text}, is read`, () => {
    assert.equal(parseInstant(text), instantMs);
  });
}

for (const offset of [
  '',
  ' +00',
  '+0',
  '+000',
  '+24',
  '+00:60',
  '+00:00:60',
  '+00:00:00:00',
  '+1:00',
  '00',
]) {
  test(`an instant with the offset "${offset}" is refused`, () => {
    assert.equal(parseInstant(`2025-03-01 10:00:00.25${offset}`), undefined);
  });
}
