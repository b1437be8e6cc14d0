/** The file of a memory image: what was written is read, or nothing. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, copyFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, it } from 'node:test';
import { addEventRows, eventRowsOf, makeEventRows, ROW_WORDS } from '../../../src/dataset/event-rows.ts';
import type { Image } from '../../../src/dataset/image.ts';
import { hasSmallImage, ImageFile, readImageHead } from '../../../src/store/version/read/image-file.ts';
import { killRounds, momentsToKill, tellSeed } from '../../killing.ts';
import '../../without-coverage.ts';

const IMAGE: Image = new Map<string, Int32Array | Uint32Array | Float64Array | BigInt64Array | Uint8Array>([
  ['integers', Int32Array.of(1, -2, 2 ** 31 - 1)],
  ['none', new Float64Array(0)],
  ['doubles', Float64Array.of(0.5, Number.NaN, -0)],
  ['bigints', BigInt64Array.of(2n ** 63n - 1n, -1n)],
  ['bytes', Uint8Array.of(1, 2, 3)],
  // More than one piece, which does not end with a whole one.
  ['many', Uint32Array.from({ length: 1_500_001 }, (_, at) => at)],
]);

/** More than that of an image whose arrays share their memory. */
const LARGE_BYTES = 33 * 1024 * 1024;

const ONE_EVENT = {
  count: 1,
  ...{ timestampMs: Float64Array.of(1), sequence: Float64Array.of(1) },
  ...{ kind: Int32Array.of(0), actor: Int32Array.of(0), owner: Int32Array.of(0) },
  ...{ board: Int32Array.of(0), pin: Int32Array.of(-1) },
};

let folder: string;
let versionPath: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corkboard-image-'));
  versionPath = join(folder, '1.duckdb');
});
beforeEach(() => writeFile(versionPath, ''));
after(() => rm(folder, { recursive: true }));

const imageOf = (version: string, name = '1.image') =>
  new ImageFile(join(folder, name), version, versionPath);
const doesExist = (name: string) =>
  access(join(folder, name)).then(
    () => true,
    () => false,
  );

it('is read as it was written, into memory that threads share, by its owner only', async () => {
  await imageOf('one').write(IMAGE);
  const read = await imageOf('one').read();
  assert.deepEqual(read, IMAGE);
  for (const array of read?.values() ?? []) assert.ok(array.buffer instanceof SharedArrayBuffer);
  if (process.platform !== 'win32') {
    assert.equal((await stat(join(folder, '1.image'))).mode & 0o777, 0o600);
  }
});

it('has its events in memory that can grow, if it is large', async () => {
  const events = makeEventRows(Math.ceil(LARGE_BYTES / (4 * ROW_WORDS)));
  await imageOf('large', 'grown.image').write(new Map([['events', events.words]]));
  const words = (await imageOf('large', 'grown.image').read())?.get('events');
  assert.ok(words instanceof Int32Array);
  const extended = await addEventRows(eventRowsOf(words), ONE_EVENT, Int32Array.of(events.count));
  assert.equal(extended.count, events.count + 1);
  assert.ok(extended.words.buffer === words.buffer);
});

it('has the head of the version, unless that is long or damaged', async () => {
  const head = JSON.stringify({ title: 'Café' });
  const path = join(folder, 'head.image');
  await new ImageFile(path, 'one', versionPath, head).write(IMAGE);
  assert.equal(await readImageHead(path, 'one'), head);
  assert.equal(await readImageHead(path, 'two'), undefined);
  assert.equal(await hasSmallImage(path), true);
  const bytes = await readFile(path);
  bytes[bytes.indexOf('Caf')]! ^= 0x01;
  await writeFile(path, bytes);
  assert.equal(await readImageHead(path, 'one'), undefined);
  for (const [name, long] of [
    ['long', 'x'.repeat(20_000)],
    ['silent', ''],
  ] as const) {
    const other = new ImageFile(join(folder, `${name}.image`), 'one', versionPath, long);
    await other.write(IMAGE);
    assert.equal(await readImageHead(join(folder, `${name}.image`), 'one'), undefined, name);
    assert.deepEqual(await other.read(), IMAGE);
  }
  await imageOf('one', 'large.image').write(new Map([['bytes', new Uint8Array(LARGE_BYTES)]]));
  assert.equal(await hasSmallImage(join(folder, 'large.image')), false);
  assert.equal(await hasSmallImage(join(folder, 'none.image')), false);
});

it('is written once, and is not that of a different version', async () => {
  await imageOf('one').write(new Map([['other', Int32Array.of(7)]]));
  assert.deepEqual(await imageOf('one').read(), IMAGE);
  assert.equal(await imageOf('two').read(), undefined);
  assert.equal(await doesExist('1.image'), false, 'it is deleted, so that the right one can be written');
});

it('is not read if any part of it is missing or changed', async () => {
  await imageOf('one', 'whole.image').write(IMAGE);
  const whole = await readFile(join(folder, 'whole.image'));
  const places = [0, 20, 200, 500, 1_000, 1_000_000, whole.length - 40, whole.length - 1];
  const damaged = [
    ...places.map((at) => {
      const copy = Buffer.from(whole);
      copy[at]! ^= 0x10;
      return copy;
    }),
    ...[0, 10, 100, 700, 5_000_000, whole.length - 1].map((length) => whole.subarray(0, length)),
  ];
  for (const [at, bytes] of damaged.entries()) {
    await writeFile(join(folder, 'damaged.image'), bytes);
    assert.equal(await imageOf('one', 'damaged.image').read(), undefined, `damage ${at}`);
    assert.equal(await doesExist('damaged.image'), false);
  }
  await copyFile(join(folder, 'whole.image'), join(folder, 'damaged.image'));
  assert.deepEqual(await imageOf('one', 'damaged.image').read(), IMAGE);
});

it('does not stay without its version, whose data may have been erased', async () => {
  await rm(versionPath);
  await imageOf('one', 'late.image').write(IMAGE);
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.startsWith('late')),
    [],
  );
});

it('is given up where it cannot be written', async () => {
  await imageOf('one', 'missing/1.image').write(IMAGE);
  assert.equal(await imageOf('one', 'missing/1.image').read(), undefined);
});

it('is whole or missing when its writer is killed', async (t) => {
  tellSeed(t);
  const program = join(import.meta.dirname, 'killed-image.ts');
  let fullMs = Number.POSITIVE_INFINITY;
  const killed: boolean[] = [];
  const write = async (afterMs: number) => {
    const child = spawn(process.execPath, [program, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(child, 'close');
    await once(child.stdout, 'data');
    const startMs = performance.now();
    const timer = Number.isFinite(afterMs) ? setTimeout(() => child.kill('SIGKILL'), afterMs) : undefined;
    const [, signal] = await ended;
    clearTimeout(timer);
    fullMs = Math.min(fullMs, performance.now() - startMs);
    return signal === 'SIGKILL';
  };
  await rm(join(folder, '1.image'), { force: true });
  assert.equal(await write(Number.POSITIVE_INFINITY), false);
  const usualMs = fullMs;
  for (const moment of momentsToKill(killRounds(3), () => killed.includes(true))) {
    await rm(join(folder, '1.image'), { force: true });
    killed.push(await write(moment * usualMs));
    const image = (await doesExist('1.image')) ? await imageOf('one').read() : undefined;
    assert.ok(image === undefined ? killed.at(-1) : image.size === 3);
  }
  await rm(join(folder, '1.image'), { force: true });
  await imageOf('one').write(IMAGE);
  const left = (await readdir(folder)).filter((name) => name.endsWith('.tmp'));
  assert.deepEqual(left, [], 'the next writer removes what the killed ones left');
});

it('replaces those of earlier versions', async (t) => {
  const versions = await mkdtemp(join(tmpdir(), 'corkboard-images-'));
  t.after(() => rm(versions, { recursive: true }));
  const earlier = ['2.image', '2.image.fragments', '2.image.fragments.0.tmp', '9.image.0.tmp'];
  const others = ['2.duckdb', '11.image', '20.image.fragments'];
  for (const name of [...earlier, ...others]) await writeFile(join(versions, name), '');
  await new ImageFile(join(versions, '10.image'), 'ten', versionPath).write(IMAGE);
  assert.deepEqual((await readdir(versions)).sort(), ['10.image', ...others].sort());
});
