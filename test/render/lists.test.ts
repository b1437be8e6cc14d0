import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { openRendering } from '../../src/render/rendering.ts';
import type { Variant } from '../../src/render/text/rendered-body.ts';
import { PlainDataset, type PlainWorld } from './plain-dataset.ts';
import { jsonOf, ndjsonOf, textOf } from './reference.ts';
import { anyWorld, NO_REDACTION, worldOf } from './worlds.ts';

const EVERYTHING = { scope: FULL_SCOPE, range: {} };
const VARIANTS: readonly Variant[] = ['a', 'b'];

/** The list items of the contract (2.6, 2.7), ascending by id. */
function listed(world: PlainWorld, variant: Variant) {
  const boards = world.boards.map(({ id, title, category }) =>
    variant === 'a' ? { id, title } : { id, title, category },
  );
  const users = world.people.map(({ id, email, name, firstName, lastName, role }) =>
    variant === 'a' ? { id, first_name: firstName, last_name: lastName, email } : { id, email, role, name },
  );
  return { boards: boards.sort(byId), users: users.sort(byId) };
}

function byId(a: { readonly id: bigint }, b: { readonly id: bigint }): number {
  return a.id < b.id ? -1 : 1;
}

test('lists of boards and users have the fields of their variant in every representation', async () => {
  await fc.assert(
    fc.asyncProperty(anyWorld, fc.constantFrom(...VARIANTS), async (world, variant) => {
      const rendering = openRendering(new PlainDataset(world), NO_REDACTION);
      const expected = listed(world, variant);
      for (const list of ['boards', 'users'] as const) {
        const items: readonly Record<string, string | bigint>[] = expected[list];
        assert.equal(await textOf(await rendering.list(list, EVERYTHING, variant, 'json')), jsonOf(items));
        assert.equal(
          await textOf(await rendering.list(list, EVERYTHING, variant, 'ndjson')),
          ndjsonOf(items),
        );
        assert.deepEqual(parse(await textOf(await rendering.list(list, EVERYTHING, variant, 'csv'))), [
          Object.keys(items[0]!),
          ...items.map((item) => Object.values(item).map((cell) => String(cell).toWellFormed())),
        ]);
      }
    }),
    { numRuns: 30 },
  );
});

test('empty lists are an empty array, no bytes, or only the CSV header', async () => {
  const rendering = openRendering(new PlainDataset({ ...worldOf(0), people: [], boards: [] }), NO_REDACTION);
  assert.equal(await textOf(await rendering.list('boards', EVERYTHING, 'a', 'json')), '[]');
  assert.equal(await textOf(await rendering.list('users', EVERYTHING, 'a', 'ndjson')), '');
  assert.equal(await textOf(await rendering.list('boards', EVERYTHING, 'b', 'csv')), 'id,title,category\r\n');
  assert.equal(
    await textOf(await rendering.list('users', EVERYTHING, 'a', 'csv')),
    'id,first_name,last_name,email\r\n',
  );
  assert.equal(await textOf(await rendering.list('users', EVERYTHING, 'b', 'csv')), 'id,email,role,name\r\n');
});

test('pages of a list continue after the last id', async () => {
  const world = worldOf(0);
  const rendering = openRendering(new PlainDataset(world), NO_REDACTION);
  for (const list of ['boards', 'users'] as const) {
    const first = await rendering.list(list, { ...EVERYTHING, limit: 2 }, 'a', 'ndjson');
    assert.equal(first.next, 2n ** 53n + 1n);
    const second = await rendering.list(
      list,
      { ...EVERYTHING, limit: 2, afterId: first.next },
      'a',
      'ndjson',
    );
    assert.equal(second.next, undefined);
    assert.equal((await textOf(first)) + (await textOf(second)), ndjsonOf(listed(world, 'a')[list]));
    assert.equal((await rendering.list(list, { ...EVERYTHING, limit: 3 }, 'a', 'json')).next, undefined);
  }
});

test('a list larger than a chunk has the announced size', async () => {
  const title = 'Wood and wire '.repeat(10);
  const boards = Array.from({ length: 5000 }, (_, at) => ({ id: BigInt(at), title, category: 'Bookmarks' }));
  const rendering = openRendering(new PlainDataset({ ...worldOf(0), boards }, 2048), NO_REDACTION);
  assert.equal(await textOf(await rendering.list('boards', EVERYTHING, 'b', 'json')), jsonOf(boards));
});
