import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { readAhead } from '../../src/render/fragments/batches.ts';
import { openRendering } from '../../src/render/rendering.ts';
import { withTimeRunning } from '../running-time.ts';
import { PlainDataset } from './plain-dataset.ts';
import { collect, textOf } from './reference.ts';
import { NO_REDACTION, worldOf } from './worlds.ts';

const EVERYTHING = { scope: FULL_SCOPE, range: {} };
const LARGE = 6000;

function open(batchSize = 100) {
  const dataset = new PlainDataset(worldOf(LARGE), batchSize);
  return { dataset, rendering: openRendering(dataset, NO_REDACTION) };
}

test('an abandoned response releases the events', async () => {
  const { dataset, rendering } = open();
  const answer = await rendering.events(EVERYTHING, 'json');
  for await (const chunk of answer.chunks()) {
    assert.ok(chunk.length > 0);
    assert.equal(dataset.begun, dataset.ended + 1);
    break;
  }
  assert.equal(dataset.begun, dataset.ended);
});

test('a chunk is unchanged until the second chunk after it is requested, and a response needs only two buffers', async () => {
  const { rendering } = open();
  const answer = await rendering.events(EVERYTHING, 'json');
  const memories = new Set<ArrayBufferLike>();
  let before: { chunk: Uint8Array; copy: Buffer } | undefined;
  for await (const chunk of answer.chunks()) {
    if (before !== undefined) assert.ok(before.copy.equals(before.chunk));
    before = { chunk, copy: Buffer.from(chunk) };
    memories.add(chunk.buffer);
  }
  assert.equal(memories.size, 2);
});

test('a response whose bytes are never requested holds nothing open', async () => {
  const { dataset, rendering } = open();
  const answer = await rendering.events(EVERYTHING, 'json');
  answer.chunks();
  assert.equal(dataset.begun, dataset.ended);
});

test('a response read to its end releases the events', async () => {
  const { dataset, rendering } = open();
  await collect(await rendering.events(EVERYTHING, 'json'));
  assert.equal(dataset.begun, dataset.ended);
});

test('a dataset that fails halfway makes the chunks throw, and is released', async () => {
  const { dataset, rendering } = open();
  const answer = await rendering.events(EVERYTHING, 'json');
  dataset.failAfterBatches = 20;
  await assert.rejects(collect(answer), /cannot be read any further/);
  assert.equal(dataset.begun, dataset.ended);
});

test('a dataset that fails at once makes the response fail before its first byte', async () => {
  const { dataset, rendering } = open();
  dataset.failAfterBatches = 0;
  await assert.rejects(rendering.events(EVERYTHING, 'json'), /cannot be read any further/);
});

test('a wrong announced size makes the chunks throw, and the bytes never exceed the announced size', async () => {
  for (const tallyError of [-5000, -1, 1, 5000]) {
    const { dataset, rendering } = open();
    dataset.tallyError = tallyError;
    const answer = await rendering.events(EVERYTHING, 'json');
    let sent = 0;
    const reading = async () => {
      for await (const chunk of answer.chunks()) sent += chunk.length;
    };
    await assert.rejects(reading(), /A response of \d+ announced bytes has/);
    assert.ok(sent <= answer.byteLength, `${sent} of ${answer.byteLength}`);
    assert.equal(dataset.begun, dataset.ended);
  }
});

test('the event loop runs between two chunks when the time of a slice has passed', async () => {
  const { rendering } = open(2048);
  const answer = await rendering.events(EVERYTHING, 'json');
  const { result: chunks, turns } = await withTimeRunning(async () => {
    let count = 0;
    for await (const chunk of answer.chunks()) count += Math.sign(chunk.length);
    return count;
  });
  assert.ok(chunks > 10 && turns >= chunks - 1, `${turns} turns in ${chunks} chunks`);
});

test('at most one batch is read ahead while the previous one is rendered', async () => {
  const log: string[] = [];
  async function* source() {
    for (const batch of [1, 2, 3]) {
      log.push(`read ${batch}`);
      yield batch;
    }
  }
  for await (const batch of readAhead(source())) {
    await new Promise(setImmediate);
    log.push(`rendered ${batch}`);
  }
  assert.deepEqual(log, ['read 1', 'read 2', 'rendered 1', 'read 3', 'rendered 2', 'rendered 3']);
});

test('a batch that fails after the reader has left has no effect', async () => {
  async function* source() {
    yield 1;
    await new Promise(setImmediate);
    throw new Error('too late to matter');
  }
  for await (const value of readAhead(source())) {
    assert.equal(value, 1);
    break;
  }
});

test('fragments are made once for concurrent requests', async () => {
  const { dataset, rendering } = open();
  await Promise.all([rendering.warm(), rendering.events(EVERYTHING, 'json'), rendering.warm()]);
  await rendering.events(EVERYTHING, 'ndjson');
  assert.deepEqual(dataset.readings, { people: 1, boards: 1, pins: 1 });
});

test('fragments that could not be made are made at the next request', async () => {
  const { dataset, rendering } = open();
  dataset.failPins = true;
  await assert.rejects(rendering.warm(), /pins cannot be read/);
  await rendering.warm();
  assert.equal(dataset.readings.pins, 2);
});

test('a large response that is refused makes no fragments and no tally', async () => {
  const { dataset, rendering } = open();
  const refuse = () => Promise.reject(new Error('refused'));
  for (const ask of [
    () => rendering.events(EVERYTHING, 'json', refuse),
    () => rendering.changes(EVERYTHING, { since: undefined, representation: 'json', admit: refuse }),
  ]) {
    await assert.rejects(ask(), /refused/);
  }
  assert.deepEqual(dataset.readings, { people: 0, boards: 0, pins: 0 });
});

test('more deleted events than a response may list require a new copy', async () => {
  const { dataset, rendering } = open();
  dataset.deleted = Float64Array.from({ length: 100_000 }, (_, place) => place);
  const answer = await rendering.changes(EVERYTHING, { since: 0, representation: 'ndjson' });
  assert.equal((await textOf(answer)).split('"deleted":true').length, 100_001);
  dataset.deleted = new Float64Array(100_001);
  await assert.rejects(rendering.changes(EVERYTHING, { since: 0, representation: 'ndjson' }), {
    code: 'since-invalid',
  });
});

test('renderings of one dataset share fragments that redaction does not change', async () => {
  const { dataset, rendering } = open();
  const redacted = openRendering(dataset, { ...NO_REDACTION, email: true });
  await Promise.all([rendering.warm(), redacted.warm()]);
  assert.deepEqual(dataset.readings, { people: 2, boards: 1, pins: 1 });
  assert.match(await textOf(await rendering.events({ ...EVERYTHING, limit: 1 }, 'json')), /@guild/);
  assert.doesNotMatch(await textOf(await redacted.events({ ...EVERYTHING, limit: 1 }, 'json')), /@guild/);
});

test('a rendering that is warmed after a previous one has all fragments that the previous one used', async () => {
  const { rendering: before } = open();
  await before.events(EVERYTHING, 'csv');
  await before.list('boards', EVERYTHING, 'a', 'json');
  await before.list('users', EVERYTHING, 'b', 'ndjson');
  await before.standings({ ...EVERYTHING, of: { board: 0 } }, 'email');
  const { dataset, rendering } = open();
  await rendering.warm(before);
  const readings = { ...dataset.readings };
  await rendering.events(EVERYTHING, 'json');
  await rendering.events(EVERYTHING, 'csv');
  await rendering.list('boards', EVERYTHING, 'a', 'json');
  await rendering.list('users', EVERYTHING, 'b', 'ndjson');
  await rendering.standings({ ...EVERYTHING, of: { board: 0 } }, 'email');
  assert.deepEqual(dataset.readings, readings);
});
