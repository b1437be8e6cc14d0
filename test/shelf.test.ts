import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Shelf } from '../src/system/shelf.ts';

test('a full shelf removes only its oldest entry', async () => {
  const shelf = new Shelf<string>(2);
  const made: string[] = [];
  const take = (name: string) =>
    shelf.take(name, async () => {
      made.push(name);
      return name;
    });
  for (const name of ['a', 'b', 'c', 'b', 'c', 'a']) assert.equal(await take(name), name);
  assert.deepEqual(made, ['a', 'b', 'c', 'a']);
});

test('a failure drops only its own attempt', async () => {
  const shelf = new Shelf<string>(1);
  const failing = Promise.withResolvers<string>();
  const first = shelf.take('a', () => failing.promise);
  await shelf.take('b', async () => 'b');
  const second = shelf.take('a', async () => 'a');
  failing.reject(new Error('late'));
  await assert.rejects(first, /late/);
  assert.equal(await shelf.take('a', () => assert.fail()), 'a');
  assert.equal(await second, 'a');
});
