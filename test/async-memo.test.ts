import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AsyncMemo } from '../src/system/async-memo.ts';

test('a full memo removes only its least recently used entry', async () => {
  const memo = new AsyncMemo<string>(2);
  const made: string[] = [];
  const take = (name: string) =>
    memo.take(name, async () => {
      made.push(name);
      return name;
    });
  for (const name of ['a', 'b', 'a', 'c', 'a', 'b']) assert.equal(await take(name), name);
  assert.deepEqual(made, ['a', 'b', 'c', 'b']);
});

test('a failure drops only its own attempt', async () => {
  const memo = new AsyncMemo<string>(1);
  const failing = Promise.withResolvers<string>();
  const first = memo.take('a', () => failing.promise);
  await memo.take('b', async () => 'b');
  const second = memo.take('a', async () => 'a');
  failing.reject(new Error('late'));
  await assert.rejects(first, /late/);
  assert.equal(await memo.take('a', () => assert.fail()), 'a');
  assert.equal(await second, 'a');
});
