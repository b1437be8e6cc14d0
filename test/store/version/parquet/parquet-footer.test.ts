/** Parquet files whose metadata are implausible are refused before DuckDB reads them. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readParquet } from '../../../../src/store/version/parquet/parquet-reader.ts';
import { binary, i32, i64, list, struct, type ThriftValue } from '../thrift.ts';

const INT64 = 2;
const OPTIONAL = 1;
const root = (children: number) => struct({ 4: binary('schema'), 5: i32(children) });
const group = (children: number) => struct({ 3: i32(OPTIONAL), 4: binary('group'), 5: i32(children) });
const leaf = (name: string) => struct({ 1: i32(INT64), 3: i32(OPTIONAL), 4: binary(name) });
const times = (count: number, make: (at: number) => ThriftValue) =>
  Array.from({ length: count }, (_, at) => make(at));

/** A row group whose one column claims to be at the beginning of the file. */
function rowGroup(rows: number): ThriftValue {
  const column = struct({
    ...{ 1: i32(INT64), 2: list([i32(0)]), 3: list([binary('id')]), 4: i32(0), 5: i64(rows) },
    ...{ 6: i64(10), 7: i64(10), 9: i64(4) },
  });
  return struct({ 1: list([struct({ 2: i64(4), 3: column })]), 2: i64(10), 3: i64(rows) });
}

function footerOf(schema: readonly ThriftValue[], rowGroups: readonly ThriftValue[]): Buffer {
  return struct({ 1: i32(1), 2: list(schema), 3: i64(1), 4: list(rowGroups) }).bytes;
}

async function reasonOf(t: TestContext, footer: Buffer): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-footer-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'a.parquet');
  const length = Buffer.alloc(4);
  length.writeUInt32LE(footer.length);
  await writeFile(path, Buffer.concat([Buffer.from('PAR1'), footer, length, Buffer.from('PAR1')]));
  try {
    for await (const _rows of readParquet(path)) break;
    return '';
  } catch (error) {
    assert.equal(Reflect.get(Object(error), 'code'), 'file-unreadable');
    return String(error);
  }
}

const ONE_COLUMN = [root(1), leaf('id')];

for (const [what, footer, reason] of [
  [
    'rows that no file of its size has',
    footerOf(ONE_COLUMN, [rowGroup(2 ** 40)]),
    /claims 1099511627776 rows in \d+ bytes/,
  ],
  [
    'rows in many groups',
    footerOf(
      ONE_COLUMN,
      times(100, () => rowGroup(1_000_000)),
    ),
    /claims 100000000 rows/,
  ],
  [
    'columns without number',
    footerOf([root(5000), ...times(5000, (at) => leaf(`c${at}`))], []),
    /more than 1000 columns/,
  ],
  [
    'columns in each other',
    footerOf([root(1), ...times(64, () => group(1)), leaf('id')], []),
    /nest more than 64 levels/,
  ],
  ['a list longer than the file', Buffer.of(0x15, 2, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x0f), /broken/],
  ['nothing', Buffer.alloc(0), /broken/],
  ['values in each other without end', Buffer.alloc(1000, 0x9c), /broken/],
] as const) {
  test(`a Parquet file that claims ${what} is refused`, async (t) => {
    assert.match(await reasonOf(t, footer), reason);
  });
}

test('a Parquet file with modest claims is left to its reader', async (t) => {
  const nested = [root(1), ...times(62, () => group(1)), leaf('id')];
  assert.doesNotMatch(
    await reasonOf(t, footerOf(nested, [rowGroup(5)])),
    /claims|columns|broken|description/,
  );
});
