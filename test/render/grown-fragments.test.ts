/**
 * Compares the responses of a version whose fragments were made from those of an earlier one with
 * those of the same version read as a whole.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { growDataset, loadDataset } from '../../src/dataset/resident/load.ts';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { openRendering, type Rendering } from '../../src/render/rendering.ts';
import { openFragmentMemory } from '../../src/render/text/fragment-memory.ts';
import { fragmentsOf, growFragments } from '../../src/render/text/fragments.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import type { VersionStore } from '../../src/store/files/version-store.ts';
import { temporaryFolder } from '../cli/command.ts';
import { openPublished, publishRecords, type Records } from '../dataset/small-world.ts';
import { textOf } from './reference.ts';
import { NO_REDACTION } from './worlds.ts';

const EVERYTHING = { scope: FULL_SCOPE, range: {} };
const SECRET = Buffer.alloc(32, 7);
const REDACTIONS = [NO_REDACTION, { ...NO_REDACTION, email: true, secret: SECRET }];
/** Enough records for fragments in one memory, or few. */
const SIZES = [1_500, 20];

const folder = temporaryFolder();
let store: VersionStore;
before(async () => {
  store = await openFolderStore(folder);
});

const user = (id: number, text = 'User') => ({
  ...{ id: BigInt(id), email: `u${id}@x.example`, name: `${text} ${id}` },
});
const event = (actor: number, timestampMs: number) => ({
  ...{ type: 'pin', action: 'visited', ownerId: 1n, actorId: BigInt(actor), boardId: 7n, pinId: 70n },
  timestampMs,
});

const firstRecords = (users: number): Records => ({
  users: Array.from({ length: users }, (_, at) => user(at + 1)),
  boards: [7, 8].map((id) => ({ id: BigInt(id), title: `Board ${id}` })),
  pins: [{ id: 70n, boardId: 7n, title: 'Pin', body: 'one two' }],
  events: Array.from({ length: users }, (_, at) => event(at + 1, 1_000 + at)),
});

const changes = (users: number): readonly Records[] => [
  { events: [event(3, 1_500)] },
  {
    users: [user(2, 'A longer name than before, that of'), user(users + 5)],
    events: [event(users + 5, 9_000)],
  },
  {
    boards: [
      { id: 6n, title: 'Six' },
      { id: 8n, title: '' },
    ],
    pins: [{ id: 70n, title: 'ü', tags: ['a'] }],
  },
];

async function bytesOf(rendering: Rendering): Promise<readonly string[]> {
  const responses = [
    await rendering.events(EVERYTHING, 'json'),
    await rendering.events(EVERYTHING, 'csv'),
    await rendering.list('users', EVERYTHING, 'b', 'json'),
    await rendering.list('boards', EVERYTHING, 'a', 'ndjson'),
    await rendering.standings({ ...EVERYTHING, of: { board: 0 } }, 'email'),
  ];
  return await Promise.all(responses.map((response) => textOf(response)));
}

function openAll(dataset: Dataset, earlier: readonly Rendering[] = []): readonly Rendering[] {
  return REDACTIONS.map((redaction, at) => openRendering(dataset, redaction, undefined, earlier[at]));
}

describe('fragments that were made from those of an earlier version', () => {
  for (const size of SIZES) {
    it(`give the same responses, with ${size} users`, async () => {
      const name = `of-${size}`;
      await store.createOrganization(name, { title: 'School' });
      await publishRecords(store, name, firstRecords(size));
      let earlier = await loadDataset(await openPublished(store, name), () => undefined);
      let renderings = openAll(earlier);
      for (const rendering of renderings) await bytesOf(rendering);
      for (const records of changes(size)) {
        await publishRecords(store, name, records);
        const followed = await growDataset(earlier, await openPublished(store, name), () => undefined);
        assert.ok(followed !== undefined);
        const grown = openAll(followed, renderings);
        for (const [at, rendering] of grown.entries()) await rendering.warm(renderings[at]);
        const whole = await loadDataset(await openPublished(store, name), () => undefined);
        for (const [at, rendering] of openAll(whole).entries()) {
          assert.deepEqual(await bytesOf(grown[at]!), await bytesOf(rendering));
        }
        await whole.close();
        await earlier.close();
        [earlier, renderings] = [followed, grown];
      }
      await earlier.close();
    });
  }

  it('are not used for a different title of the organization', async () => {
    await store.createOrganization('titled', { title: 'Before' });
    await publishRecords(store, 'titled', firstRecords(20));
    const earlier = await loadDataset(await openPublished(store, 'titled'), () => undefined);
    const renderings = openAll(earlier);
    const [rendering] = renderings;
    await bytesOf(rendering!);
    await publishRecords(store, 'titled', {}, { title: 'Afterwards' });
    const followed = await growDataset(earlier, await openPublished(store, 'titled'), () => undefined);
    const [grown] = openAll(followed!, renderings);
    await grown!.warm(rendering);
    const [events] = await bytesOf(grown!);
    assert.ok(!events!.includes('Before') && events!.includes('Afterwards'));
    for (const dataset of [earlier, followed!]) await dataset.close();
  });

  it('are rendered for changed records only, and keep the memory of the earlier ones', async () => {
    const memory = openFragmentMemory(SIZES[0]!);
    const earlier = fragmentsOf([['a'], ['b', 'tail'], ['c']], memory);
    const rendered: number[] = [];
    const render = (index: number): [string] => {
      rendered.push(index);
      return [`new ${index}`];
    };
    const change = { indices: Int32Array.of(1, 3), count: 4 };
    const gap = { indices: Int32Array.of(1, 3), count: 5 };
    await assert.rejects(growFragments(earlier, gap, render, memory), /5 fragments are not 3 and 1/);
    const grown = await growFragments(earlier, change, render, memory);
    assert.deepEqual(rendered, [1, 3]);
    const texts = [0, 1, 2, 3].map((index) => grown.head(index) + grown.tail(index));
    assert.deepEqual(texts, ['a', 'new 1', 'c', 'new 3']);
    assert.deepEqual([earlier.head(1), earlier.tail(1), earlier.count], ['b', 'tail', 3]);
    assert.deepEqual([grown.share().total, grown.share().isGathered], [12, true]);
  });
});
