/** Division of a version into chunks, and the list of them. */
import assert from 'node:assert/strict';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { digestsOf, digestsWithout } from '../../src/store/chunks/chunk-digests.ts';
import { CHUNK_NAME } from '../../src/store/chunks/chunk-place.ts';
import {
  CHUNK_BYTES,
  chunkCount,
  chunkName,
  chunkSpan,
  decodeManifest,
  digestOf,
  encodeManifest,
  readChunk,
} from '../../src/store/chunks/manifest.ts';
import { temporaryFolder } from '../cli/command.ts';
import { runs } from '../model/runs.ts';

/** The header that DuckDB writes before its blocks. */
const HEADER_BYTES = 12 * 1024;

/** Sizes around the header and around whole blocks behind it, and others. */
const sizeArbitrary = fc.oneof(
  fc.integer({ min: 0, max: 3 * CHUNK_BYTES }),
  fc
    .record({ blocks: fc.integer({ min: 0, max: 5 }), more: fc.integer({ min: -2, max: 2 }) })
    .map(({ blocks, more }) => HEADER_BYTES + blocks * CHUNK_BYTES + more),
  fc
    .record({ blocks: fc.integer({ min: 1, max: 5 }), more: fc.integer({ min: -2, max: 2 }) })
    .map(({ blocks, more }) => blocks * CHUNK_BYTES + more),
);
/** Up to eight TiB, which no test writes. */
const anySizeArbitrary = fc.oneof(sizeArbitrary, fc.integer({ min: 0, max: 2 ** 43 }));
const epochArbitrary = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
const digestArbitrary = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString('hex'));

const folder = temporaryFolder();

describe('the chunks of a file', () => {
  it('cover it exactly once, in order, starting with its header', () => {
    fc.assert(
      fc.property(sizeArbitrary, (bytes) => {
        let end = 0;
        for (let index = 0; index < chunkCount(bytes); index += 1) {
          const { start, length } = chunkSpan(index, bytes);
          assert.equal(start, end);
          assert.ok(length <= CHUNK_BYTES && (length > 0 || bytes === 0));
          end = start + length;
        }
        assert.equal(end, bytes);
        assert.equal(chunkSpan(0, bytes).length, Math.min(bytes, HEADER_BYTES));
      }),
      { numRuns: 500 },
    );
  });

  it('are divided at the blocks of DuckDB, however large the file is', () => {
    fc.assert(
      fc.property(anySizeArbitrary, fc.double({ min: 0, max: 1, noNaN: true }), (bytes, part) => {
        const count = chunkCount(bytes);
        const index = Math.floor(part * (count - 1));
        const { start, length } = chunkSpan(index, bytes);
        assert.equal(index === 0 ? start : (start - HEADER_BYTES) % CHUNK_BYTES, 0);
        const last = chunkSpan(count - 1, bytes);
        assert.equal(last.start + last.length, bytes);
        if (index > 0 && index < count - 1) assert.equal(length, CHUNK_BYTES);
      }),
      { numRuns: 500 },
    );
  });

  it('are read back as they were written, and their digests match their bytes', async () => {
    const path = join(folder, 'version');
    const property = fc.asyncProperty(sizeArbitrary, fc.integer(), async (size, seed) => {
      const bytes = noise(size, seed);
      await writeFile(path, bytes);
      const { bytes: told, digests } = await digestsOf(path);
      assert.deepEqual([told, digests.length], [size, chunkCount(size)]);
      const file = await open(path);
      try {
        const chunks: Buffer[] = [];
        for (const [index, digest] of digests.entries()) {
          const chunk = await readChunk(file, index, size);
          assert.equal(digestOf(chunk), digest);
          chunks.push(chunk);
        }
        assert.ok(Buffer.concat(chunks).equals(bytes));
      } finally {
        await file.close();
      }
    });
    await fc.assert(property, { ...runs(40) });
  });

  it('have the same digests if only those are read to which something was written', async () => {
    const [path, other] = [join(folder, 'next'), join(folder, 'before')];
    const parts = fc.array(
      fc.record({
        start: fc.oneof(
          fc.nat(6 * CHUNK_BYTES),
          fc.nat(6).map((at) => HEADER_BYTES + at * CHUNK_BYTES),
        ),
        length: fc.oneof(fc.constantFrom(0, 1, CHUNK_BYTES), fc.nat(2 * CHUNK_BYTES)),
      }),
      { maxLength: 4 },
    );
    const property = fc.asyncProperty(sizeArbitrary, sizeArbitrary, parts, async (size, before, bodies) => {
      const copied = noise(before, 1);
      await writeFile(other, copied);
      const written = [{ start: 0, length: 8 }, ...bodies.filter(({ start }) => start >= HEADER_BYTES)];
      // What was appended, or cut off and appended again, was written.
      if (size > before) written.push({ start: Math.max(before, HEADER_BYTES), length: size - before });
      const bytes = noise(size, 1);
      bytes.set(copied.subarray(0, size));
      for (const { start, length } of written)
        for (let at = start; at < start + length && at < size; at += 1) bytes[at] = bytes[at]! ^ 1;
      await writeFile(path, bytes);
      const known = digestsWithout(await digestsOf(other), written);
      assert.deepEqual(await digestsOf(path, { known }), await digestsOf(path));
    });
    await fc.assert(property, { ...runs(40) });
  });

  it('keep the digest with which a chunk was published, whatever the disk has made of it', async () => {
    const path = join(folder, 'damaged');
    const bytes = noise(3 * CHUNK_BYTES, 1);
    await writeFile(path, bytes);
    const published = await digestsOf(path);
    bytes[CHUNK_BYTES] = bytes[CHUNK_BYTES]! ^ 1;
    await writeFile(path, bytes);
    const known = digestsWithout(published, [{ start: 0, length: 8 }]);
    assert.deepEqual((await digestsOf(path, { known })).digests, published.digests);
    assert.notDeepEqual((await digestsOf(path)).digests, published.digests);
  });

  it('are all read if the writes are not known for certain', async () => {
    const path = join(folder, 'uncertain');
    await writeFile(path, noise(3 * CHUNK_BYTES, 1));
    const digests = await digestsOf(path);
    const header = { start: 4096, length: 4096 };
    assert.equal(digestsWithout(digests, [header]).size, 2);
    for (const written of [undefined, [], [header, header]]) {
      assert.equal(digestsWithout(digests, written).size, 0);
    }
  });

  it('are not read from a file that has been truncated', async () => {
    const path = join(folder, 'short');
    await writeFile(path, noise(CHUNK_BYTES, 1));
    const file = await open(path);
    await assert.rejects(readChunk(file, 1, HEADER_BYTES + CHUNK_BYTES), /shorter/);
    await file.close();
  });
});

describe('a manifest', () => {
  const manifestArbitrary = fc
    .record({ bytes: sizeArbitrary, chunks: fc.array(fc.tuple(epochArbitrary, digestArbitrary)) })
    .filter(({ chunks }) => chunks.length > 0)
    .map(({ bytes, chunks }) => ({
      bytes,
      chunks: Array.from({ length: chunkCount(bytes) }, (_, index) => {
        const [epoch, digest] = chunks[index % chunks.length]!;
        return { epoch, digest };
      }),
    }));

  it('is decoded as it was encoded, also from the middle of a larger buffer', () => {
    fc.assert(
      fc.property(manifestArbitrary, fc.integer({ min: 0, max: 20 }), (manifest, before) => {
        const encoded = encodeManifest(manifest);
        assert.deepEqual(decodeManifest(encoded), manifest);
        const larger = Buffer.concat([Buffer.alloc(before), encoded, Buffer.alloc(7)]);
        assert.deepEqual(
          decodeManifest(new Uint8Array(larger).subarray(before, before + encoded.length)),
          manifest,
        );
      }),
    );
  });

  it('is refused if it is truncated', () => {
    fc.assert(
      fc.property(manifestArbitrary, fc.integer({ min: 1, max: 40 }), (manifest, missing) => {
        const encoded = encodeManifest(manifest);
        assert.throws(() => decodeManifest(encoded.subarray(0, encoded.length - missing)));
      }),
    );
  });

  it('names chunks in a form that every place accepts', () => {
    const organization = '0e0f6c0a-32d4-4a7e-9d0b-6a1c3d6c8f55';
    fc.assert(
      fc.property(epochArbitrary, digestArbitrary, (epoch, digest) => {
        assert.match(chunkName(organization, { epoch, digest }), CHUNK_NAME);
      }),
    );
  });
});

/** The same bytes for the same seed, without repetition. */
function noise(size: number, seed: number): Buffer {
  const bytes = Buffer.alloc(size);
  let state = seed | 1;
  for (let at = 0; at < size; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}
