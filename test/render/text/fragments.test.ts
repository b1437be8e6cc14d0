import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Chunk } from '../../../src/render/text/chunk.ts';
import { type Fragments, fragmentsOf, type Halves } from '../../../src/render/text/fragments.ts';

type Append = 'append' | 'appendHead' | 'appendTail';

function copied(fragments: Fragments, index: number, append: Append): string {
  const chunk = new Chunk(fragments.size(index));
  chunk[append](fragments, index);
  return Buffer.from(chunk.take()).toString();
}

function assertKept(texts: readonly Halves[]): void {
  const fragments = fragmentsOf(texts);
  for (const [index, [head, tail = '']] of texts.entries()) {
    assert.equal(fragments.size(index), Buffer.byteLength(head + tail));
    assert.equal(fragments.headSize(index), Buffer.byteLength(head));
    assert.equal(fragments.tailSize(index), Buffer.byteLength(tail));
    assert.equal(fragments.head(index), head);
    assert.ok(copied(fragments, index, 'append') === head + tail, `fragment ${index}`);
    assert.ok(copied(fragments, index, 'appendHead') === head, `head of fragment ${index}`);
    assert.ok(copied(fragments, index, 'appendTail') === tail, `tail of fragment ${index}`);
  }
}

test('fragments of every length up to a kilobyte are stored and copied byte for byte', () => {
  const letters = 'abcdefghijklmnopqrstuvwxyzéß漢😀'.repeat(40);
  assertKept(
    Array.from({ length: 1100 }, (_, length): Halves => [letters.slice(0, length).toWellFormed(), '!']),
  );
});

test('fragments that fill several blocks, and one larger than a block, are stored', () => {
  const million = 1_000_000;
  assertKept([
    ['small'],
    ['a'.repeat(4 * million), 'b'],
    ['c', 'ü'.repeat(3 * million)],
    ['d'.repeat(18 * million), 'end'],
    ['', ''],
    ['last', 'one'],
  ]);
});

test('fragments written one after the other do not overwrite each other', () => {
  const texts = Array.from({ length: 200 }, (_, length): Halves => ['x'.repeat(length % 23), `${length};`]);
  const fragments = fragmentsOf(texts);
  const chunk = new Chunk(10_000);
  for (const index of texts.keys()) chunk.append(fragments, index);
  assert.equal(Buffer.from(chunk.take()).toString(), texts.map((halves) => halves.join('')).join(''));
});
