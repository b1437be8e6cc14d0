import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { EARLIEST_INSTANT_MS, formatInstant, LATEST_INSTANT_MS } from '../../../src/domain/instant.ts';
import { Chunk } from '../../../src/render/text/chunk.ts';
import { TIMESTAMP_BYTES, TimestampWriter } from '../../../src/render/text/timestamp.ts';

function written(instants: readonly number[]): string[] {
  const chunk = new Chunk(instants.length * TIMESTAMP_BYTES);
  const writer = new TimestampWriter();
  for (const instant of instants) chunk.length = writer.write(instant, chunk.block, chunk.length);
  const text = Buffer.from(chunk.take()).toString();
  return instants.map((_, at) => text.slice(at * TIMESTAMP_BYTES, (at + 1) * TIMESTAMP_BYTES));
}

test('timestamps at the edges of days, years and the epoch are correct', () => {
  const instants = [
    EARLIEST_INSTANT_MS,
    -1,
    0,
    Date.UTC(2016, 1, 29, 23, 59, 59, 999),
    Date.UTC(2016, 2, 1),
    Date.UTC(2018, 2, 12, 17, 0, 45, 567),
    LATEST_INSTANT_MS,
  ];
  assert.deepEqual(written(instants), [
    '0001-01-01T00:00:00.000+00:00',
    '1969-12-31T23:59:59.999+00:00',
    '1970-01-01T00:00:00.000+00:00',
    '2016-02-29T23:59:59.999+00:00',
    '2016-03-01T00:00:00.000+00:00',
    '2018-03-12T17:00:45.567+00:00',
    '9999-12-31T23:59:59.999+00:00',
  ]);
});

test('timestamps in any order, near to and far from each other, equal the output of formatInstant', () => {
  const instant = fc.oneof(
    fc.integer({ min: EARLIEST_INSTANT_MS, max: LATEST_INSTANT_MS }),
    fc.integer({ min: -200_000_000, max: 200_000_000 }),
  );
  fc.assert(
    fc.property(fc.array(instant, { maxLength: 30 }), (instants) => {
      assert.deepEqual(written(instants), instants.map(formatInstant));
    }),
  );
});
