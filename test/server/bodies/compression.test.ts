/** Compressed streams decompress to the plain bytes, independent of the sizes of the chunks. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import { RenderThread } from '../../../src/render/thread/render-thread.ts';
import { compress } from '../../../src/server/bodies/compression.ts';

const thread = new RenderThread();
after(() => thread.close());

const DECOMPRESS = { gzip: gunzipSync, zstd: zstdDecompressSync } as const;

/** Noise, words, and repetitions, some of them longer than a block. */
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 5000 }),
  fc
    .array(fc.constantFrom('{"type":', '"pin"', 'visited', 'aaaaaaaa', 'abab'), { maxLength: 3000 })
    .map((words) => Buffer.from(words.join(''))),
  fc.nat({ max: 3_000_000 }).map((length) => new Uint8Array(length).fill(7)),
  fc.nat({ max: 200 }).map((length) => Buffer.alloc(20_000 * length, 'many words, again and again; ')),
);

async function whole(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const read: Buffer[] = [];
  let before: { chunk: Uint8Array; copy: Buffer } | undefined;
  for await (const chunk of chunks) {
    if (before !== undefined) assert.ok(before.copy.equals(before.chunk));
    before = { chunk, copy: Buffer.from(chunk) };
    read.push(before.copy);
  }
  return Buffer.concat(read);
}

for (const compression of ['gzip', 'zstd'] as const) {
  describe(compression, () => {
    it('contains all bytes of a source, and is the same each time', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(bytes, { maxLength: 6 }), async (chunks) => {
          const plain = Buffer.concat(chunks);
          const compressed = await whole(compress(chunks, compression, thread));
          assert.ok(plain.equals(DECOMPRESS[compression](compressed)));
          assert.ok(compressed.equals(await whole(compress(chunks, compression, thread))));
        }),
        { numRuns: 30 },
      );
    });

    it('contains all bytes if it is short or long in comparison with them', async () => {
      // Node gives short results in memory that it shares among them.
      const most = 4000;
      for (const period of [1, 10, 50, 100, 200, 400, 1000, most]) {
        const noise = crypto.getRandomValues(new Uint8Array(most));
        const plain = Buffer.alloc(3_000_000);
        for (let at = 0; at < plain.length; at += most)
          plain.set(
            noise.map((byte, i) => (i % most < period ? byte ^ (at / most) : i)),
            at,
          );
        const compressed = await whole(compress([plain], compression, thread));
        assert.ok(plain.equals(DECOMPRESS[compression](compressed)), `${period}`);
      }
    });

    it('ends its source when it is abandoned, and fails if the source fails', async () => {
      let open = 0;
      async function* source(failsAfter: number): AsyncGenerator<Uint8Array, void> {
        open += 1;
        try {
          for (let turn = 0; turn < 20; turn++) {
            if (turn === failsAfter) throw new Error('the source has failed');
            yield crypto.getRandomValues(new Uint8Array(60_000));
          }
        } finally {
          open -= 1;
        }
      }
      for await (const _ of compress(source(100), compression, thread)) break;
      assert.equal(open, 0);
      const chunks = compress(source(100), compression, thread);
      for (let turn = 0; turn < 2; turn++) await chunks.next();
      await chunks.return();
      assert.equal(open, 0);
      for (const failsAfter of [0, 1, 19]) {
        await assert.rejects(
          whole(compress(source(failsAfter), compression, thread)),
          /the source has failed/,
        );
        assert.equal(open, 0);
      }
    });
  });
}
