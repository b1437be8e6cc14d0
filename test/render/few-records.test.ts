/** Small responses before the fragments of a dataset are made. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { FragmentCache } from '../../src/render/fragments/fragment-cache.ts';
import { openRendering, type Rendering } from '../../src/render/rendering.ts';
import { DatasetInMemory } from './dataset-in-memory.ts';
import type { PlainWorld } from './plain-dataset.ts';
import { textOf } from './reference.ts';
import { anyWorld, NO_REDACTION, worldOf } from './worlds.ts';

const FORMS = ['json', 'ndjson', 'csv', 'excel'] as const;
const EVERYTHING = { scope: FULL_SCOPE, range: {} };
const BATCH = 3;
/** Enough for each of the few events of a world. */
const MANY_USERS = 1_000;
/** Rendering this number takes more than 100 ms. */
const VERY_MANY_USERS = 40_000;

/** `users` further users are counted, so that the records of a response are few. */
const load = (world: PlainWorld, users = MANY_USERS) => new DatasetInMemory(world, BATCH, users).load();

/** Small responses of every kind. */
const RESPONSES: readonly ((rendering: Rendering) => Promise<Parameters<typeof textOf>[0]>)[] = [
  ...FORMS.map((form) => (rendering: Rendering) => rendering.events(EVERYTHING, form)),
  ...FORMS.map((form) => (rendering: Rendering) => rendering.list('users', EVERYTHING, 'a', form)),
  (rendering) => rendering.list('users', { ...EVERYTHING, limit: 2 }, 'b', 'json'),
  (rendering) => rendering.standings({ ...EVERYTHING, of: { board: 0 } }, 'email'),
  (rendering) => rendering.standings({ ...EVERYTHING, of: { user: 1 } }, 'user'),
  ...FORMS.map((form) => (rendering: Rendering) => rendering.points(EVERYTHING, form)),
];

describe('a small response before the fragments are made', () => {
  it('has the same bytes as one that is made of all fragments', async () => {
    const property = fc.asyncProperty(anyWorld, fc.constantFrom(...RESPONSES), async (world, respond) => {
      const dataset = await load(world);
      const few = await textOf(await respond(openRendering(dataset, NO_REDACTION)));
      const all = await textOf(await respond(openRendering(await load(world, 0), NO_REDACTION)));
      assert.equal(few, all);
    });
    await fc.assert(property);
  });

  it('reads only what it needs, and lets all of them be made after a few responses of its kind', async () => {
    for (const respond of RESPONSES) {
      const dataset = await load(worldOf(5));
      const rendering = openRendering(dataset, NO_REDACTION);
      const texts = new Set<string>();
      const readings: number[] = [];
      for (let turn = 0; turn < 6; turn++) {
        texts.add(await textOf(await respond(rendering)));
        readings.push(dataset.readings.people);
      }
      // Once as columns, and once to render all of them.
      assert.deepEqual(readings, [1, 1, 1, 2, 2, 2]);
      assert.equal(texts.size, 1);
    }
  });

  it('lets all of them be made from the first response on if there are very many', async () => {
    for (const respond of RESPONSES) {
      const dataset = await load(worldOf(5), VERY_MANY_USERS);
      const rendering = openRendering(dataset, NO_REDACTION);
      const texts = new Set<string>();
      for (let turn = 0; turn < 3; turn++) texts.add(await textOf(await respond(rendering)));
      assert.equal(dataset.readings.people, 2);
      assert.equal(texts.size, 1);
    }
  });

  it('makes all of them for a key that redacts, whose users are not in memory', async (t) => {
    const made = t.mock.method(FragmentCache.prototype, 'eventParts');
    const rendering = openRendering(await load(worldOf(5)), { ...NO_REDACTION, name: true });
    await textOf(await rendering.events(EVERYTHING, 'json'));
    assert.equal(made.mock.callCount(), 1);
  });
});
