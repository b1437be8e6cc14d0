import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32, gunzipSync, zstdDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import { combineCrc32 } from '../../src/render/crc32.ts';
import { Joiner, pack, packText } from '../../src/render/packing.ts';

/** Noise, words, and runs: what begins with a run makes use of the distances that a frame of Zstandard begins with. */
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 5000 }),
  fc
    .array(fc.constantFrom('{"type":', '"pin"', 'visited', 'aaaaaaaa', 'abab'), { maxLength: 3000 })
    .map((words) => Buffer.from(words.join(''))),
  fc.nat({ max: 400_000 }).map((length) => new Uint8Array(length).fill(7)),
);
const UNPACK = { gzip: gunzipSync, zstd: zstdDecompressSync } as const;

test('the checksum of two texts in a row follows from those of each', () => {
  fc.assert(
    fc.property(bytes, bytes, (first, second) => {
      const whole = crc32(Buffer.concat([first, second]));
      assert.equal(combineCrc32(crc32(first), crc32(second), second.length), whole);
    }),
  );
});

test('the checksum of a text that follows four gigabytes of others is right', () => {
  // 2^32 zero bytes and more, by doubling: the checksum of a text twice as long, twelve times.
  const piece = new Uint8Array(1024 * 1024);
  let [crc, length] = [crc32(piece), piece.length];
  for (let doublings = 0; doublings < 12; doublings++) {
    crc = combineCrc32(crc, crc, length);
    length *= 2;
  }
  const byParts = Array.from({ length: 4096 }).reduce<number>(
    (sum) => combineCrc32(sum, crc32(piece), piece.length),
    0,
  );
  assert.equal(length, 2 ** 32);
  assert.equal(crc, byParts);
});

for (const packing of ['gzip', 'zstd'] as const) {
  test(`pieces of ${packing}, some of them empty or text, are one stream of all their bytes`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(bytes, { maxLength: 6 }), fc.string(), async (pieces, text) => {
        const joiner = new Joiner(packing);
        const parts = [joiner.begin()];
        for (const piece of pieces) {
          parts.push(joiner.add(await pack(piece, packing)), joiner.add(packText(text, packing)));
        }
        parts.push(joiner.end());
        const plain = Buffer.concat(pieces.flatMap((piece) => [piece, Buffer.from(text)]));
        assert.equal(joiner.plainBytes, plain.length);
        assert.ok(plain.equals(UNPACK[packing](Buffer.concat(parts))));
      }),
      { numRuns: 30 },
    );
  });

  test(`a piece of ${packing} is the same whenever it is made`, async () => {
    const plain = Buffer.from('the same again and again '.repeat(1000));
    assert.deepEqual(await pack(plain, packing), await pack(plain, packing));
  });
}

test('a piece that begins with a run of digits is small in every packing', async () => {
  // Such a run is a match at distance 1, which a frame of Zstandard has in its memory before it begins.
  const event = '{"owner":90000000001,"board":1,"title":"Week 000000"},';
  const plain = Buffer.from(event.repeat(20_000));
  for (const packing of ['gzip', 'zstd'] as const) {
    const { bytes } = await pack(plain, packing);
    assert.ok(bytes.length < plain.length / 50, `${packing}: ${bytes.length} of ${plain.length} bytes`);
  }
});
