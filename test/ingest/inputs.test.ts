import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { importBundle } from '../../src/ingest/import.ts';
import { unpack } from '../../src/ingest/input/decompression.ts';
import { BOARDS, importFiles, lines, USERS } from './imported-files.ts';
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
    /^"titel" is not a field of boards; did you mean title\?$/,
  ],
  [
    'another encoding',
    'boards.csv',
    Buffer.from('id,title\n').fill(0xff, 0, 2),
    /^the header is not UTF-8; save/,
  ],
  ['no array', 'boards.json', '{\n"code":"key-missing"\n}', /^must hold one JSON array and nothing else$/],
  [
    'UTF-16 with a mark',
    'users.csv',
    Buffer.from('\ufeffid,email,name\n', 'utf16le'),
    /is UTF-16 text; save it as/,
  ],
  [
    'UTF-16 without a mark',
    'boards.json',
    Buffer.from('[{"id":1}]', 'utf16le'),
    /is UTF-16 text; save it as/,
  ],
  [
    'UTF-16 of the other order',
    'boards.ndjson',
    Buffer.from('{"id":1}', 'utf16le').swap16(),
    /is UTF-16 text/,
  ],
  [
    'a first line with some NUL characters',
    'boards.ndjson',
    'a\0b\0junk\n',
    /NUL|is not JSON|Unexpected token/,
  ],
  [
    'a zip archive',
    'users.csv',
    Buffer.from('PK\x03\x04\x14\0\0\0'),
    /is a zip archive or a workbook; unpack it/,
  ],
  [
    'a gzip that is called a table',
    'users.csv',
    gzipSync(USERS),
    /is compressed with gzip; give it a name that ends in/,
  ],
  [
    'a zstd that is called a table',
    'users.csv',
    zstdCompressSync(USERS),
    /is compressed with Zstandard; give it a/,
  ],
  [
    'lines of different ends',
    'users.csv',
    'id,email,name\r\r\n1,a@x,A\r\r\n',
    /^lines must end with LF or CRLF$/,
  ],
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
  [
    'something behind the end',
    'boards.ndjson.zst',
    Buffer.concat([zstdCompressSync(MANY), Buffer.from('more')]),
    /^the zstd data is broken or cut short: .* \(after the record of line 20000\)$/,
  ],
] as const) {
  test(`${flaw} in ${name} refuses the import`, async (t) => {
    const { report } = await importFiles(t, { [name]: content });
    assert.equal(report.outcome, 'refused');
    assert.match(report.problems.at(-1)?.reason ?? '', reason);
  });
}

test('with --skip-invalid a damaged file keeps its valid records, and the damage is a reject', async (t) => {
  const skipInvalid = join(await makeFolder(t), 'rejects.ndjson');
  const files = { 'boards.ndjson.gz': cut(gzipSync(MANY)) };
  const { report, store } = await importFiles(t, files, { skipInvalid });
  assert.equal(report.outcome, 'published');
  assert.ok(store.published.length > 1000);
  assert.equal(report.records, store.published.length);
  const reject: unknown = JSON.parse(await readFile(skipInvalid, 'utf8'));
  assert.equal(Reflect.get(Object(reject), 'line'), store.published.at(-1)?.record.line);
});

for (const [name, pack] of [
  ['boards.ndjson.gz', gzipSync],
  ['boards.ndjson.zst', zstdCompressSync],
] as const) {
  test(`all parts of ${name} are read, wherever its bytes are split`, async (t) => {
    const packedInParts = (text: string, first: number) => {
      const parts = [text.slice(0, first), text.slice(first, first + 1), '', text.slice(first + 1)];
      return Buffer.concat(parts.map((part) => pack(part)));
    };
    const many = packedInParts(MANY, 70_000);
    const { report } = await importFiles(t, { [name]: many });
    assert.deepEqual([report.problems, report.records], [[], 20_000]);
    // For splits after each byte, a small part of it is enough.
    const some = MANY.slice(0, 20_000);
    const few = packedInParts(some, 7_000);
    for (const [text, packed, length] of [
      [some, few, 1],
      [some, few, 7],
      [MANY, many, 1000],
      [MANY, many, many.length - 1],
    ] as const) {
      async function* pieces() {
        for (let at = 0; at < packed.length; at += length) yield packed.subarray(at, at + length);
      }
      const plain = [];
      for await (const piece of unpack(pieces(), name.endsWith('gz') ? 'gzip' : 'zstd')) plain.push(piece);
      assert.ok(Buffer.concat(plain).equals(Buffer.from(text)), `in pieces of ${length} bytes`);
    }
  });
}

test('a table with only a header is a table without records', async (t) => {
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

const TITLES = [
  { id: 1, title: 'é {' },
  { id: 2, title: ']' },
];

for (const [name, content] of [
  ['boards.json', lines(TITLES)],
  ['boards.json', `\ufeff\r\n\n ${lines(TITLES).replaceAll('\n', '\r\n\r\n')}`],
  [
    'boards.json',
    lines([
      { id: 1, title: 'x'.repeat(60_000) },
      { id: 2, title: 'y'.repeat(60_000) },
    ]),
  ],
  ['boards.json.gz', gzipSync(lines(TITLES))],
  ['boards.json.zst', zstdCompressSync(lines(TITLES))],
  ['boards.jsonl', lines(TITLES)],
  ['boards-2026.jsonl.gz', gzipSync(lines(TITLES))],
] as const) {
  test(`JSON lines are read from ${name} of ${content.length} bytes`, async (t) => {
    const { report, store } = await importFiles(t, { [name]: content });
    assert.deepEqual(report.problems, []);
    assert.deepEqual(
      store.published.map(({ record }) => ('id' in record ? record.id : undefined)),
      [1n, 2n],
    );
  });
}

test('an invalid line of a JSON file of lines does not affect the others', async (t) => {
  const skipInvalid = join(await makeFolder(t), 'rejects.ndjson');
  const [first = '', second = ''] = lines(TITLES).split('\n');
  const files = { 'boards.json': `${first}\n{"id":\n${second}\n` };
  const { report, store } = await importFiles(t, files, { skipInvalid });
  assert.deepEqual(
    report.problems.map(({ line }) => line),
    [2],
  );
  assert.equal(store.published.length, 2);
});

for (const [name, content] of [
  ['plain', 'id,email,name\r1,a@x,A\r2,b@x,B\r'],
  ['without a last line end', 'id,email,name\r1,a@x,A\r2,b@x,B'],
  ['with an empty row', 'id,email,name\r\r1,a@x,A\r\r2,b@x,B\r'],
  ['with line ends in cells', '\ufeff"id","email","name"\r1,a@x,"A\n\r\n1"\r2,b@x,"B\r2"\r'],
  ['gzipped', gzipSync('id,email,name\r1,a@x,A\r2,b@x,B\r')],
] as const) {
  test(`a table whose rows end at carriage returns is read: ${name}`, async (t) => {
    const packed = typeof content !== 'string';
    const { report, store } = await importFiles(t, { [packed ? 'users.csv.gz' : 'users.csv']: content });
    assert.deepEqual(report.problems, []);
    assert.deepEqual(
      store.published.map(({ record }) => ('name' in record ? record.name : undefined)),
      name === 'with line ends in cells' ? ['A\n\r\n1', 'B\r2'] : ['A', 'B'],
    );
  });
}

test('a table whose rows end at carriage returns has the same events as one with line feeds', async (t) => {
  const table =
    'type,action,owner_id,actor_id,board_id,timestamp\nboard,followed,1,2,3,5\nboard,followed,1,2,3,6\n';
  const files = (text: string) => ({ 'users.csv': USERS, 'boards.ndjson': BOARDS, 'events.csv': text });
  const fed = await importFiles(t, files(table));
  const returned = await importFiles(t, files(table.replaceAll('\n', '\r')));
  assert.equal(fed.report.records, 6);
  assert.deepEqual(returned.store.published, fed.store.published);
});

test('an invalid row of a table whose rows end at carriage returns is reported with its line', async (t) => {
  const { report } = await importFiles(t, { 'users.csv': 'id,email,name\r1,a@x,A\rx,b@x,B\r3,"c@x,C\r' });
  assert.deepEqual(
    report.problems.map(({ line, field }) => [line, field]),
    [
      [3, 'id'],
      [4, ''],
    ],
  );
});

test('Parquet on standard input is read from a file that is deleted afterwards', async () => {
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

test('a row of a Parquet file that is longer than 16 MiB is an invalid record', async (t) => {
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
