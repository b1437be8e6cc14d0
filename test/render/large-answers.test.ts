import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import type { EventQuery } from '../../src/dataset/query.ts';
import { openRendering } from '../../src/render/rendering.ts';
import { GATHERED_FROM_RECORDS } from '../../src/render/text/fragment-memory.ts';
import type { Redacting } from '../../src/render/text/rendered-body.ts';
import type { Representation } from '../../src/render/text/representations.ts';
import { RenderThread } from '../../src/render/thread/render-thread.ts';
import { EVENTS, EVERYTHING, ONE_BOARD, ResidentPlainDataset, START_MS } from './large-world.ts';
import { textOf } from './reference.ts';
import { NO_REDACTION, worldOf } from './worlds.ts';

const thread = new RenderThread();
after(() => thread.close());

/** `rendering` gathers events and uses the thread; `inline` writes them one by one. */
async function open(redaction: Redacting = NO_REDACTION) {
  const dataset = await new ResidentPlainDataset(worldOf(EVENTS), EVENTS, GATHERED_FROM_RECORDS).load();
  const plain = await new ResidentPlainDataset(worldOf(EVENTS), EVENTS).load();
  return {
    rendering: openRendering(dataset, redaction, thread),
    inline: openRendering(plain, redaction),
  };
}

/** Keeps a difference of megabytes out of the report. */
function assertSame(actual: string, expected: string): void {
  assert.equal(actual.length, expected.length);
  assert.ok(actual === expected, 'the answers differ');
}

/** Queries that select the whole timeline, a range of it, and a subset of its events. */
const QUERIES: readonly [string, EventQuery][] = [
  ['everything', EVERYTHING],
  [
    'a range',
    { ...EVERYTHING, range: { startMs: START_MS + 777 * 60_000, endMs: START_MS + 8_000 * 60_000 } },
  ],
  ['a range without an end', { ...EVERYTHING, range: { startMs: START_MS + 1024 * 60_000 } }],
  ['a scope', ONE_BOARD],
  ['some kinds', { ...EVERYTHING, kinds: [1] }],
  ['pins only', { ...EVERYTHING, pinsOnly: true }],
];

for (const representation of ['json', 'ndjson', 'csv'] as const satisfies Representation[]) {
  for (const [name, query] of QUERIES) {
    test(`${name} as ${representation} has the same bytes from the thread, each time its chunks are requested`, async () => {
      const { rendering, inline } = await open();
      const expected = await textOf(await inline.events(query, representation));
      const answer = await rendering.events(query, representation);
      for (let turn = 0; turn < 2; turn++) assertSame(await textOf(answer), expected);
    });
  }
}

test('a chunk of the thread is unchanged until the second chunk after it is requested', async () => {
  const { rendering } = await open();
  const answer = await rendering.events(EVERYTHING, 'json');
  let before: { chunk: Uint8Array; copy: Buffer } | undefined;
  let chunks = 0;
  for await (const chunk of answer.chunks()) {
    if (before !== undefined) assert.ok(before.copy.equals(before.chunk));
    before = { chunk, copy: Buffer.from(chunk) };
    chunks += 1;
  }
  assert.ok(chunks > 5);
});

test('concurrent responses, some of them abandoned, do not disturb each other', async () => {
  const { rendering, inline } = await open();
  const expected = await textOf(await inline.events(EVERYTHING, 'json'));
  const givenUp = async () => {
    for await (const chunk of (await rendering.events(EVERYTHING, 'json')).chunks()) return chunk.length;
    return 0;
  };
  const whole = async () => textOf(await rendering.events(EVERYTHING, 'json'));
  const [first, , second, , third] = await Promise.all([whole(), givenUp(), whole(), givenUp(), whole()]);
  for (const text of [first, second, third]) assertSame(text, expected);
});

test('the current response fails when the thread dies, and the next one gets a new thread', async () => {
  const own = new RenderThread();
  const dataset = await new ResidentPlainDataset(worldOf(EVENTS), EVENTS).load();
  const rendering = openRendering(dataset, NO_REDACTION, own);
  const chunks = streamed((await rendering.events(EVERYTHING, 'json')).chunks());
  await chunks.next();
  await own.close();
  await assert.rejects(async () => {
    while ((await chunks.next()).done !== true);
  }, /thread/);
  const again = await rendering.events(EVERYTHING, 'json');
  assert.ok((await textOf(again)).startsWith('[{'));
  await own.close();
});

test('a Parquet file is the same from every thread, and fails when its thread dies', async () => {
  const own = new RenderThread();
  const dataset = await new ResidentPlainDataset(worldOf(EVENTS), EVENTS).load();
  const rendering = openRendering(dataset, NO_REDACTION, own);
  const bytesOf = async ({ tables }: typeof rendering) => {
    const pieces: Uint8Array[] = [];
    for await (const piece of (await tables.events(EVERYTHING)).pieces()) pieces.push(piece);
    return Buffer.concat(pieces);
  };
  const expected = await bytesOf(openRendering(dataset, NO_REDACTION));
  const [one, other] = await Promise.all([bytesOf(rendering), bytesOf(rendering)]);
  assert.ok(one.equals(expected) && other.equals(expected));
  const pieces = streamed((await rendering.tables.events(EVERYTHING)).pieces());
  await pieces.next();
  await own.close();
  await assert.rejects(async () => {
    while ((await pieces.next()).done !== true);
  }, /thread/);
  assert.ok((await bytesOf(rendering)).equals(expected));
  await own.close();
});

test('the thread is started as soon as a large dataset in memory is opened, and does not keep a process alive', async () => {
  const own = new RenderThread();
  let prepared = 0;
  own.prepare = () => {
    prepared += 1;
  };
  const dataset = new ResidentPlainDataset(worldOf(EVENTS), EVENTS);
  openRendering(dataset, NO_REDACTION, own);
  assert.equal(prepared, 0);
  openRendering(await dataset.load(), NO_REDACTION, own);
  assert.equal(prepared, 1);
  const module = new URL('../../src/render/thread/render-thread.ts', import.meta.url).href;
  const script = `import { RenderThread } from '${module}'; new RenderThread().prepare();`;
  // Rejects if the process must be killed.
  await promisify(execFile)(process.execPath, ['--eval', script], { timeout: 60_000 });
});

test('a wrong announced size makes the thread fail, and the bytes never exceed the announced size', async () => {
  for (const error of [-1, 1]) {
    const dataset = await new ResidentPlainDataset(worldOf(EVENTS), EVENTS).load();
    dataset.tallyError = error;
    const rendering = openRendering(dataset, NO_REDACTION, thread);
    const answer = await rendering.events(EVERYTHING, 'json');
    let bytes = 0;
    await assert.rejects(async () => {
      for await (const chunk of answer.chunks()) bytes += chunk.length;
    }, /announced bytes has/);
    assert.ok(bytes <= answer.byteLength);
  }
});

/** Converts both kinds of chunks to a stream. */
async function* streamed(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  yield* chunks;
}
