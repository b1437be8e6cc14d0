import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import type { EventQuery } from '../../src/dataset/query.ts';
import type { Redacting, Representation } from '../../src/render/answer.ts';
import { GATHERED_FROM_RECORDS } from '../../src/render/fragment-memory.ts';
import { openRendering } from '../../src/render/rendering.ts';
import { Spool } from '../../src/render/spool.ts';
import { Workshop } from '../../src/render/workshop.ts';
import { EVENTS, EVERYTHING, ONE_BOARD, ResidentPlainDataset, START_MS, unpacked } from './large-world.ts';
import { textOf } from './reference.ts';
import { NO_REDACTION, worldOf } from './worlds.ts';

const workshop = new Workshop();
after(() => workshop.close());

/** In the rendering events are gathered, inline they are written one by one. */
async function open(redaction: Redacting = NO_REDACTION) {
  const dataset = await new ResidentPlainDataset(worldOf(EVENTS), EVENTS, GATHERED_FROM_RECORDS).load();
  const plain = await new ResidentPlainDataset(worldOf(EVENTS), EVENTS).load();
  return {
    rendering: openRendering(dataset, redaction, workshop),
    inline: openRendering(plain, redaction),
  };
}

/** Without a difference of megabytes in the report. */
function assertSame(actual: string, expected: string): void {
  assert.equal(actual.length, expected.length);
  assert.ok(actual === expected, 'the answers differ');
}

/** Queries whose answers begin and end inside pieces, at their ends, and nowhere. */
const QUERIES: readonly [string, EventQuery][] = [
  ['everything', EVERYTHING],
  [
    'a range',
    { ...EVERYTHING, range: { startMs: START_MS + 777 * 60_000, endMs: START_MS + 8_000 * 60_000 } },
  ],
  ['a range from the edge of a piece', { ...EVERYTHING, range: { startMs: START_MS + 1024 * 60_000 } }],
  ['a scope', ONE_BOARD],
  ['some kinds', { ...EVERYTHING, kinds: [1] }],
  ['pins only', { ...EVERYTHING, pinsOnly: true }],
];

for (const representation of ['json', 'ndjson', 'csv'] as const satisfies Representation[]) {
  for (const [name, query] of QUERIES) {
    test(`${name} as ${representation} has the same bytes from the thread, plain and packed, made and kept`, async () => {
      const { rendering, inline } = await open();
      const expected = await textOf(await inline.events(query, representation));
      const answer = await rendering.events(query, representation);
      assert.ok(answer.packed, 'the answer is a large one');
      assertSame(await textOf(answer), expected);
      // The second time in pieces that are made, then in pieces that are kept.
      for (let again = 0; again < 2; again++) {
        assertSame(await textOf(await rendering.events(query, representation)), expected);
      }
      for (const packing of ['gzip', 'zstd', 'gzip', 'zstd'] as const) {
        const again = await rendering.events(query, representation);
        assertSame(await unpacked(again, packing), expected);
      }
      await rendering.close();
    });
  }
}

test('pieces of one representation are not those of another', async () => {
  const { rendering, inline } = await open();
  // Again and again, so that what is kept of one is there when the next asks.
  for (let round = 0; round < 3; round++) {
    for (const representation of ['json', 'ndjson', 'csv'] as const) {
      const expected = await textOf(await inline.events(EVERYTHING, representation));
      const answer = () => rendering.events(EVERYTHING, representation);
      assertSame(await textOf(await answer()), expected);
      for (const packing of ['gzip', 'zstd'] as const) {
        assertSame(await unpacked(await answer(), packing), expected);
      }
    }
  }
  await rendering.close();
});

test('pieces of one scope or redaction are not those of another', async () => {
  const { rendering, inline } = await open();
  const redacting = await open({ ...NO_REDACTION, email: true, name: true });
  for (const packing of ['gzip', 'zstd'] as const) {
    for (const query of [EVERYTHING, ONE_BOARD, EVERYTHING]) {
      for (const [packed, plain] of [
        [rendering, inline],
        [redacting.rendering, redacting.inline],
      ] as const) {
        const expected = await textOf(await plain.events(query, 'json'));
        assertSame(await unpacked(await packed.events(query, 'json'), packing), expected);
      }
    }
  }
  assert.doesNotMatch(await unpacked(await redacting.rendering.events(EVERYTHING, 'json'), 'gzip'), /Ada/);
  await rendering.close();
  await redacting.rendering.close();
});

test('whole pieces are made once, for all who ask at the same time and afterwards', async () => {
  const { rendering } = await open();
  const pack = workshop.thread.pack.bind(workshop.thread);
  let made = 0;
  workshop.thread.pack = (...order) => {
    made += 1;
    return pack(...order);
  };
  try {
    const answers = await Promise.all([1, 2, 3].map(() => rendering.events(EVERYTHING, 'json')));
    const texts = await Promise.all(answers.map((answer) => unpacked(answer, 'gzip')));
    assert.equal(new Set(texts).size, 1);
    const pieces = made;
    assert.ok(pieces > 2 && pieces < 20, `${pieces} pieces`);
    await unpacked(await rendering.events(EVERYTHING, 'json'), 'gzip');
    assert.equal(made, pieces);
    // Of a range only the two ends are made anew.
    const range = { startMs: START_MS + 60_000, endMs: START_MS + (EVENTS - 1) * 60_000 };
    await unpacked(await rendering.events({ ...EVERYTHING, range }, 'json'), 'gzip');
    assert.equal(made, pieces + 2);
  } finally {
    workshop.thread.pack = pack;
    await rendering.close();
  }
});

/** What the spools read while the work is done; with `refuse`, nothing of several pieces is given back. */
async function watchSpools(refuse: boolean, work: () => Promise<void>): Promise<number[]> {
  const { read } = Spool.prototype;
  const runs: number[] = [];
  Spool.prototype.read = function (run, ...rest) {
    runs.push(run.length);
    return refuse && run.length > 1 ? Promise.resolve(undefined) : read.call(this, run, ...rest);
  };
  try {
    await work();
  } finally {
    Spool.prototype.read = read;
  }
  return runs;
}

test('kept pieces are read together and stay in order, and one by one when that fails', async () => {
  const { rendering, inline } = await open();
  const everything = () => rendering.events(EVERYTHING, 'json');
  const expected = await textOf(await inline.events(EVERYTHING, 'json'));
  // Made side by side: each encoding still lies in one stretch.
  await Promise.all([unpacked(await everything(), 'gzip'), unpacked(await everything(), 'zstd')]);
  for (const packing of ['gzip', 'zstd'] as const) {
    for (const refuse of [false, true]) {
      const runs = await watchSpools(refuse, async () => {
        assertSame(await unpacked(await everything(), packing), expected);
      });
      const together = runs.filter((pieces) => pieces > 1);
      assert.equal(together.length, 1);
      assert.equal(runs.length, refuse ? 1 + together[0]! : 1);
    }
  }
  await rendering.close();
});

test('a chunk of kept pieces stays as it is until the second one after it is asked for', async () => {
  const { rendering } = await open();
  const plain = async () => (await rendering.events(EVERYTHING, 'json')).chunks();
  // The third time from pieces that are kept.
  for (let round = 0; round < 3; round++) {
    let before: { chunk: Uint8Array; copy: Buffer } | undefined;
    for await (const chunk of await plain()) {
      if (before !== undefined) assert.ok(before.copy.equals(before.chunk));
      before = { chunk, copy: Buffer.from(chunk) };
    }
  }
  await rendering.close();
});

test('a chunk of the thread stays as it is until the second one after it is asked for', async () => {
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
  await rendering.close();
});

test('answers side by side, and some that are given up, do not disturb each other', async () => {
  const { rendering, inline } = await open();
  const expected = await textOf(await inline.events(EVERYTHING, 'json'));
  const givenUp = async () => {
    for await (const chunk of (await rendering.events(EVERYTHING, 'json')).chunks()) return chunk.length;
    return 0;
  };
  const whole = async () => textOf(await rendering.events(EVERYTHING, 'json'));
  const [first, , second, , third] = await Promise.all([whole(), givenUp(), whole(), givenUp(), whole()]);
  for (const text of [first, second, third]) assertSame(text, expected);
  await rendering.close();
});

test('a plain answer that does not fit on the disk as a whole takes nothing of it', async () => {
  const own = new Workshop();
  const dataset = await new ResidentPlainDataset(worldOf(EVENTS), EVENTS).load();
  const rendering = openRendering(dataset, NO_REDACTION, own);
  const { byteLength } = await rendering.events(EVERYTHING, 'json');
  const expected = await textOf(await openRendering(dataset, NO_REDACTION).events(EVERYTHING, 'json'));
  const taken = async (plainBytes: number) => {
    const { leftBytes } = Object.assign(own.budget, { plainBytes });
    for (let again = 0; again < 3; again++) {
      assertSame(await textOf(await rendering.events(EVERYTHING, 'json')), expected);
    }
    return leftBytes - own.budget.leftBytes;
  };
  assert.equal(await taken(byteLength - 1), 0);
  assert.ok((await taken(byteLength)) > 0);
  await rendering.close();
  await own.close();
});

test('when the thread dies the answer under way fails, and the next one has a new thread', async () => {
  const own = new Workshop();
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
  await rendering.close();
  await own.close();
});

test('the thread is started as soon as a large dataset in memory is opened, and keeps no process alive', async () => {
  const own = new Workshop();
  let prepared = 0;
  own.thread.prepare = () => {
    prepared += 1;
  };
  const dataset = new ResidentPlainDataset(worldOf(EVENTS), EVENTS);
  openRendering(dataset, NO_REDACTION, own);
  assert.equal(prepared, 0);
  openRendering(await dataset.load(), NO_REDACTION, own);
  assert.equal(prepared, 1);
  const module = new URL('../../src/render/workshop.ts', import.meta.url).href;
  const script = `import { Workshop } from '${module}'; new Workshop().thread.prepare();`;
  // Rejects when the process has to be killed.
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], { timeout: 60_000 });
});

test('bytes that are not as many as announced make the thread fail, never exceed the announcement', async () => {
  for (const error of [-1, 1]) {
    const dataset = await new ResidentPlainDataset(worldOf(EVENTS), EVENTS).load();
    dataset.tallyError = error;
    const rendering = openRendering(dataset, NO_REDACTION, workshop);
    const answer = await rendering.events(EVERYTHING, 'json');
    let bytes = 0;
    await assert.rejects(async () => {
      for await (const chunk of answer.chunks()) bytes += chunk.length;
    }, /was to take/);
    assert.ok(bytes <= answer.byteLength);
    await rendering.close();
  }
});

/** As a stream, however the answer comes. */
async function* streamed(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  yield* chunks;
}
