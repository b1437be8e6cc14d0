/** The order of rows that were added behind others, compared with an array of rows. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import {
  areInOrder,
  IN_ORDER,
  insertRows,
  type RowRuns,
  rangesOf,
  rowAt,
} from '../../src/dataset/row-runs.ts';

/** For each addition, the places of its rows as shares of the rows before it. */
const additionsArbitrary = fc.array(
  fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 12 }),
  { maxLength: 6 },
);

function rowsIn(runs: RowRuns, from: number, to: number): number[] {
  return [...rangesOf(runs, from, to)].flatMap((range) =>
    Array.from({ length: range.to - range.from }, (_, at) => range.from + at + range.shift),
  );
}

it('is that of an array into which the rows are inserted', () => {
  const property = fc.property(fc.nat(20), additionsArbitrary, fc.nat(40), (count, additions, from) => {
    let runs = IN_ORDER;
    let model = Array.from({ length: count }, (_, row) => row);
    for (const shares of additions) {
      const { length } = model;
      const places = Int32Array.from(shares, (share) => Math.round(share * length)).sort();
      runs = insertRows(runs, length, places);
      const added = places.map((_, at) => length + at);
      model = Array.from({ length: length + 1 }, (_, place) => [
        ...added.filter((_row, at) => places[at] === place),
        ...model.slice(place, place + 1),
      ]).flat();
    }
    assert.deepEqual(
      model.map((_, position) => rowAt(runs, position)),
      model,
    );
    assert.deepEqual(rowsIn(runs, from, model.length), model.slice(from));
    assert.deepEqual(rowsIn(runs, 0, Math.min(from, model.length)), model.slice(0, from));
    assert.equal(
      areInOrder(runs),
      model.every((row, position) => row === position),
    );
  });
  fc.assert(property);
});

it('stays one run while rows are added at the end', () => {
  let runs = insertRows(IN_ORDER, 0, Int32Array.of(0, 0));
  runs = insertRows(runs, 2, Int32Array.of(2, 2, 2));
  assert.deepEqual([...runs.starts, ...runs.rows], [0, 0]);
});
