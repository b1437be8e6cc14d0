/** Responses that are one JSON value: the bytes of `JSON.stringify`, with escapes, in chunks. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { jsonAnswer } from '../../../src/render/text/json-body.ts';
import { escaped } from '../../model/json.ts';
import { withTimeRunning } from '../../running-time.ts';

const FIGURES = 200_000;
const LARGEST_CHUNK = 80 * 1024;

async function chunksOf(value: unknown): Promise<Buffer[]> {
  const answer = await jsonAnswer(value);
  const chunks: Buffer[] = [];
  for await (const chunk of answer.chunks()) chunks.push(Buffer.from(chunk));
  assert.equal(Buffer.concat(chunks).length, answer.byteLength);
  return chunks;
}

async function textOf(value: unknown): Promise<string> {
  return Buffer.concat(await chunksOf(value)).toString();
}

describe('a JSON response', () => {
  it('has the bytes of JSON.stringify', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        assert.equal(await textOf(value), escaped(JSON.stringify(value)));
      }),
    );
    const named = { a: undefined, b: { c: [undefined, {}, []], d: 'é"\ud83d' }, e: null };
    assert.equal(await textOf(named), JSON.stringify(named));
  });

  it('has all digits of large ids, and the elements of typed arrays and iterables', async () => {
    const id = 2n ** 63n - 1n;
    assert.equal(await textOf({ id, of: { id } }), `{"id":${id},"of":{"id":${id}}}`);
    const numbers = Array.from({ length: 1_000 }, (_, at) => at);
    const lazily = { typed: Int32Array.from(numbers), made: numbers.values(), none: new Int32Array() };
    assert.equal(await textOf(lazily), JSON.stringify({ typed: numbers, made: numbers, none: [] }));
  });

  it('has chunks of bounded size, and is written in slices of time', async () => {
    const figures = new Int32Array(FIGURES).fill(123_456);
    const lines = Array.from({ length: 5_000 }, (_, line) => ({ line, text: 'x'.repeat(100) }));
    const { result: chunks, turns } = await withTimeRunning(() => chunksOf({ figures, lines }));
    const longest = Math.max(...chunks.map(({ length }) => length));
    assert.ok(longest <= LARGEST_CHUNK, `a chunk has ${longest} bytes`);
    assert.ok(chunks.length >= (7 * FIGURES + 100 * lines.length) / LARGEST_CHUNK);
    // The writer checks the clock every few thousand numbers, and every few dozen lines.
    assert.ok(turns >= FIGURES / 20_000 + lines.length / 100, `${turns} turns`);
  });
});
