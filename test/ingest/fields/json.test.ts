import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readObject } from '../../../src/ingest/fields/json.ts';
import { Damage, Refusal } from '../../../src/ingest/fields/refusal.ts';
import { readElements } from '../../../src/ingest/input/json-array.ts';
import type { Line } from '../../../src/ingest/input/lines.ts';

async function elementsOf(content: string, pieceBytes = 5): Promise<Line[]> {
  const bytes = Buffer.from(content);
  async function* stream() {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  }
  const elements: Line[] = [];
  for await (const some of readElements(stream())) elements.push(...some);
  return elements;
}

test('integers of any size keep every digit', () => {
  assert.deepEqual(
    readObject('{"a": 9223372036854775807, "b": {"c": -9007199254740993}, "d": 12, "e": -0}'),
    {
      a: 9_223_372_036_854_775_807n,
      b: { c: -9_007_199_254_740_993n },
      d: 12,
      e: -0,
    },
  );
});

test('an integer of millions of digits is converted only in part', () => {
  const { a } = readObject(`{"a": -${'9'.repeat(15_000_000)}}`);
  assert.equal(a, -BigInt('9'.repeat(999)));
});

test('a number with a fraction or an exponent is not an integer, whatever its value', () => {
  for (const number of ['1.0', '1e3', '-2.5', '1E0']) {
    assert.deepEqual(readObject(`{"a":${number}}`), { a: Number.NaN }, number);
  }
});

test('a text that is not a JSON object is refused', () => {
  for (const text of ['[1]', 'null', '"x"', '1', '{"a":1', 'x', '{"a":1} {}']) {
    assert.throws(() => readObject(text), Refusal, text);
  }
});

/** JSON texts whose spelling could be mistaken for the end of a string or a name. */
const tricky = fc.oneof(
  fc.string(),
  fc.constantFrom('":', '\\"', '\\\\":', ':', '": "', '{"a":1,"a":2}', '__proto__'),
);
/**
 * After an object with the name `\"`, V8 in Node.js 24 reads the name `":` as that one, so that
 * `JSON.parse` gives different results for the same text.
 */
const name = tricky.filter((text) => text !== '\\"');
const trickyObject = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, tricky, fc.integer(), fc.array(tie('value')), tie('object')),
  object: fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }),
})).object;

test('any object with distinct member names is read, in a short text and in a long one', () => {
  fc.assert(
    fc.property(trickyObject, fc.nat(2), fc.boolean(), (object, indent, isLong) => {
      const text = JSON.stringify(
        isLong ? { ...object, pad: '":'.repeat(40_000) } : object,
        undefined,
        indent,
      );
      assert.deepEqual(readObject(text), JSON.parse(text));
    }),
  );
});

test('an object that repeats a member is refused, however the name is spelled and wherever it occurs', () => {
  const pad = '":'.repeat(40_000);
  for (const [text, name] of [
    ['{"id":3,"id":4}', 'id'],
    ['{"id":3,"id":3}', 'id'],
    ['{ "id" : 3 ,\n"\\u0069d"\t: 4}', 'id'],
    ['{"a":[{"b":{"c":1,"d":"c","c":2}}]}', 'c'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['{"":1,"":2}', ''],
    ['{"x":"\\":","y":1,"y":2.5}', 'y'],
    [`{"z":1,"pad":${JSON.stringify(pad)},"z":2}`, 'z'],
  ] as const) {
    assert.throws(() => readObject(text), new Refusal(name, 'is given twice'), text.slice(0, 80));
  }
});

test('an object may nest 64 levels deep; a deeper one is refused before it is parsed', () => {
  const nested = (levels: number, pad = '') =>
    `{"pad":"${pad}","a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
  for (const pad of ['', '"['.replaceAll('"', '\\"').repeat(40_000)]) {
    assert.ok(readObject(nested(64, pad)));
    for (const levels of [65, 6000, 60_000]) {
      const refusal = new Refusal('', 'is nested more than 64 levels deep');
      assert.throws(() => readObject(nested(levels, pad)), refusal);
      assert.throws(() => readObject(nested(levels, pad).replace('{', '{"n":0.5,')), refusal);
    }
  }
  assert.throws(() => readObject('['.repeat(16_000_000)), Refusal);
});

test('the elements of an array are found with their lines, in chunks of any size', async () => {
  const content = '\ufeff[\n {"a": "],\\"{"},\n\n 1 , "x,y"\n, [2, [3]]]\n';
  for (let pieceBytes = 1; pieceBytes < content.length; pieceBytes += 1) {
    assert.deepEqual(await elementsOf(content, pieceBytes), [
      { line: 2, text: '{"a": "],\\"{"}' },
      { line: 4, index: 2, text: '1' },
      { line: 4, index: 3, text: '"x,y"' },
      { line: 5, text: '[2, [3]]' },
    ]);
  }
});

test('any array of JSON values is read as it was written', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.jsonValue()),
      fc.integer({ min: 1, max: 30 }),
      async (values, pieceBytes) => {
        const elements = await elementsOf(JSON.stringify(values, undefined, pieceBytes % 3), pieceBytes);
        const read: unknown = JSON.parse(`[${elements.map(({ text }) => text).join()}]`);
        assert.deepEqual(read, JSON.parse(JSON.stringify(values)));
        assert.equal(elements.length, values.length);
      },
    ),
    { numRuns: 200 },
  );
});

test('a missing element is refused at its place', async () => {
  for (const [content, count] of [
    ['[1,]', 2],
    ['[,1]', 2],
    ['[]', 0],
    ['[ ]', 0],
  ] as const) {
    const elements = await elementsOf(content);
    assert.equal(elements.length, count, content);
    assert.equal(
      elements.filter(({ problem }) => problem !== undefined).length,
      count === 0 ? 0 : 1,
      content,
    );
  }
});

test('a file that is not one closed array is damaged', async () => {
  for (const content of ['', '{"a":1}', '[1', '["x]', '[1] 2', '[1][2]', '  ']) {
    await assert.rejects(elementsOf(content), Damage, content);
  }
});
