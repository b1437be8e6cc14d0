import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Shelf } from '../src/system/shelf.ts';

test('a full shelf lets go of the oldest, and only of that', async () => {
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
