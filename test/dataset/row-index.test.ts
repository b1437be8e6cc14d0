/** An index whose lists are extended and replaced, compared with a map of arrays. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  addRows,
  firstRowOf,
  indexRows,
  listsOf,
  type RowIndex,
  replaceLists,
  rowsOf,
} from '../../src/dataset/resident/row-index.ts';

const VALUES = 50;
/** More than a few, so that lists can be copied together. */
const ROWS = 9_000;

function assertSame(index: RowIndex, model: readonly (readonly number[])[]): void {
  for (const [value, rows] of model.entries()) {
    assert.deepEqual([...rowsOf(index, value)], rows, `value ${value}`);
    assert.equal(firstRowOf(index, value), rows[0]);
  }
  assert.deepEqual(
    [...listsOf(index)].flatMap((rows) => [...rows]).toSorted((one, other) => one - other),
    model.flat().toSorted((one, other) => one - other),
  );
}

async function indexed() {
  const column = Int32Array.from({ length: ROWS }, (_, row) => (row * row) % VALUES);
  const model = Array.from({ length: VALUES }, (_, value) =>
    [...column.keys()].filter((row) => column[row] === value),
  );
  return { index: await indexRows(column, VALUES), model };
}

it('has the rows of each value, and none of others', async () => {
  const { index, model } = await indexed();
  assertSame(index, model);
  assert.equal(rowsOf(index, VALUES).length, 0);
  assert.equal(firstRowOf(index, VALUES + 7), undefined);
});

it('puts added rows where they belong, and leaves the earlier index as it is', async () => {
  const { index, model } = await indexed();
  // Row 9,000 belongs before row 100, row 9,001 behind all others.
  const rankOf = (row: number) => (row === ROWS ? 99.5 : row);
  const added = Int32Array.of(0, 0, VALUES + 1);
  const grown = await addRows(index, ROWS, added, (row, one) => rankOf(row) > rankOf(one));
  const expected = [...model, [], [ROWS + 2]];
  expected[0] = [...model[0]!, ROWS, ROWS + 1].toSorted((one, other) => rankOf(one) - rankOf(other));
  assertSame(grown, expected);
  assertSame(index, model);
  assert.equal(grown.rows, index.rows, 'the other lists are not copied');
});

it('is copied together when most of its rows are replaced', async () => {
  const { index, model } = await indexed();
  const replaced = new Map<number, Int32Array>();
  let changed = index;
  let copied = 0;
  for (let value = 0; value < VALUES; value++) {
    const rows = Int32Array.of(...model[value]!, ROWS + value);
    changed = await replaceLists(changed, new Map([[value, rows]]));
    replaced.set(value, rows);
    if (changed.replaced.size === 0) copied += 1;
  }
  assertSame(
    changed,
    Array.from(model, (_, value) => [...replaced.get(value)!]),
  );
  assert.ok(copied >= 1 && copied <= 3, `${copied} times`);
});
