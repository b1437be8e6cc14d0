/** Columns of texts keep their values when they are joined or sent to a different thread. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { TextColumn } from '../../src/dataset/text-column.ts';

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
