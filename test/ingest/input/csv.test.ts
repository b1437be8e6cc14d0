import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { type Row, RowCutter } from '../../../src/ingest/input/csv.ts';
import { readLines } from '../../../src/ingest/input/lines.ts';

/** The rows of a file that arrives in chunks of `pieceBytes` bytes. */
async function rowsOf(content: string | Buffer, pieceBytes = 7): Promise<Row[]> {
  const bytes = Buffer.from(content);
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, at) =>
    bytes.subarray(at * pieceBytes, (at + 1) * pieceBytes),
  );
  async function* stream() {
    yield* pieces;
  }
  const cutter = new RowCutter();
  for await (const lines of readLines(stream())) for (const line of lines) cutter.add(line);
  cutter.end();
  return [...cutter.take()];
}

/** Per row: its line, and its cells or its problem. */
async function outlineOf(content: string | Buffer): Promise<[number, readonly string[] | string][]> {
  const rows = await rowsOf(content);
  return rows.map(({ line, cells, problem }) => [line, problem ?? cells]);
}

const UNCLOSED = 'has a quoted cell that is never closed';
const AFTER = 'has text after the closing quote of a cell; a quote inside a cell is written twice';
const STRAY = 'has a quote inside a cell without quotes; put the cell in quotes, and write the quote twice';

test('cells are plain or quoted, and quoted ones may contain commas, quotes and line ends', async () => {
  assert.deepEqual(await outlineOf('a,b\r\n"1,""x""",\n\n"line\r\nend","é"\n,""'), [
    [1, ['a', 'b']],
    [2, ['1,"x"', '']],
    [4, ['line\r\nend', 'é']],
    [6, ['', '']],
  ]);
});

test('cells are separated by commas, semicolons or tabs, as in the first row', async () => {
  const headers: readonly (readonly [header: string, cells: readonly string[]])[] = [
    ['a;b;c', ['a', 'b', 'c']],
    ['a\tb', ['a', 'b']],
    ['"a;b;c";d', ['a;b;c', 'd']],
    ['a;b;c,d', ['a;b;c', 'd']],
    ['a\tb;c', ['a\tb', 'c']],
    ['a', ['a']],
  ];
  for (const [header, cells] of headers) assert.deepEqual(await outlineOf(`${header}\n`), [[1, cells]]);
  assert.deepEqual(await outlineOf('\n"id";x\r\n1;"a ""b"", c;\nd"\r\n2,5;\r\n'), [
    [2, ['id', 'x']],
    [3, ['1', 'a "b", c;\nd']],
    [5, ['2,5', '']],
  ]);
});

test('a line with which Excel names the separator is no row', async () => {
  assert.deepEqual(await outlineOf('\ufeffsep=;\r\na;b,c,d\r\n'), [[2, ['a', 'b,c,d']]]);
});

test('a byte order mark is dropped', async () => {
  assert.deepEqual(await outlineOf('\ufeffa,b\n'), [[1, ['a', 'b']]]);
});

test('an invalid row does not affect the next ones', async () => {
  assert.deepEqual(await outlineOf('1,"open\n2,b\n3,"c"\n4,d"\n5,"e"x\n6,f\n7,"never\n8,h'), [
    [1, AFTER],
    [2, ['2', 'b']],
    [3, ['3', 'c']],
    [4, STRAY],
    [5, AFTER],
    [6, ['6', 'f']],
    [7, UNCLOSED],
    [8, ['8', 'h']],
  ]);
});

test('bytes that are not UTF-8, and NUL, are refused with their line', async () => {
  const content = Buffer.concat([Buffer.from('a\nJos'), Buffer.from([0xe9]), Buffer.from('\nb\n"x\n\0"\nc')]);
  assert.deepEqual(await outlineOf(content), [
    [1, ['a']],
    [2, 'is not UTF-8; save the file as UTF-8'],
    [3, ['b']],
    [4, 'must not contain a NUL character'],
    [6, ['c']],
  ]);
});

test('a line longer than 16 MiB is refused and the next one is read', async () => {
  const content = Buffer.concat([
    Buffer.from('a\n'),
    Buffer.alloc(17 * 1024 * 1024, 'x'),
    Buffer.from('\nb'),
  ]);
  const rows = await rowsOf(content, 65_536);
  assert.deepEqual(
    rows.map(({ line, problem }) => [line, problem]),
    [
      [1, undefined],
      [2, 'is longer than 16 MiB'],
      [3, undefined],
    ],
  );
});

test('the text of a row is kept as it was read', async () => {
  const rows = await rowsOf('a,"b\nc"\r\nd\r\n');
  assert.deepEqual(
    rows.map(({ raw }) => raw),
    ['a,"b\nc"', 'd'],
  );
});

const cell = fc.string({ unit: fc.constantFrom('a', 'é', '😀', ',', '"', '\n', '\r\n', ' ', ';') });
const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 6 });

test('a file that a strict library accepts gives the same rows here', async () => {
  await fc.assert(
    fc.asyncProperty(table, fc.integer({ min: 1, max: 40 }), async (rows, pieceBytes) => {
      const quote = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
      const content = rows.map((row) => row.map(quote).join(',')).join('\n');
      const expected = parse(content, { relax_column_count: true, record_delimiter: '\n' });
      const read = await rowsOf(content, pieceBytes);
      assert.deepEqual(
        read.map(({ cells }) => cells),
        expected,
      );
    }),
    { numRuns: 200 },
  );
});
