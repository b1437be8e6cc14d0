import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { importBundle } from '../../src/ingest/import.ts';
import { importFiles, lines, USERS } from './imported-files.ts';
import { openRecordingStore } from './recording-store.ts';
import { makeFolder } from './temporary-folder.ts';

const MANY = lines(Array.from({ length: 20_000 }, (_, id) => ({ id, title: `Board ${Math.sqrt(id)}` })));
const cut = (packed: Buffer) => packed.subarray(0, Math.floor(packed.length / 2));
const broken = (packed: Buffer) => Buffer.concat([cut(packed), Buffer.alloc(2000, 0xff)]);

for (const [flaw, name, content, reason] of [
  ['an empty file', 'boards.ndjson', '', /^the file is empty$/],
  ['an empty table', 'boards.csv', '', /^the file is empty$/],
  ['a table without a header', 'boards.csv', '\n\n', /^the file has no header$/],
  [
    'an unknown column',
    'boards.csv',
    'id,titel\n1,x\n',
    /^"titel" is no field of boards; did you mean title\?$/,
  ],
  [
    'another encoding',
    'boards.csv',
    Buffer.from('id,title\n').fill(0xff, 0, 2),
    /^the header is not UTF-8; save/,
  ],
  ['no array', 'boards.json', '{"code":"key-missing"}', /^must hold one JSON array and nothing else$/],
  [
    'what is no gzip',
    'boards.ndjson.gz',
    MANY,
    /^the gzip data is broken or cut short: incorrect header check$/,
  ],
  [
    'half of a gzip',
    'boards.ndjson.gz',
    cut(gzipSync(MANY)),
    /cut short: .* \(after the record of line \d+\)$/,
  ],
  [
    'a broken gzip',
    'boards.ndjson.gz',
    broken(gzipSync(MANY)),
    /cut short: .* \(after the record of line \d+\)$/,
  ],
  [
    'half of a zstd',
    'boards.ndjson.zst',
    cut(zstdCompressSync(MANY)),
    /^the zstd data is broken or cut short: /,
  ],
] as const) {
  test(`${flaw} in ${name} refuses the import`, async (t) => {
    const { report } = await importFiles(t, { [name]: content });
    assert.equal(report.outcome, 'refused');
    assert.match(report.problems.at(-1)?.reason ?? '', reason);
  });
}

test('with --skip-invalid a damaged file keeps its good records, and the damage is a reject', async (t) => {
  const skipInvalid = join(await makeFolder(t), 'rejects.ndjson');
  const files = { 'boards.ndjson.gz': cut(gzipSync(MANY)) };
  const { report, store } = await importFiles(t, files, { skipInvalid });
  assert.equal(report.outcome, 'published');
  assert.ok(store.published.length > 1000);
  assert.equal(report.records, store.published.length);
  const reject: unknown = JSON.parse(await readFile(skipInvalid, 'utf8'));
  assert.equal(Reflect.get(Object(reject), 'line'), store.published.at(-1)?.record.line);
});

test('a table with nothing but a header is a table without records', async (t) => {
  const { report } = await importFiles(t, { 'users.csv': 'id,email,name\n' });
  assert.equal(report.problemCount, 0);
  assert.equal(report.records, 0);
});

for (const [form, content] of [
  ['CSV', USERS],
  ['gzipped CSV', gzipSync(USERS)],
  [
    'NDJSON after a byte order mark',
    `\ufeff${lines([
      { id: 1, email: 'a@x', name: 'A' },
      { id: 2, email: 'b@x', name: 'B' },
    ])}`,
  ],
  [
    'a JSON array in zstd',
    zstdCompressSync(
      JSON.stringify([
        { id: 1, email: 'a@x', name: 'A' },
        { id: 2, email: 'b@x', name: 'B' },
      ]),
    ),
  ],
] as const) {
  test(`standard input is recognized as ${form}`, async () => {
    const store = openRecordingStore({ school: 7n });
    const stdin = Readable.from([...Buffer.from(content)].map((byte) => Buffer.of(byte)));
    const report = await importBundle({ store, organization: 'school', paths: ['-'], as: 'users', stdin });
    assert.deepEqual(report.problems, []);
    assert.deepEqual(
      store.published.map(({ kind }) => kind),
      ['users', 'users'],
    );
  });
}

test('Parquet on standard input is read from a file that is gone afterwards', async () => {
  const store = openRecordingStore({ school: 7n });
  let seen = '';
  const report = await importBundle({
    store,
    organization: 'school',
    paths: ['-'],
    as: 'boards',
    stdin: Readable.from([Buffer.from('PAR1 and more')]),
    async *readParquet(path) {
      seen = path;
      assert.equal(await readFile(path, 'utf8'), 'PAR1 and more');
      yield [{ line: 1, text: '{"id":5,"title":"T"}' }];
    },
  });
  assert.equal(report.records, 1);
  await assert.rejects(readFile(seen), { code: 'ENOENT' });
});

test('a row of a Parquet file that is longer than 16 MiB is a bad record', async (t) => {
  const text = `{"id":5,"title":"${'x'.repeat(16 * 1024 * 1024)}"}`;
  const { report, store } = await importFiles(
    t,
    { 'boards.parquet': 'PAR1' },
    {
      skipInvalid: join(await makeFolder(t), 'rejects.ndjson'),
      async *readParquet() {
        yield [
          { line: 1, text },
          { line: 2, text: '{"id":6,"title":"T"}' },
        ];
      },
    },
  );
  assert.deepEqual(
    report.problems.map(({ line, reason }) => [line, reason]),
    [[1, 'is longer than 16 MiB']],
  );
  assert.equal(store.published.length, 1);
});
