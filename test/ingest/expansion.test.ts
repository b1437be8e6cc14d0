/**
 * Compressed files that expand to far more than any real file: an import takes little memory for
 * them, and stops.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { unpack } from '../../src/ingest/input/decompression.ts';
import { importFiles, lines, problemsOf } from './imported-files.ts';
import { makeFolder } from './temporary-folder.ts';

const run = promisify(execFile);
const SOURCES = join(import.meta.dirname, '../../src/ingest');

const ZSTD_BLOCK_BYTES = 131_072;
/** A Zstandard frame of four-byte blocks, each of which expands to 128 KiB of one byte. */
function repeatedInZstd(byte: number, blocks: number): Buffer {
  const frame = Buffer.alloc(4 * blocks);
  for (let block = 0; block < blocks; block += 1) {
    const isLast = block === blocks - 1 ? 1 : 0;
    frame.writeUIntLE((ZSTD_BLOCK_BYTES << 3) | (1 << 1) | isLast, 4 * block, 3);
    frame[4 * block + 3] = byte;
  }
  return Buffer.concat([Buffer.of(0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38), frame]);
}

/** Imports a folder in a separate process, and reports the peak memory of that process. */
const PROGRAM = `
const { importBundle } = await import(process.argv[1] + '/import.ts');
const { openRecordingStore } = await import(process.argv[1] + '/../../test/ingest/recording-store.ts');
const store = openRecordingStore({ school: 7n });
const readParquet = () => { throw new Error('nothing is there to be read') };
const { problems } = await importBundle({ store, organization: 'school', paths: [process.argv[2]], readParquet });
const { maxRSS } = process.resourceUsage();
console.log(JSON.stringify({ reasons: problems.map(({ reason }) => reason), megabytes: maxRSS / 1024 }));`;

for (const name of ['events.ndjson.zst', 'users.csv.zst', 'users.parquet.zst', 'pins.json.zst']) {
  test(`64 KB of ${name} that expand to 2 GB are refused, and take little memory`, async (t) => {
    const folder = await makeFolder(t, { [name]: repeatedInZstd(0x61, 16_000) });
    const args = ['--input-type=module', '--eval', PROGRAM, SOURCES, folder];
    const { stdout } = await run(process.execPath, args);
    const { reasons, megabytes } = JSON.parse(stdout);
    assert.match(
      reasons.at(-1),
      name === 'pins.json.zst' ? /one JSON array/ : /expands to more than 1,000 times/,
    );
    assert.ok(megabytes < 600, `${megabytes} MB`);
  });
}

test('records before an endless expansion are valid', async (t) => {
  const skipInvalid = join(await makeFolder(t), 'rejects.ndjson');
  const boards = lines(Array.from({ length: 100 }, (_, id) => ({ id, title: `Board ${id}` })));
  const packed = gzipSync(Buffer.concat([Buffer.from(boards), Buffer.alloc(120e6, 0x20)]));
  const imported = await importFiles(t, { 'boards.ndjson.gz': packed }, { skipInvalid });
  assert.equal(imported.report.outcome, 'published');
  assert.equal(imported.store.published.length, 100);
  assert.deepEqual(problemsOf(imported), [
    [
      ...['boards.ndjson.gz', 100, ''],
      'the gzip data expands to more than 1,000 times its size; if that is right, decompress it and import ' +
        'what comes out (after the record of line 100)',
    ],
  ]);
});

test('a file that expands a lot, but within the limit, is read whole', async () => {
  const block = Buffer.from(Array.from({ length: 2000 }, (_, at) => (at * at * 7919) % 251));
  const plain = Buffer.concat(Array.from({ length: 50_000 }, () => block));
  const packed = gzipSync(plain);
  assert.ok(plain.length > 100 * packed.length);
  let bytes = 0;
  async function* pieces() {
    for (let at = 0; at < packed.length; at += 65_536) yield packed.subarray(at, at + 65_536);
  }
  for await (const chunk of unpack(pieces(), 'gzip')) bytes += chunk.length;
  assert.equal(bytes, plain.length);
});
