/** The local cache of shared versions, over files of noise and chunks in memory. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, open, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { digestsOf } from '../../../src/store/chunks/chunk-digests.ts';
import { CHUNK_BYTES, chunkName, chunkSpan, type Manifest } from '../../../src/store/chunks/manifest.ts';
import { upload } from '../../../src/store/chunks/transfer.ts';
import { type SharedVersion, VersionCache } from '../../../src/store/files/cache.ts';
import { temporaryFolder } from '../../cli/command.ts';
import { MemoryPlace } from '../memory-place.ts';

const FOLDER = 'organization';
const CHUNKS = 6;
const BYTES = 12 * 1024 + (CHUNKS - 1) * CHUNK_BYTES - 1000;
const NO_LIMIT = 1e12;
/** Longer than a version counts as in service after its last use. */
const LONG_AGO_MS = 3_600_000;

const scratch = temporaryFolder();
let tests = 0;
let root: string;
let place: MemoryPlace;
let cache: VersionCache;
const caches: VersionCache[] = [];

beforeEach(() => {
  tests += 1;
  root = join(scratch, `cache-${tests}`);
  place = new MemoryPlace();
  cache = openCache();
});
afterEach(() => {
  for (const opened of caches.splice(0)) opened.close();
});

function openCache(limitBytes = NO_LIMIT): VersionCache {
  const opened = new VersionCache(root, limitBytes);
  caches.push(opened);
  return opened;
}

/** A cache of a process that starts after every existing file was written. */
async function openLater(): Promise<VersionCache> {
  await delay(20);
  return openCache();
}

/** A version whose chunks have these numbers; equal numbers are equal chunks. */
async function share(
  publication: number,
  numbers: readonly number[],
  folder = FOLDER,
): Promise<SharedVersion> {
  const path = join(scratch, `version-${tests}-${folder}-${publication}`);
  const bytes = Buffer.concat(
    numbers.map((number, index) => Buffer.alloc(chunkSpan(index, BYTES).length, `chunk ${number} `)),
  );
  await writeFile(path, bytes);
  const file = await open(path);
  const transfer = { place, folder, file, fileBytes: bytes.length };
  const { chunks } = await upload(transfer, { stored: new Map() }, 7n);
  await file.close();
  const manifest: Manifest = { bytes: bytes.length, chunks };
  return { folder, publication, manifest, place };
}

async function assertFetched(wanted: SharedVersion, by = cache): Promise<void> {
  const { path, release } = await by.fetch(wanted);
  const { digests } = await digestsOf(path);
  assert.deepEqual(
    digests,
    wanted.manifest.chunks.map(({ digest }) => digest),
  );
  release();
}

const pathOf = (publication: number, folder = FOLDER) => join(root, folder, `${publication}.duckdb`);
const nameOf = ({ folder, manifest }: SharedVersion, index: number) =>
  chunkName(folder, manifest.chunks[index]!);
const files = () => readdirSync(join(root, FOLDER)).filter((name) => name !== 'cache.lock');

/** Overwrites bytes of a file without changing its size. */
async function damage(path: string, at: number): Promise<void> {
  const file = await open(path, 'r+');
  await file.write(Buffer.from('damage'), 0, 6, at);
  await file.close();
}

describe('a version', () => {
  it('is assembled from its chunks, once', async () => {
    const first = await share(1, [1, 2, 3, 4, 5, 6]);
    await assertFetched(first);
    assert.equal(place.gets.length, CHUNKS);
    await assertFetched(first);
    assert.equal(place.gets.length, CHUNKS);
    assert.deepEqual(files(), ['1.duckdb', '1.manifest']);
  });

  it('starts with the bytes of an earlier one, and only the differences are fetched', async () => {
    await assertFetched(await share(1, [1, 2, 3, 4, 5, 6]));
    place.gets.length = 0;
    const third = await share(3, [10, 2, 3, 40, 5, 6]);
    await assertFetched(third);
    assert.deepEqual(place.gets.toSorted(), [nameOf(third, 0), nameOf(third, 3)].toSorted());
  });

  it('may be longer or shorter than the earlier one with which it starts', async () => {
    await assertFetched(await share(1, [1, 2, 3, 4]));
    await assertFetched(await share(2, [1, 2, 3, 4, 5, 6]));
    await assertFetched(await share(3, [1, 2]));
    assert.ok((await stat(pathOf(3))).size < (await stat(pathOf(2))).size);
  });

  it('is fetched once for several simultaneous readers, including other processes', async () => {
    const first = await share(1, [1, 2, 3, 4, 5, 6]);
    const other = openCache();
    await Promise.all([cache, other, cache, other].map((by) => assertFetched(first, by)));
    assert.equal(place.gets.length, CHUNKS);
  });

  it('has its images beside it, which are deleted with it', async () => {
    const { imagePath, release } = await cache.fetch(await share(1, [1, 2, 3, 4, 5, 6]));
    const images = ['1.image', '1.image.fragments', '1.image.fragments.0.tmp'];
    for (const name of images) await writeFile(join(root, FOLDER, name), '');
    assert.equal(imagePath, join(root, FOLDER, '1.image'));
    release();
    assert.deepEqual(files(), ['1.duckdb', ...images, '1.manifest']);
    await assertFetched(await share(12, [1, 2, 3, 4, 5, 60]));
    await cache.dropBefore(FOLDER, { oldest: 12, epoch: 0n });
    assert.deepEqual(files(), ['12.duckdb', '12.manifest']);
  });

  it('is not built from an earlier one that is damaged, or whose manifest is', async () => {
    await assertFetched(await share(1, [1, 2, 3, 4, 5, 6]));
    await assertFetched(await share(2, [1, 2, 3, 4, 5, 60]));
    await damage(pathOf(1), BYTES - 100);
    for (const content of [Buffer.alloc(0), Buffer.alloc(100), Buffer.alloc(100, 255)]) {
      await writeFile(join(root, FOLDER, '2.manifest'), content);
      const later = await openLater();
      place.gets.length = 0;
      await assertFetched(await share(3, [1, 2, 3, 4, 5, 6]), later);
      assert.equal(place.gets.length, CHUNKS);
      await later.dropBefore(FOLDER, { oldest: 1, epoch: 0n });
      await damage(pathOf(3), 0);
      await writeFile(join(root, FOLDER, '3.manifest'), content);
    }
  });
});

describe('a file in the cache', () => {
  it('is fetched again by the next process if it is damaged', async () => {
    const first = await share(1, [1, 2, 3, 4, 5, 6]);
    await assertFetched(first);
    for (const at of [0, 12 * 1024, BYTES - 10]) {
      await damage(pathOf(1), at);
      await assertFetched(first, await openLater());
    }
  });

  it('is fetched again at once if it was truncated, or belongs to a different version', async () => {
    const first = await share(1, [1, 2, 3, 4, 5, 6]);
    await assertFetched(first);
    const file = await open(pathOf(1), 'r+');
    await file.truncate(BYTES - 1);
    await file.close();
    await assertFetched(first);
    // As after the restore of a database from a backup.
    await assertFetched(await share(1, [1, 2, 3, 4, 5, 60]));
  });

  it('is not fetched again if the next process finds it whole', async () => {
    const first = await share(1, [1, 2, 3, 4, 5, 6]);
    await assertFetched(first);
    place.gets.length = 0;
    await assertFetched(first, await openLater());
    assert.equal(place.gets.length, 0);
  });

  it('is adopted with its manifest if it was built here', async () => {
    const first = await share(1, [1, 2, 3, 4, 5, 6]);
    await assertFetched(first);
    const building = await cache.building(FOLDER, 9n);
    await writeFile(building, await readFile(pathOf(1)));
    const { place: _place, ...made } = { ...first, publication: 2 };
    await cache.take(building, made);
    place.gets.length = 0;
    await assertFetched({ ...first, publication: 2 });
    assert.equal(place.gets.length, 0);
  });

  it('is removed at the next build if a command of an earlier epoch was building it', async () => {
    const left = await cache.building(FOLDER, 3n);
    await writeFile(left, 'left');
    await mkdir(`${left}.tmp`);
    const lost = await cache.building(FOLDER, 5n);
    await writeFile(lost, 'of a later one');
    assert.deepEqual(files(), ['next-5.building']);
    await cache.building(FOLDER, 4n);
    assert.deepEqual(files(), ['next-5.building']);
  });
});

describe('a chunk at its place', () => {
  it('is fetched again if it arrives damaged, up to three times', async () => {
    const first = await share(1, [1, 2, 3, 4, 5, 6]);
    const damaged = nameOf(first, 2);
    for (const [answers, isMended] of [
      [1, true],
      [2, true],
      [3, false],
    ] as const) {
      let left: number = answers;
      place.gets.length = 0;
      place.answer = (name, bytes) => {
        if (name !== damaged || bytes === undefined || left === 0) return bytes;
        left -= 1;
        return left % 2 === 0 ? Buffer.concat([bytes, Buffer.from('x')]) : Buffer.alloc(bytes.length);
      };
      if (isMended) await assertFetched(first);
      else await assert.rejects(cache.fetch(first), unreadable(/damaged/));
      const asked = place.gets.filter((name) => name === damaged).length;
      assert.equal(asked, isMended ? answers + 1 : 3);
      await cache.dropBefore(FOLDER, { oldest: 2, epoch: 0n });
      assert.deepEqual(files(), []);
    }
  });

  it('is reported if it is missing, and the version is fetched once it is back', async () => {
    const first = await share(1, [1, 2, 3, 4, 5, 6]);
    const name = nameOf(first, 5);
    const bytes = place.chunks.get(name)!;
    place.chunks.delete(name);
    await assert.rejects(cache.fetch(first), unreadable(/missing/));
    assert.deepEqual(files(), []);
    place.chunks.set(name, bytes);
    await assertFetched(first);
  });

  const unreadable = (message: RegExp) => ({ name: 'AppError', code: 'data-unreadable', message });
});

describe('a file beyond the limit of the cache', () => {
  // Of different organizations, so that none is the base of another.
  const shareOf = (folder: string) => share(1, [1, 2, 3, 4, 5, 6], folder);
  const notUsedFor = async (folder: string, ageMs: number) => {
    const { mtime } = await stat(pathOf(1, folder));
    await utimes(pathOf(1, folder), new Date(Date.now() - ageMs), mtime);
  };
  const kept = () => readdirSync(root).filter((folder) => existsSync(pathOf(1, folder)));

  it('is removed, the least recently used first', async () => {
    const limited = openCache(2.5 * BYTES);
    for (const folder of ['a', 'b']) await assertFetched(await shareOf(folder), limited);
    await notUsedFor('a', LONG_AGO_MS);
    await notUsedFor('b', 2 * LONG_AGO_MS);
    await assertFetched(await shareOf('c'), limited);
    assert.deepEqual(kept(), ['a', 'c']);
    assert.deepEqual(readdirSync(join(root, 'b')), ['cache.lock']);
  });

  it('stays while it is in service, here or in another process', async () => {
    const limited = openCache(0.5 * BYTES);
    const held = await limited.fetch(await shareOf('a'));
    await notUsedFor('a', LONG_AGO_MS);
    // Another process has just recorded that it uses this one.
    await assertFetched(await shareOf('b'));
    await assertFetched(await shareOf('c'), limited);
    assert.deepEqual(kept(), ['a', 'b', 'c']);
    held.release();
    for (const folder of kept()) await notUsedFor(folder, LONG_AGO_MS);
    await assertFetched(await shareOf('d'), limited);
    assert.deepEqual(kept(), ['d']);
  });
});

describe('a file that must not be kept', () => {
  it('is removed, even while it is being read, and nothing else is', async () => {
    for (const publication of [1, 2, 3])
      await assertFetched(await share(publication, [publication, 2, 3, 4]));
    await assertFetched(await share(1, [1, 2], 'another'));
    const held = await cache.fetch(await share(1, [1, 2, 3, 4]));
    await cache.dropBefore(FOLDER, { oldest: 3, epoch: 0n });
    held.release();
    assert.deepEqual(files(), ['3.duckdb', '3.manifest']);
    assert.ok(await stat(pathOf(1, 'another')));
    await cache.dropBefore('never seen', { oldest: 3, epoch: 0n });
  });

  it('is not kept if it arrives only after the request to remove it', async () => {
    const first = await share(1, [0, 1, 2, 3, 4, 5]);
    place.answer = (_name, bytes) => {
      void cache.dropBefore(FOLDER, { oldest: 2, epoch: 0n });
      return bytes;
    };
    await assert.rejects(cache.fetch(first));
    assert.deepEqual(
      readdirSync(join(root, FOLDER)).filter((name) => name.startsWith('1.')),
      [],
    );
    const second = await share(2, [0, 1, 2, 3, 4, 6]);
    (await cache.fetch(second)).release();
  });

  it('is removed if queries of a killed process spilled it', async () => {
    const first = await cache.fetch(await share(1, [0, 1, 2, 3, 4, 5]));
    const left = join(root, FOLDER, 'reading-of-a-killed-process.tmp');
    for (const path of [left, first.spillFolder]) await mkdir(path);
    await utimes(left, 0, 0);
    (await cache.fetch(await share(2, [0, 1, 2, 3, 4, 6]))).release();
    assert.deepEqual([existsSync(left), existsSync(first.spillFolder)], [false, true]);
    first.release();
  });

  it('is removed if a killed process had begun to assemble it', async () => {
    const first = await share(1, [1, 2, 3, 4]);
    await assertFetched(first);
    await writeFile(`${pathOf(2)}.0e0f6c0a-32d4-4a7e-9d0b-6a1c3d6c8f55.partial`, 'begun');
    await assertFetched(await share(3, [1, 2, 3, 4]));
    assert.deepEqual(
      files().filter((name) => name.endsWith('.partial')),
      [],
    );
    await writeFile(`${pathOf(2)}.0e0f6c0a-32d4-4a7e-9d0b-6a1c3d6c8f55.partial`, 'begun');
    await cache.dropBefore(FOLDER, { oldest: 3, epoch: 0n });
    assert.deepEqual(files(), ['3.duckdb', '3.manifest']);
  });
});
