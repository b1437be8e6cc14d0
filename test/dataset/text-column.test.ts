/** Columns of texts keep their values when they are joined or sent to a different thread. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { endsBehind, TextColumn } from '../../src/dataset/text-column.ts';

const texts = fc.array(fc.string({ unit: 'binary', maxLength: 20 }), { maxLength: 12 });

test('texts of joined columns are read back, with their sizes in UTF-8', async () => {
  const property = fc.asyncProperty(
    fc.array(texts, { maxLength: 4 }),
    fc.boolean(),
    async (parts, isJson) => {
      const joined = await TextColumn.join(
        parts.map((part) => TextColumn.of(part, isJson)),
        isJson,
      );
      const sent = new TextColumn(structuredClone(joined.parts));
      const expected = parts.flat().map((text) => text.toWellFormed());
      for (const column of [joined, sent]) {
        assert.equal(column.count, expected.length);
        assert.equal(column.isJson, isJson);
        for (const [index, text] of expected.entries()) {
          assert.equal(column.at(index), text);
          assert.equal(column.size(index), Buffer.byteLength(text));
        }
      }
    },
  );
  await fc.assert(property, { numRuns: 200 });
});

test('texts are added behind others, which stay as they are', async () => {
  const property = fc.asyncProperty(texts, texts, texts, fc.boolean(), async (first, next, other, isJson) => {
    const column = await TextColumn.join([TextColumn.of(first, isJson)], isJson);
    const longer = await column.append(TextColumn.of(next));
    // A different version may add different texts.
    const branch = await column.append(TextColumn.of(other));
    const read = (of: TextColumn) => Array.from({ length: of.count }, (_, index) => of.at(index));
    const expected = (...parts: string[][]) => parts.flat().map((text) => text.toWellFormed());
    assert.deepEqual(read(column), expected(first));
    assert.deepEqual(read(longer), expected(first, next));
    assert.deepEqual(read(branch), expected(first, other));
    assert.equal(longer.isJson, isJson);
  });
  await fc.assert(property, { numRuns: 200 });
});

test('texts are added in the same memory while it has room', async () => {
  const many = Array.from({ length: 50_000 }, (_, index) => `text ${index}`);
  const column = await (await TextColumn.join([TextColumn.of(many)], false)).append(TextColumn.of(['one']));
  const longer = await column.append(TextColumn.of(['two', 'three']));
  assert.equal(longer.parts.bytes.buffer, column.parts.bytes.buffer);
  assert.equal(longer.parts.offsets.buffer, column.parts.offsets.buffer);
  assert.deepEqual(
    [49_999, 50_000, 50_001, 50_002].map((index) => longer.at(index)),
    ['text 49999', 'one', 'two', 'three'],
  );
});

test('joined columns are in memory that threads share', async () => {
  const { bytes, offsets } = (await TextColumn.join([TextColumn.of(['a']), TextColumn.of(['b'])], false))
    .parts;
  for (const { buffer } of [bytes, offsets]) assert.ok(buffer instanceof SharedArrayBuffer);
});

test('a column made in slices has each text at its index', async () => {
  const column = await TextColumn.make(1_000, 64, (index) => `text ${index}`);
  assert.equal(column.count, 1_000);
  for (let index = 0; index < 1_000; index++) assert.equal(column.at(index), `text ${index}`);
});

test('offsets behind more than four gigabytes are exact', async () => {
  const added = await TextColumn.join([TextColumn.of(['a']), TextColumn.of(['bc'])], false);
  assert.ok(added.parts.offsets instanceof Uint32Array);
  assert.deepEqual([...endsBehind(added, 2 ** 32)], [2 ** 32 + 1, 2 ** 32 + 3]);
});
