import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import wabt from 'wabt';
import { FULL_SCOPE } from '../../../src/domain/scope.ts';
import { EVENT_FORMS } from '../../../src/render/fragments/event-form.ts';
import { makeEventParts } from '../../../src/render/fragments/event-writer.ts';
import { Chunk } from '../../../src/render/text/chunk.ts';
import { FragmentMemory } from '../../../src/render/text/fragment-memory.ts';
import {
  fragmentsOf,
  type Halves,
  PLACE_LENGTH,
  renderFragments,
} from '../../../src/render/text/fragments.ts';
import {
  GATHER_MODULE,
  GATHERED,
  LIST,
  openGather,
  openSharedMemory,
  PAGE_BYTES,
} from '../../../src/render/text/gather.ts';
import { listFrame } from '../../../src/render/text/representations.ts';
import { TIMESTAMP_BYTES } from '../../../src/render/text/timestamp.ts';
import { PlainDataset } from '../plain-dataset.ts';
import { worldOf } from '../worlds.ts';

const SOURCE = new URL('../../../src/render/text/gather.wat', import.meta.url);
const FEATURES = { simd: true, threads: true, multi_memory: true };

test('the module equals the compiled form of its source text', async () => {
  const { parseWat } = await wabt();
  const { buffer } = parseWat('gather.wat', readFileSync(SOURCE, 'utf8'), FEATURES).toBinary({});
  assert.equal(GATHER_MODULE, Buffer.from(buffer).toString('base64'));
});

test('fragments of every length, including empty ones, are gathered byte for byte', () => {
  const memory = new FragmentMemory(openSharedMemory());
  const letters = 'abcdefghijklmnopqrstuvwxyz0123456789'.repeat(12);
  const texts = Array.from({ length: 400 }, (_, at): Halves => [letters.slice(at % 36, (at % 36) + at)]);
  const { places, ...fragments } = fragmentsOf(texts, memory).share();
  assert.equal(fragments.isGathered, true);
  for (const [at] of texts.entries()) {
    LIST[2 * at] = places[at * PLACE_LENGTH + 1]!;
    LIST[2 * at + 1] = texts[at]![0].length;
  }
  openGather(memory.memory)(texts.length);
  const expected = texts.map(([text]) => text).join('');
  assert.equal(GATHERED.toString('latin1', 0, expected.length), expected);
});

async function* failingSource() {
  yield { id: BigInt64Array.of(1n) };
  throw new Error('gone');
}

/** Renders events over fragments in `memory`, or over separate fragments without it. */
async function renderedOver(memory: FragmentMemory | undefined) {
  const world = worldOf(40, 20_000);
  const form = EVENT_FORMS.json;
  const dataset = new PlainDataset(world, world.events.length);
  const fragments = {
    people: await renderFragments(dataset.records('users'), form.user, memory),
    boards: await renderFragments(dataset.records('boards'), form.board, memory),
    pins: await renderFragments(dataset.records('pins'), form.pin, memory),
  };
  const parts = makeEventParts(form, dataset, fragments, memory);
  const chunk = new Chunk(4_000_000);
  for await (const batch of dataset.events({ scope: FULL_SCOPE, range: {} })) {
    const run = parts.run(batch);
    const written = run.writeMany?.(0, true, listFrame('ndjson', ''), chunk) ?? 0;
    for (let row = written; row < run.count; row++) {
      run.write(row, chunk);
      chunk.appendAscii('\n');
    }
  }
  return { text: Buffer.from(chunk.take()).toString(), isGathered: parts.shared.memory !== undefined };
}

describe('the fragment memory', () => {
  test('allocates no byte twice', () => {
    const memory = new FragmentMemory(openSharedMemory());
    const taken = [10, 100_000, 1, 5_000_000].map((bytes) => ({
      bytes,
      start: memory.take(bytes) ?? Number.NaN,
    }));
    for (const [at, { start }] of taken.entries()) {
      assert.ok(
        start >= taken.slice(0, at).reduce((end, before) => Math.max(end, before.start + before.bytes), 0),
      );
    }
  });

  test('has space after the last fragment for the longest timestamp, and for bytes copied beyond it', () => {
    const memory = new FragmentMemory(openSharedMemory());
    const bytes = PAGE_BYTES - 40;
    assert.equal(memory.take(bytes), 0);
    const { afterEach, beforeOthers } = listFrame('event-stream', '');
    const longest = TIMESTAMP_BYTES + EVENT_FORMS.json.end.length + afterEach.length + beforeOthers.length;
    assert.ok(memory.memory.buffer.byteLength >= bytes + longest + 32);
  });

  test('reuses the space of fragments that failed', async () => {
    const memory = new FragmentMemory(openSharedMemory(8));
    for (let attempt = 0; attempt < 20; attempt++) {
      const failing = renderFragments(failingSource(), (): Halves => ['x'.repeat(100_000)], memory);
      await assert.rejects(failing, /gone/);
    }
    assert.equal(fragmentsOf([['whole']], memory).share().isGathered, true);
  });

  test('is not used for fragments that do not fit, and they are not marked as gathered', () => {
    const memory = new FragmentMemory(openSharedMemory(4));
    const texts = Array.from({ length: 3_000 }, (_, at): Halves => [`${at} `.repeat(30), `tail ${at}`]);
    const fragments = fragmentsOf(texts, memory);
    assert.equal(fragments.share().isGathered, false);
    for (const [at, [head, tail = '']] of texts.entries()) {
      assert.ok(fragments.head(at) === head && fragments.tail(at) === tail, `fragment ${at}`);
    }
  });

  test('gives the same events with and without space for the fragments', async () => {
    const whole = await renderedOver(undefined);
    const gathered = [1, 64].map(async (pages) => {
      const { text, isGathered } = await renderedOver(new FragmentMemory(openSharedMemory(pages)));
      assert.ok(text === whole.text, `${pages} pages`);
      return isGathered;
    });
    assert.deepEqual(await Promise.all(gathered), [false, true]);
  });

  test('ends at four gigabytes', () => {
    const claimed = { buffer: { byteLength: 65_535 * PAGE_BYTES } as SharedArrayBuffer, grow: () => 0 };
    const memory = new FragmentMemory(claimed);
    assert.equal(memory.take(65_535 * PAGE_BYTES), 0);
    assert.equal(memory.take(2 * PAGE_BYTES), undefined);
  });
});
