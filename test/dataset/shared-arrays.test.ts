/** Columns that are extended in their memory, or copied. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { copyTo, extend, growable, LEAST_GROWABLE_BYTES } from '../../src/dataset/shared-arrays.ts';

const COUNT = LEAST_GROWABLE_BYTES;

function numbered(): Float64Array {
  return growable(Float64Array, COUNT).map((_, at) => at);
}

it('are extended in the same memory while there is room and nothing behind them', async () => {
  const column = growable(Float64Array, COUNT);
  await copyTo(column, numbered(), 0);
  const longer = await extend(column, COUNT + 2);
  assert.equal(longer.buffer, column.buffer);
  assert.deepEqual(
    [longer.length, longer[COUNT - 1], longer[COUNT], longer[COUNT + 1]],
    [COUNT + 2, COUNT - 1, 0, 0],
  );
  longer[COUNT] = 7;
  const other = await extend(column, COUNT + 1);
  assert.notEqual(other.buffer, column.buffer, 'a different version has its rows there');
  assert.deepEqual([other[COUNT - 1], other[COUNT]], [COUNT - 1, 0]);
  const much = await extend(longer, 2 * COUNT);
  assert.notEqual(much.buffer, column.buffer, 'there is no room for twice as many');
  assert.deepEqual([much.length, much[COUNT], much[COUNT + 1]], [2 * COUNT, 7, 0]);
  assert.equal(column.length, COUNT);
});

it('are copied if they are short, or part of other memory', async () => {
  const short = Uint8Array.of(1, 2, 3);
  assert.deepEqual([...(await extend(short, 5))], [1, 2, 3, 0, 0]);
  const part = numbered().subarray(1);
  const longer = await extend(part, COUNT);
  assert.notEqual(longer.buffer, part.buffer);
  assert.deepEqual([longer[0], longer[COUNT - 2], longer[COUNT - 1]], [1, COUNT - 1, 0]);
});
