/** An index whose lists are extended and replaced, compared with a map of arrays. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  addRows,
  firstRowOf,
  indexRows,
  ListMemory,
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
    const memory = new ListMemory();
    memory.take(rows.length).set(rows);
    changed = await replaceLists(changed, new Map([[value, rows]]), memory);
    replaced.set(value, rows);
    if (changed.replaced.size === 0) copied += 1;
  }
  assertSame(
    changed,
    Array.from(model, (_, value) => [...replaced.get(value)!]),
  );
  assert.ok(copied >= 1 && copied <= 6, `${copied} times`);
});

it('is copied together when many short lists are replaced', async () => {
  const values = 70_000;
  const index = await indexRows(
    Int32Array.from({ length: 10 * values }, (_, row) => row % values),
    values,
  );
  const listsOf = (from: number, to: number) =>
    new Map(Array.from({ length: to - from }, (_, at) => [from + at, Int32Array.of(from + at)]));
  const many = await replaceLists(index, listsOf(0, 65_536), new ListMemory());
  assert.equal(many.rows, index.rows);
  const more = await replaceLists(many, listsOf(65_536, 65_537), new ListMemory());
  assert.equal(more.replaced.size, 0);
  assert.deepEqual(
    [0, 65_536, 65_537].map((value) => rowsOf(more, value).length),
    [1, 1, 10],
  );
});

it('keeps no more memory after many changes than its rows take', async () => {
  let { index } = await indexed();
  let row = ROWS;
  for (let change = 0; change < 200; change++) {
    // One value changes each time, and one that differs.
    const values = Int32Array.of(0, change % VALUES);
    index = await addRows(index, row, values, () => false);
    row += 2;
    const memory = new Set(Array.from(index.replaced.values(), ({ buffer }) => buffer));
    const bytes = [...memory].reduce((sum, { byteLength }) => sum + byteLength, 0);
    assert.ok(bytes <= 4 * index.rows.length, `${bytes} bytes after ${change} changes`);
  }
});
