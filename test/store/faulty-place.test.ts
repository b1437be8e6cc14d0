/**
 * A shared store whose place for chunks is away, reports late, or lies: under any fault, only
 * published versions are shown, no published data are lost, and every error names its cause.
 * `CORKBOARD_SEED` repeats a run.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { AppError } from '../../src/domain/app-error.ts';
import { PostgresCatalog } from '../../src/store/catalog/postgres-catalog.ts';
import { PostgresDatabase } from '../../src/store/catalog/postgres-database.ts';
import { chunkName, decodeManifest } from '../../src/store/chunks/manifest.ts';
import { VersionCache } from '../../src/store/files/cache.ts';
import { SharedFiles } from '../../src/store/files/shared-files.ts';
import { VersionStore } from '../../src/store/files/version-store.ts';
import { publishRecords, type Records, WORLD } from '../dataset/small-world.ts';
import { IS_LONG } from '../long.ts';
import { newMigratedDatabase } from '../storage.ts';
import { FaultyPlace, NO_FAULTS } from './faulty-place.ts';
import { MemoryPlace } from './memory-place.ts';

const ROUNDS = IS_LONG ? 200 : 16;
const NAME = 'school';
const EXPECTED = new Set(['chunks-away', 'data-unreadable']);
const FAULTS = { away: 0.03, damaged: 0.05, missing: 0.02, stale: 0.3 };

const seed = Number(process.env['CORKBOARD_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** Mulberry32: the same numbers for the same seed. */
function randomOf(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe('a shared store over a place with faults', () => {
  const random = randomOf(seed);
  const chunks = new MemoryPlace();
  const place = new FaultyPlace(chunks, random);
  const stores: VersionStore[] = [];
  let folder: string;
  let url: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corkboard-faults-'));
    url = await newMigratedDatabase();
    const catalog = new PostgresCatalog(new PostgresDatabase(url));
    // Chunks are not in the database, which would look for its own.
    await catalog.setPlace('memory');
    await catalog.close();
  });
  after(async () => {
    for (const store of stores) await store.close();
    await rm(folder, { recursive: true, force: true });
  });

  function openStore(cache: string): VersionStore {
    const catalog = new PostgresCatalog(new PostgresDatabase(url));
    const files = new SharedFiles(catalog, new VersionCache(join(folder, cache), 1e9), async () => place);
    const store = new VersionStore(catalog, files);
    stores.push(store);
    return store;
  }

  const followsAt = (number: number): Records => ({
    events: [
      {
        type: 'board',
        action: 'followed',
        ownerId: 1n,
        actorId: 1n,
        boardId: 7n,
        timestampMs: 10_000 + number,
      },
    ],
  });

  /**
   * The number of events of the shown version; absent if it cannot be read, with an error that says
   * so.
   */
  async function eventsShown(store: VersionStore): Promise<number | undefined> {
    try {
      const dataset = await store.openDataset(NAME);
      await dataset?.close();
      return dataset?.counts.events ?? 0;
    } catch (error) {
      assertExpected(error);
      return undefined;
    }
  }

  it('shows published versions, and nothing else', async (t) => {
    t.diagnostic(`CORKBOARD_SEED=${seed}`);
    const writer = openStore('writer');
    await writer.createOrganization(NAME, {});
    await publishRecords(writer, NAME, WORLD);
    let events = 5;
    let failed = 0;
    for (let round = 1; round <= ROUNDS; round += 1) {
      // Away for the first one, so that at least one publication meets a fault.
      place.faults = round === 1 ? { ...FAULTS, away: 1 } : FAULTS;
      // Some rounds start with an empty cache, like a new machine.
      const reader = openStore(random() < 0.3 ? `reader-${round}` : 'reader');
      const [published, before] = await Promise.all([
        publishRecords(openStore(random() < 0.3 ? `writer-${round}` : 'writer'), NAME, followsAt(round)).then(
          () => true,
          (error: unknown) => {
            assertExpected(error);
            return false;
          },
        ),
        eventsShown(reader),
      ]);
      if (before !== undefined) assert.ok(before === events || before === events + 1, `${before} events`);
      if (published) events += 1;
      else failed += 1;
      const shown = await eventsShown(reader);
      if (shown !== undefined) assert.equal(shown, events);
      for (const store of stores.splice(0)) await store.close();
    }
    t.diagnostic(`${failed} of ${ROUNDS} publications failed`);
    assert.ok(failed > 0, 'some publications met a fault');
    place.faults = NO_FAULTS;
    await assertWhole(events);
  });

  /** Without faults all events are there, and the next publication leaves no unneeded chunk. */
  async function assertWhole(events: number): Promise<void> {
    const store = openStore('last');
    assert.equal(await eventsShown(store), events);
    await publishRecords(store, NAME, followsAt(ROUNDS + 1));
    const catalog = new PostgresCatalog(new PostgresDatabase(url));
    const { organization, folder: own } = await catalog.sharing(NAME);
    const kept = await catalog.kept(organization);
    await catalog.close();
    const needed = kept.flatMap(({ manifest }) =>
      decodeManifest(manifest).chunks.map((one) => chunkName(own, one)),
    );
    assert.deepEqual([...chunks.chunks.keys()].sort(), [...new Set(needed)].sort());
    const left = (await readdir(join(folder, 'last', own))).filter((name) => /partial|building/.test(name));
    assert.deepEqual(left, []);
  }
});

function assertExpected(error: unknown): void {
  assert.ok(
    error instanceof AppError && EXPECTED.has(error.code),
    String(error instanceof Error ? error.stack : error),
  );
}
