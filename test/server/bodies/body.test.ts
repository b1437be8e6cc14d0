/** Readers of one body at any speed: each gets exactly its bytes, or an error (decision 40). */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { describe, it } from 'node:test';
import { setImmediate, setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import { Body, type Making, openNameless, type Reader } from '../../../src/server/bodies/body.ts';
import { IS_LONG } from '../../long.ts';
import { runs } from '../../model/runs.ts';

/**
 * A source of chunks that overwrites them as early as it may. Counts its runs, the open ones, and
 * the bytes that it made.
 */
class Source {
  readonly bytes: Buffer;
  readonly #chunkBytes: number;
  readonly #failsAfter: number;
  runs = 0;
  open = 0;
  made = 0;

  constructor(length: number, chunkBytes: number, failsAfter = Number.POSITIVE_INFINITY) {
    this.bytes = Buffer.from(
      Uint32Array.from({ length: Math.ceil(length / 4) }, (_, at) => at * 2654435761).buffer,
    );
    this.bytes = this.bytes.subarray(0, length);
    this.#chunkBytes = chunkBytes;
    this.#failsAfter = failsAfter;
  }

  make = async function* (this: Source): AsyncGenerator<Uint8Array, void> {
    this.runs += 1;
    this.open += 1;
    const memory = [Buffer.alloc(this.#chunkBytes), Buffer.alloc(this.#chunkBytes)] as const;
    try {
      for (let at = 0, turn = 0; at < this.bytes.length; turn ^= 1) {
        await setImmediate();
        if (at >= this.#failsAfter) throw new Error('the source has failed');
        const chunk = memory[turn & 1]!;
        const length = this.bytes.copy(chunk, 0, at);
        at += length;
        this.made = Math.max(this.made, at);
        yield chunk.subarray(0, length);
      }
    } finally {
      this.open -= 1;
    }
  }.bind(this);

  making(more: Partial<Making> = {}): Making {
    return { make: this.make, next: undefined, heldBytes: 1, ...more };
  }
}

/** A place in a cache with a limit of `left` bytes. */
class Place {
  left: number;
  taken = 0;
  hasLeft = false;

  constructor(left: number) {
    this.left = left;
  }

  take(bytes: number): boolean {
    if (this.taken + bytes > this.left) return false;
    this.taken += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.taken -= bytes;
  }

  wrote(): void {}

  leave(): void {
    this.hasLeft = true;
  }
}

async function readAll(reader: Reader, pause = async () => {}, from = 0, upTo = Number.POSITIVE_INFINITY) {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of reader.read(from)) {
    const copy = Buffer.from(chunk);
    await pause();
    assert.ok(copy.equals(chunk), 'a chunk has changed while it was in use');
    chunks.push(copy);
    length += copy.length;
    if (length >= upTo) break;
  }
  return Buffer.concat(chunks);
}

/** Waits for `count` turns of the event loop. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await setImmediate();
}

/** During `work`, writes to files fail with ENOSPC after `afterBytes` bytes. */
async function withFullDisk(afterBytes: number, work: () => Promise<void>): Promise<void> {
  const file = await openNameless();
  const handle: FileHandle = Object.getPrototypeOf(file);
  await file.close();
  const { write } = handle;
  let left = afterBytes;
  handle.write = async function (this: FileHandle, ...given: Parameters<typeof write>) {
    left -= Number(given[2]);
    if (left < 0) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    return await Reflect.apply(write, this, given);
  } as typeof write;
  try {
    await work();
  } finally {
    handle.write = write;
  }
}

const LENGTHS = fc.integer({ min: 0, max: 12_000_000 });
const CHUNKS = fc.integer({ min: 1_000, max: 1_500_000 }).filter((bytes) => bytes > 20_000);

interface Plan {
  /** Turns of the event loop before the reader begins. */
  readonly startsAfter: number;
  readonly pause: number;
  /** The reader leaves when it has this number of bytes. */
  readonly leavesAt: number;
  /** Its first byte; may be far ahead of what is made. */
  readonly from: number;
}

const READERS = fc.array(
  fc.record<Plan>({
    startsAfter: fc.nat(20),
    pause: fc.nat(5),
    leavesAt: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.nat(6_000_000)),
    from: fc.oneof(fc.constant(0), fc.nat(12_000_000)),
  }),
  { minLength: 1, maxLength: 5 },
);

describe('a body', () => {
  it('gives each reader all bytes or an error, at every speed and with every failure', async () => {
    await fc.assert(
      fc.asyncProperty(
        LENGTHS,
        CHUNKS,
        READERS,
        fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.nat(12_000_000)),
        fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.nat(12_000_000)),
        fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.nat(12_000_000)),
        async (length, chunkBytes, plans, failsAfter, roomBytes, diskBytes) => {
          const source = new Source(length, chunkBytes, failsAfter);
          const place = new Place(roomBytes);
          await withFullDisk(diskBytes, async () => {
            const body = new Body(source.making(), place);
            const ended = plans.map(async ({ startsAfter, pause, leavesAt, from }) => {
              await using reader = body.join();
              await turns(startsAfter);
              const read = await readAll(reader, () => turns(pause), from, leavesAt).catch(
                (error: Error) => error,
              );
              assert.ok(place.taken <= roomBytes);
              if (read instanceof Error) assert.match(read.message, /the source has failed/);
              else assert.ok(read.equals(source.bytes.subarray(from, from + read.length)));
              if (!(read instanceof Error) && read.length < leavesAt)
                assert.equal(read.length, Math.max(0, length - from));
              if (read instanceof Error) assert.ok(failsAfter < length);
            });
            for (const end of await Promise.allSettled(ended))
              if (end.status === 'rejected') throw end.reason;
            assert.equal(source.open, 0, 'the source has ended before its last reader');
            // An empty body has no file, so there is nothing to cache.
            assert.equal(place.hasLeft, !body.isComplete || length === 0);
            if (body.isComplete) {
              await using again = body.join();
              assert.ok((await readAll(again)).equals(source.bytes));
            }
            body.release();
            assert.equal(place.taken, 0);
          });
        },
      ),
      runs(IS_LONG ? 60 : 15),
    );
  });

  it('is made once for all its readers, and can be read again from any position when it is complete', async () => {
    const source = new Source(5_000_000, 300_000);
    const body = new Body(source.making(), new Place(1e9));
    const texts = [0, 1, 4].map(async (pause) => {
      await using reader = body.join();
      return await readAll(reader, () => turns(pause));
    });
    for (const text of await Promise.all(texts)) assert.ok(text.equals(source.bytes));
    for (const from of [0, 1, 4_999_999, 5_000_000]) {
      await using reader = body.join();
      assert.ok((await readAll(reader, undefined, from)).equals(source.bytes.subarray(from)));
    }
    assert.equal(source.runs, 1);
    assert.equal(body.byteLength, 5_000_000);
    body.release();
  });

  it('is made only a few megabytes ahead of its fastest reader', async () => {
    const source = new Source(40_000_000, 500_000);
    const body = new Body(source.making(), new Place(1e9));
    await using slow = body.join();
    await using fast = body.join();
    const chunks = fast.read();
    for (let read = 0; read < 10_000_000; ) {
      read += (await chunks.next()).value!.length;
      await turns(10);
      assert.ok(source.made <= read + 8_000_000, `${source.made} made when ${read} are read`);
    }
    await chunks.return();
    await fast[Symbol.asyncDispose]();
    await turns(100);
    // Now the other reader is the fastest.
    assert.ok(source.made < 20_000_000);
    assert.ok((await readAll(slow)).equals(source.bytes));
    body.release();
  });

  it('ends with its last reader, and is then not complete', async () => {
    const source = new Source(40_000_000, 500_000);
    const place = new Place(1e9);
    const body = new Body(source.making(), place);
    await using first = body.join();
    await using second = body.join();
    await first.read().next();
    await first[Symbol.asyncDispose]();
    assert.equal(source.open, 1);
    await second[Symbol.asyncDispose]();
    assert.equal(source.open, 0);
    assert.ok(source.made < 10_000_000);
    assert.deepEqual([place.hasLeft, body.isComplete, place.taken], [true, false, 0]);
  });

  it('lets a reader that waits for its first byte leave', async () => {
    const source = new Source(40_000_000, 500_000);
    const body = new Body(source.making(), new Place(1e9));
    const gone = new AbortController();
    {
      await using reader = body.join();
      const chunks = reader.read(39_000_000, gone.signal);
      const first = chunks.next();
      await turns(3);
      gone.abort();
      assert.equal((await first).done, true);
    }
    assert.equal(source.open, 0);
    assert.ok(source.made < 30_000_000, `${source.made} were made`);
  });

  it('has no name on the disk', async () => {
    const own = () => readdirSync(tmpdir()).filter((name) => /^corkboard-[0-9a-f-]{36}$/.test(name));
    const before = own();
    const body = new Body(new Source(5_000_000, 500_000).making(), new Place(1e9));
    await using reader = body.join();
    await reader.read().next();
    const found = own().filter((name) => !before.includes(name));
    // A file of another server has its name for a moment.
    if (found.length > 0) await setTimeout(1_000);
    assert.deepEqual(
      own().filter((name) => found.includes(name)),
      [],
    );
  });

  it('that must be complete is in memory while it is small, and is charged for its disk space until all have read it', async () => {
    for (const [length, isSmall] of [
      [200_000, true],
      [3_000_000, false],
    ] as const) {
      let charged = 0;
      const account = {
        take(bytes: number) {
          charged += bytes;
        },
        giveBack() {
          charged = 0;
        },
      };
      const source = new Source(length, 100_000);
      const place = new Place(1e9);
      const body = new Body(source.making({ account }), place);
      await using reader = body.join();
      assert.equal(await reader.whole(new AbortController().signal), true);
      assert.equal(charged, isSmall ? 0 : length);
      assert.equal(body.bytes === undefined, !isSmall);
      assert.ok((body.bytes ?? (await readAll(reader))).equals(source.bytes));
      await reader[Symbol.asyncDispose]();
      assert.equal(charged, 0);
      assert.equal(place.taken, isSmall ? 0 : length);
      body.release();
      assert.equal(place.taken, 0);
    }
  });

  it('that must be complete is made without a place in the cache, and fails with the disk', async () => {
    const account = { take: () => {}, giveBack: () => {} };
    const source = new Source(3_000_000, 100_000);
    for (const place of [undefined, new Place(1_000_000)]) {
      const body = new Body(source.making({ account }), place);
      await using reader = body.join();
      assert.equal(await reader.whole(new AbortController().signal), true);
      assert.ok((await readAll(reader)).equals(source.bytes));
      assert.ok(place === undefined || place.hasLeft);
    }
    await withFullDisk(1_000_000, async () => {
      await using reader = new Body(source.making({ account }), undefined).join();
      await assert.rejects(reader.whole(new AbortController().signal), { code: 'ENOSPC' });
    });
    const gone = new AbortController();
    await using reader = new Body(source.making({ account }), undefined).join();
    gone.abort();
    assert.equal(await reader.whole(gone.signal), false);
  });
});
