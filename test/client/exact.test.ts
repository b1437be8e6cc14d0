import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { idText, parseExact } from '../../src/client/exact.ts';
import { runs } from '../model/runs.ts';

describe('parseExact', () => {
  const id = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  // Texts that look like members, inside strings and names.
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc
      .tuple(
        fc.constantFrom('', '\\', '"', '\\"', '{"'),
        fc.constantFrom('"id":5', '\\"id\\":-7', 'user_id":1'),
      )
      .map((parts) => parts.join('')),
  );

  it('returns every id digit for digit, and everything else like JSON.parse', () => {
    fc.assert(
      fc.property(id, id, id, text, text, fc.integer(), (one, two, three, title, name, points) => {
        const shape = (of: (id: bigint) => unknown) => ({
          id: of(one),
          title,
          tags: [title, name],
          board: { id: of(two), category_id: of(three), sync_id: title },
          [`#${name}`]: { user_id: of(two), total_points: points },
          forgotten: { user: of(three) },
        });
        const json = JSON.stringify(shape((exact) => JSON.rawJSON(String(exact))));
        assert.deepEqual(parseExact(json), JSON.parse(JSON.stringify(shape(String))));
      }),
      runs(300),
    );
  });

  it('reads JSON with spaces, too', () => {
    assert.deepEqual(parseExact('{ "id" : 9007199254740993, "n": 1.5 }'), { id: '9007199254740993', n: 1.5 });
  });
});

describe('idText', () => {
  it('accepts integers of every type', () => {
    assert.deepEqual([7, -7n, '9007199254740993'].map(idText), ['7', '-7', '9007199254740993']);
  });

  it('refuses numbers that may have lost digits, and values that are not integers', () => {
    for (const wrong of [2 ** 53, 1.5, Number.NaN, '', '7/points', '1e3']) {
      assert.throws(() => idText(wrong), TypeError);
    }
  });
});
