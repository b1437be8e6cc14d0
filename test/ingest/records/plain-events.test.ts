/**
 * Plain events of a CSV file, read without strings or objects in between, are the same as with the
 * careful path.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { importBundle } from '../../../src/ingest/import.ts';
import { assertSame, instantArbitrary } from '../both-ways.ts';
import { openRecordingStore } from '../recording-store.ts';
import { makeFolder } from '../temporary-folder.ts';

const id = fc.integer({ min: 0, max: 9_000_000 }).map(String);
const plainCells = fc.record({
  id,
  type: fc.constant('pin'),
  action: fc.constantFrom('visited', 'liked', 'followed', 'zoë'),
  owner_id: id,
  actor_id: id,
  board_id: id,
  pin_id: id,
  timestamp: instantArbitrary,
});
type Field = 'id' | 'type' | 'action' | 'owner_id' | 'actor_id' | 'board_id' | 'pin_id' | 'timestamp';

/** Valid cells, each with the other cells of its row. */
const ODD: readonly Partial<Record<Field, string>>[] = [
  ...[
    '',
    '007',
    '-5',
    '999999999999999',
    '1000000000000000',
    '9007199254740993',
    '9223372036854775807',
    '"12"',
  ].map((text) => ({ id: text })),
  ...['4294967296', '2147483648', '-9223372036854775808', '0'].map((text) => ({ pin_id: text })),
  ...['board', '"board"', 'pi', 'pins'].map((text) => ({ type: text, pin_id: '' })),
  ...['"quoted"', 'a b', '"with, comma"', 'pin', 'x'.repeat(64)].map((text) => ({
    action: text,
  })),
  ...['1520874045567', '-1520874045', '2018-03-12 17:00Z', '2018-03-12T17:00:45.5+01:00'].map((text) => ({
    timestamp: text,
  })),
  ...['2018-03-12T17:00:45.567+01:00', '2018-03-12t17:00:45.567z', '2024-02-29T00:00:00.000Z'].map(
    (text) => ({
      timestamp: text,
    }),
  ),
];

/** Invalid cells; the field `row` replaces the whole row. */
const BAD: readonly Partial<Record<Field | 'row', string>>[] = [
  ...['9223372036854775808', '1.0', ' 1', '1 ', '+1', 'x', '1"', '١', '1\r', '\r'].flatMap((text) => [
    { id: text },
    { owner_id: text },
    { pin_id: text },
  ]),
  { actor_id: '' },
  { pin_id: '' },
  { type: 'board' },
  { type: '', pin_id: '' },
  ...['', 'a.b', ' a', 'a"b', '"a"b', 'x\u0085', 'a\rb', 'a\r', '"two\nlines"', 'x'.repeat(65)].map(
    (text) => ({
      action: text,
    }),
  ),
  ...['', '2023-02-29T00:00:00.000Z', '2018-13-01T00:00:00.000Z', '0000-01-01T00:00:00.000Z', '\r'].map(
    (text) => ({
      timestamp: text,
    }),
  ),
  ...['2018-03-12T24:00:00.000Z', '2018-03-12T17:00:45.567', '2018-03-12T17:00:45.567+00:0x'].map((text) => ({
    timestamp: text,
  })),
  ...['longer', 'shorter', 'unclosed'].map((row) => ({ row })),
];

const file = (others: readonly Partial<Record<Field | 'row', string>>[]) =>
  fc.record({
    header: fc.shuffledSubarray(
      ['id', 'type', 'action', 'owner_id', 'actor_id', 'board_id', 'pin_id', 'timestamp'],
      {
        minLength: 8,
      },
    ),
    rows: fc.array(plainCells, { minLength: 1, maxLength: 20 }),
    other: fc.constantFrom(...others),
    place: fc.nat(19),
    end: fc.constantFrom('\n', '\r\n'),
    mark: fc.constantFrom('', '\ufeff'),
    tail: fc.constantFrom('', '\n', '\n\n', '\r\n', '\r'),
  });

/** A header that fills a whole block, because the fast path starts with the second one. */
const blockOf = (header: string) => header + '\n'.repeat(65_536 - Buffer.byteLength(header));

for (const [title, others] of [
  ['odd', ODD],
  ['bad', BAD],
] as const) {
  test(`plain events in CSV with one ${title} row among them are read as by the careful path`, async (t) => {
    const property = fc.asyncProperty(
      file(others),
      async ({ header, rows, other, place, end, mark, tail }) => {
        const lines = rows.map((cells, at) => {
          const given: Partial<Record<string, string>> =
            at === place % rows.length ? { ...cells, ...other } : cells;
          const line = header.map((name) => given[name]).join(',');
          if (given['row'] === 'longer') return `${line},`;
          if (given['row'] === 'unclosed') return `"${line}`;
          return given['row'] === 'shorter' ? line.slice(0, line.lastIndexOf(',')) : line;
        });
        const content = blockOf(mark + header.join(',')) + lines.join(end) + tail;
        const { problems } = await assertSame(t, 'events.csv', content);
        if (others === ODD) assert.deepEqual(problems, []);
      },
    );
    await fc.assert(property, { numRuns: 100 });
  });
}

const HEADER = 'id,type,action,owner_id,actor_id,board_id,pin_id,timestamp\n';
const plainRow = (at: number) =>
  `${at},pin,visited,1,2,3,4,${new Date(1_500_000_000_000 + at * 1000).toISOString()}\n`;
const manyRows = (count: number, write = plainRow) =>
  Array.from({ length: count }, (_, at) => write(at)).join('');

test('a long CSV file keeps order and lines where rows of both paths alternate', async (t) => {
  const odd = (at: number) =>
    at % 997 === 0 ? plainRow(at).replace('visited', '"vis\nited"').replace('\nited', 'ited') : plainRow(at);
  const { staged } = await assertSame(t, 'events.csv', HEADER + manyRows(5000, odd));
  assert.equal(staged.length, 5000);
});

test('plain rows are staged in full columns, however they are read', async (t) => {
  const folder = await makeFolder(t, { 'events.csv': blockOf(HEADER.trimEnd()) + manyRows(5000) });
  const store = openRecordingStore({ school: 70n });
  await importBundle({ store, organization: 'school', paths: [folder] });
  assert.deepEqual(store.batches, [2048, 2048, 904]);
});

test('a quoted cell that is never closed does not affect plain rows', async (t) => {
  const open = (at: number) => (at === 3000 ? plainRow(at).replace('visited', '"visited') : plainRow(at));
  const { problems } = await assertSame(t, 'events.csv', HEADER + manyRows(5000, open));
  assert.deepEqual(
    problems.map(({ line }) => line),
    [3002],
  );
});

test('a quoted cell that spans blocks contains the rows inside it', async (t) => {
  const write = (at: number) =>
    at === 1000 || at === 4000 ? plainRow(at).replace('visited', at === 1000 ? '"a' : 'b"') : plainRow(at);
  const { records, problems } = await assertSame(t, 'events.csv', HEADER + manyRows(5000, write));
  assert.equal(records, 2000);
  assert.equal(problems.length, 1);
});

test('a compressed file that is cut short is refused at the line that was reached', async (t) => {
  const packed = gzipSync(HEADER + manyRows(20_000));
  const cut = packed.subarray(0, packed.length - 20_000);
  const { problems } = await assertSame(t, 'events.csv.gz', cut);
  assert.match(problems[0]?.reason ?? '', /after the record of line \d{4}/);
});
