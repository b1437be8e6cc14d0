/** The contract of every place for chunks; one suite, run over each of them. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { ChunkPlace } from '../../src/store/chunks/chunk-place.ts';

const CHUNK_BYTES = 256 * 1024;
const REFUSED_NAMES = [
  ...['', 'a', 'a/', '/a', 'a/b/c', '../a', 'a/..', 'a/.', './a', '/etc/passwd', 'a\\b', 'a/b\n', 'a/b\0'],
  ...['A/b', 'a/B', 'a/b.c', 'a/b c', 'ä/b', 'a/%2e', `${'a'.repeat(65)}/b`, `a/${'b'.repeat(97)}`],
];

/**
 * `open` returns an empty place, and can be called again for the same place; `many` names exceed
 * one batch, even with one name fewer.
 */
export function describeChunkPlace(name: string, open: () => Promise<ChunkPlace>, many = 2_345): void {
  describe(`a place for chunks, ${name}`, () => {
    let place: ChunkPlace;
    before(async () => {
      place = await open();
    });
    after(() => place.close());

    it('returns the stored bytes, to every process that opens it', async () => {
      const chunks = [Buffer.alloc(0), Buffer.from([0, 255, 13, 10]), randomBytes(CHUNK_BYTES)];
      for (const bytes of chunks) await place.put(nameOf('kept', bytes), bytes);
      const other = await open();
      for (const bytes of chunks) {
        assert.deepEqual(bytesOf(await place.get(nameOf('kept', bytes))), bytes);
        assert.deepEqual(bytesOf(await other.get(nameOf('kept', bytes))), bytes);
      }
      await other.close();
    });

    it('stores the bytes of a view, not those around it', async () => {
      const around = randomBytes(1000);
      const view = new Uint8Array(around.buffer, around.byteOffset + 100, 200);
      await place.put('view/one', view);
      assert.deepEqual(bytesOf(await place.get('view/one')), around.subarray(100, 300));
    });

    it('accepts a chunk twice', async () => {
      const bytes = randomBytes(100);
      await place.put('twice/one', bytes);
      await place.put('twice/one', bytes);
      assert.deepEqual(bytesOf(await place.get('twice/one')), bytes);
      assert.deepEqual(await listed(place, 'twice/'), ['twice/one']);
    });

    it('returns nothing for a name that was never stored', async () => {
      await place.put('known/one', randomBytes(1));
      assert.equal(await place.get('known/two'), undefined);
      assert.equal(await place.get('unknown/one'), undefined);
      assert.deepEqual(await listed(place, 'unknown/'), []);
      await place.delete(['known/two', 'unknown/one']);
      await place.delete([]);
    });

    it('lists the names that begin with a prefix, and no others', async () => {
      const names = ['a/one', 'a/one-more', 'a/two', 'a-b/one', 'ab/one'];
      for (const stored of names) await place.put(stored, randomBytes(1));
      assert.deepEqual(await listed(place, 'a/'), ['a/one', 'a/one-more', 'a/two']);
      assert.deepEqual(await listed(place, 'a/one'), ['a/one', 'a/one-more']);
      assert.deepEqual(await listed(place, 'a/two-'), []);
      assert.deepEqual(await listed(place, 'ab/'), ['ab/one']);
      assert.deepEqual(await listed(place, 'ab'), ['ab/one']);
      assert.deepEqual(await listed(place, 'a'), [...names].sort());
      const all = await listed(place, '');
      assert.ok(names.every((stored) => all.includes(stored)));
    });

    it('deletes the given names, and nothing else', async () => {
      const names = ['gone/one', 'gone/two', 'gone/three'];
      for (const stored of names) await place.put(stored, randomBytes(10));
      await place.delete(['gone/one', 'gone/missing', 'gone/three']);
      assert.equal(await place.get('gone/one'), undefined);
      assert.equal((await place.get('gone/two'))?.length, 10);
      assert.deepEqual(await listed(place, 'gone/'), ['gone/two']);
      await place.put('gone/one', Buffer.from('again'));
      assert.deepEqual(bytesOf(await place.get('gone/one')), Buffer.from('again'));
    });

    it('lists and deletes more names than fit a batch', async () => {
      const names = Array.from({ length: many }, (_, index) => `many/${String(index).padStart(5, '0')}`);
      await Promise.all(names.map((stored) => place.put(stored, Buffer.from(stored))));
      await place.put('many-more/one', randomBytes(1));
      let batches = 0;
      const found: string[] = [];
      for await (const batch of place.list('many/')) {
        batches++;
        found.push(...batch);
      }
      assert.ok(batches > 1, 'batches are bounded');
      assert.deepEqual(found.sort(), names);
      await place.delete(names.slice(1));
      assert.deepEqual(await listed(place, 'many/'), names.slice(0, 1));
      assert.deepEqual(await listed(place, 'many-more/'), ['many-more/one']);
    });

    it('ends a listing early when the reader does', async () => {
      await place.put('early/one', randomBytes(1));
      for await (const batch of place.list('early/')) {
        assert.deepEqual(batch, ['early/one']);
        break;
      }
    });

    it('serves many calls at once', async () => {
      const chunks = Array.from({ length: 64 }, () => randomBytes(10_000));
      const same = randomBytes(10_000);
      await Promise.all([
        ...chunks.map((bytes) => place.put(nameOf('crowd', bytes), bytes)),
        ...chunks.slice(0, 4).map(() => place.put('crowd/same', same)),
      ]);
      const got = await Promise.all(chunks.map((bytes) => place.get(nameOf('crowd', bytes))));
      for (const [index, bytes] of got.entries()) assert.deepEqual(bytesOf(bytes), chunks[index]);
      assert.deepEqual(bytesOf(await place.get('crowd/same')), same);
    });

    for (const wrong of REFUSED_NAMES) {
      it(`refuses the name ${JSON.stringify(wrong).slice(0, 20)}`, async () => {
        await assert.rejects(place.put(wrong, randomBytes(1)), TypeError);
        await assert.rejects(place.get(wrong), TypeError);
        await assert.rejects(place.delete(['known/one', wrong]), TypeError);
        assert.notEqual(await place.get('known/one'), undefined, 'nothing was deleted');
      });
    }

    for (const wrong of ['../', 'a/../', '/', 'a/b/', '.', 'A'])
      it(`refuses to list ${wrong}`, () => assert.rejects(listed(place, wrong), TypeError));
  });
}

/** All names that begin with `prefix`, sorted. */
export async function listed(place: ChunkPlace, prefix: string): Promise<string[]> {
  const names: string[] = [];
  for await (const batch of place.list(prefix)) names.push(...batch);
  return names.sort();
}

/** Converts to one class, so that a comparison shows the difference of the bytes only. */
function bytesOf(bytes: Uint8Array | undefined): Buffer | undefined {
  return bytes && Buffer.from(bytes);
}

function nameOf(organization: string, bytes: Uint8Array): string {
  return `${organization}/${createHash('sha256').update(bytes).digest('hex')}`;
}
