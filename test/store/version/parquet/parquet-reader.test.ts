import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { type ParquetRow, readParquet } from '../../../../src/store/version/parquet/parquet-reader.ts';

/** A Parquet file with the rows of a query, removed after the test. */
async function writeParquet(t: TestContext, query: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-parquet-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, "it's.parquet");
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`COPY (${query}) TO '${path.replaceAll("'", "''")}' (FORMAT parquet)`);
  connection.closeSync();
  instance.closeSync();
  return path;
}

async function rowsOf(path: string): Promise<ParquetRow[]> {
  const rows: ParquetRow[] = [];
  for await (const some of readParquet(path)) rows.push(...some);
  return rows;
}

test('a row is a JSON object with exact integers, and instants with their offset', async (t) => {
  const path = await writeParquet(
    t,
    `SELECT 9223372036854775807 AS id, TIMESTAMPTZ '2020-01-01 00:00:00.123456+02' AS "at ""x""",
      TIMESTAMP '2020-01-01 00:00:00' AS local, {'id': 5} AS owner, ['a', 'b'] AS tags, NULL AS nothing, 'é"' AS text`,
  );
  assert.deepEqual(await rowsOf(path), [
    {
      line: 1,
      text:
        '{"id":9223372036854775807,"at \\"x\\"":"2019-12-31T22:00:00.123+00:00","local":"2020-01-01 00:00:00",' +
        '"owner":{"id":5},"tags":["a","b"],"nothing":null,"text":"é\\""}',
    },
  ]);
});

test('rows keep the order of the file', async (t) => {
  const rows = await rowsOf(await writeParquet(t, 'SELECT range AS id FROM range(10000)'));
  assert.equal(rows.length, 10_000);
  assert.ok(rows.every(({ line, text }) => text === `{"id":${line - 1}}`));
});

test('an abandoned read ends', async (t) => {
  const path = await writeParquet(t, 'SELECT range AS id FROM range(10000)');
  for await (const rows of readParquet(path)) {
    assert.equal(rows[0]?.line, 1);
    break;
  }
});

test('a file that is not Parquet, or only a part of it, is refused without the path of the machine', async (t) => {
  const path = await writeParquet(t, 'SELECT range AS id FROM range(10000)');
  const whole = await readFile(path);
  for (const content of ['id,title\n', '', whole.subarray(0, 1000), whole.fill(7, 100, 20_000)]) {
    await writeFile(path, content);
    await assert.rejects(rowsOf(path), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'file-unreadable');
      assert.ok(!error.message.includes(path), error.message);
      return true;
    });
  }
});
