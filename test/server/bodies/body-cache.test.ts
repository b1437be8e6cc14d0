/** Which bodies the response cache keeps, and which it removes first. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Dataset } from '../../../src/dataset/dataset.ts';
import { Body } from '../../../src/server/bodies/body.ts';
import { type Beginning, BodyCache } from '../../../src/server/bodies/body-cache.ts';
import { PlainDataset } from '../../render/plain-dataset.ts';
import { worldOf } from '../../render/worlds.ts';

const MB = 1e6;

function version(): Dataset {
  return new PlainDataset(worldOf(0), 1);
}

function cacheOf(
  memoryBytes: number,
  { diskBytes = 0, plainBytes = 0, mayEvict = (): boolean => true } = {},
): BodyCache {
  return new BodyCache({ memoryBytes, diskBytes, plainBytes }, mayEvict);
}

function small(bytes: number) {
  return { bytes: Buffer.alloc(bytes, 1), next: undefined };
}

/** Keeps a body twice, as for a repeated request. */
function keepAgain(cache: BodyCache, dataset: Dataset, tag: string, bytes: number): void {
  for (let turn = 0; turn < 2; turn++) cache.slot(dataset, tag).keep(small(bytes));
}

function beginning(bytes: number, more: Partial<Beginning> = {}): Beginning {
  const make = () => Array.from({ length: bytes / MB }, () => Buffer.alloc(MB, 7));
  return { make, next: undefined, heldBytes: 1, isPlain: false, isCostly: true, ...more };
}

/** Reads all of a body if one begins, and returns whether one began. */
async function fill(cache: BodyCache, dataset: Dataset, tag: string, how: Beginning): Promise<boolean> {
  const body = cache.slot(dataset, tag).begin(how);
  if (body === undefined) return false;
  await using reader = body.join();
  for await (const _ of reader.read());
  return true;
}

function found(cache: BodyCache, dataset: Dataset, tags: string): string {
  return [...tags].filter((tag) => cache.slot(dataset, tag).find() !== undefined).join('');
}

describe('small bodies', () => {
  it('are kept from the second request on, or at once if they are costly', () => {
    const cache = cacheOf(MB);
    const dataset = version();
    cache.slot(dataset, 'a').keep(small(1));
    assert.equal(found(cache, dataset, 'a'), '');
    cache.slot(dataset, 'b').keep(small(1));
    cache.slot(dataset, 'a').keep(small(1));
    cache.slot(dataset, 'c').keep(small(1), true);
    assert.equal(found(cache, dataset, 'abc'), 'ac');
  });

  it('are limited by total bytes, and the least recently used one is removed first', () => {
    const cache = cacheOf(10_000);
    const dataset = version();
    for (const tag of 'abc') keepAgain(cache, dataset, tag, 2_500);
    assert.equal(found(cache, dataset, 'a'), 'a');
    keepAgain(cache, dataset, 'd', 2_500);
    assert.equal(found(cache, dataset, 'abcd'), 'acd');
    keepAgain(cache, dataset, 'e', 20_000);
    assert.equal(found(cache, dataset, 'abcde'), 'acd');
  });

  it('stay when there is no room for all that take turns, except for a few; costly ones are kept', () => {
    let mayEvict = false;
    const cache = cacheOf(10_000, { mayEvict: () => mayEvict });
    const dataset = version();
    for (const tag of 'abcde') keepAgain(cache, dataset, tag, 2_500);
    assert.equal(found(cache, dataset, 'abcde'), 'abc');
    mayEvict = true;
    cache.slot(dataset, 'd').keep(small(2_500));
    assert.equal(found(cache, dataset, 'abcde'), 'bcd');
    mayEvict = false;
    cache.slot(dataset, 'e').keep(small(2_500), true);
    assert.equal(found(cache, dataset, 'abcde'), 'cde');
  });

  it('of which twice as many take turns as fit are found in a third of the requests or more', () => {
    const size = 2_000;
    const cache = new BodyCache({ memoryBytes: 100 * (size + 512), diskBytes: 0, plainBytes: 0 });
    const dataset = version();
    let hits = 0;
    for (let request = 0; request < 200 * 20; request++) {
      const slot = cache.slot(dataset, String(request % 200));
      if (slot.find() === undefined) slot.keep(small(size));
      else hits += 1;
    }
    assert.ok(hits > (200 * 20) / 3, String(hits));
  });

  it('are limited in number too, even if they are very small', () => {
    const cache = cacheOf(100_000);
    const dataset = version();
    const tags = Array.from({ length: 1_000 }, (_, at) => String(at));
    for (const tag of tags) keepAgain(cache, dataset, tag, 2);
    const kept = tags.filter((tag) => cache.slot(dataset, tag).find());
    assert.ok(kept.length > 100 && kept.length < 200, String(kept.length));
  });

  it('of the version that has most are removed first', () => {
    const cache = cacheOf(20_000);
    const [large, modest] = [version(), version()];
    keepAgain(cache, modest, 'a', 2_500);
    for (const tag of 'abcdefghi') keepAgain(cache, large, tag, 2_500);
    assert.equal(found(cache, modest, 'a'), 'a');
    assert.equal(found(cache, large, 'abcdefghi'), 'efghi');
  });

  it('belong to one version, and are removed with it permanently', () => {
    const cache = cacheOf(MB);
    const [dataset, another] = [version(), version()];
    keepAgain(cache, dataset, 'a', 1);
    keepAgain(cache, another, 'b', 1);
    assert.equal(found(cache, another, 'ab'), 'b');
    cache.forget(dataset);
    assert.equal(found(cache, dataset, 'a'), '');
    keepAgain(cache, dataset, 'a', 1);
    assert.equal(found(cache, dataset, 'a'), '');
    assert.equal(found(cache, another, 'b'), 'b');
  });

  it('retain no memory except their own', () => {
    const cache = cacheOf(MB);
    const dataset = version();
    const bytes = Buffer.alloc(100_000, 'x').subarray(0, 3);
    cache.slot(dataset, 'a').keep({ bytes, next: 'next' }, true);
    bytes.fill('y');
    const kept = cache.slot(dataset, 'a').find();
    assert.ok(kept !== undefined && !(kept instanceof Body));
    assert.equal(kept.bytes.buffer.byteLength, 3);
    assert.equal(kept.bytes.toString(), 'xxx');
    assert.equal(kept.next, 'next');
  });
});

describe('large bodies', () => {
  it('are kept at once if they are costly; plain ones from the second request on', async () => {
    const cache = cacheOf(0, { diskBytes: 100 * MB, plainBytes: 50 * MB });
    const dataset = version();
    assert.equal(await fill(cache, dataset, 'a', beginning(2 * MB)), true);
    const plain = beginning(2 * MB, { isPlain: true, isCostly: false, byteLength: 2 * MB });
    assert.equal(await fill(cache, dataset, 'b', plain), false);
    assert.equal(await fill(cache, dataset, 'b', plain), true);
    assert.equal(found(cache, dataset, 'ab'), 'ab');
    assert.equal(cache.diskBytes, 4 * MB);
    cache.forget(dataset);
    assert.equal(cache.diskBytes, 0);
  });

  it('never exceed their budget; plain ones leave room for others, and one that cannot fit takes nothing', async () => {
    const cache = cacheOf(0, { diskBytes: 20 * MB, plainBytes: 8 * MB });
    const dataset = version();
    const plain = (bytes: number) => beginning(bytes, { isPlain: true, byteLength: bytes });
    for (const tag of 'abcdef') {
      await fill(cache, dataset, tag, plain(3 * MB));
      assert.ok(cache.diskBytes <= 8 * MB);
    }
    assert.equal(found(cache, dataset, 'abcdef'), 'ef');
    assert.equal(await fill(cache, dataset, 'g', plain(9 * MB)), false);
    assert.equal(found(cache, dataset, 'ef'), 'ef');
    for (const tag of 'uvwxyz') {
      await fill(cache, dataset, tag, beginning(5 * MB));
      assert.ok(cache.diskBytes <= 20 * MB);
    }
    assert.equal(found(cache, dataset, 'efuvwxyz'), 'efyz');
    // It is sent nevertheless.
    assert.equal(await fill(cache, dataset, 'large', beginning(30 * MB)), true);
    assert.equal(cache.slot(dataset, 'large').find(), undefined);
    cache.forget(dataset);
    assert.equal(cache.diskBytes, 0);
  });

  it('stay until their readers have finished, even after their version is forgotten', async () => {
    const cache = cacheOf(0, { diskBytes: 10 * MB });
    const [dataset, another] = [version(), version()];
    const body = cache.slot(dataset, 'a').begin(beginning(6 * MB))!;
    await using reader = body.join();
    const chunks = reader.read();
    await chunks.next();
    assert.equal(await fill(cache, another, 'b', beginning(6 * MB)), true);
    assert.equal(found(cache, another, 'b'), '');
    cache.forget(dataset);
    assert.equal(found(cache, dataset, 'a'), '');
    let bytes = 0;
    for await (const chunk of chunks) bytes += chunk.length;
    assert.ok(bytes >= 5 * MB);
    await reader[Symbol.asyncDispose]();
    assert.equal(cache.diskBytes, 0);
  });

  it('are made once per tag, and found by the next request', async () => {
    const cache = cacheOf(0, { diskBytes: 10 * MB });
    const dataset = version();
    const slot = cache.slot(dataset, 'a');
    await using reader = slot.begin(beginning(2 * MB))!.join();
    assert.ok(slot.find() instanceof Body);
    assert.equal(slot.findReady(), slot.find());
    const whole = cache.slot(dataset, 'b');
    const account = { take: () => {}, giveBack: () => {} };
    await using other = whole.begin(beginning(2 * MB, { account }))!.join();
    assert.ok(whole.find() instanceof Body);
    assert.equal(whole.findReady(), undefined);
    await other.whole(new AbortController().signal);
    assert.equal(whole.findReady(), whole.find());
    for await (const _ of reader.read());
  });
});
