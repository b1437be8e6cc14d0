/** How many threads process a version file: one for few rows, all for many. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { Database, prepareThreads, runRows } from '../../../src/store/version/database.ts';

const folder = mkdtempSync(join(tmpdir(), 'corkboard-threads-'));
after(() => rmSync(folder, { recursive: true }));

const THREADS = "SELECT current_setting('threads')";
const open = (name: string) =>
  Database.open(join(folder, name), {
    ...{ readOnly: false, memoryBytes: 512e6, spillFolder: join(folder, 'spilled') },
  });

/** The default of DuckDB on this machine. */
async function allThreads(): Promise<unknown> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const [row] = await runRows(connection, THREADS);
  connection.closeSync();
  instance.closeSync();
  return row?.[0];
}

it('a new or small file has one thread, until many rows are to be processed', async () => {
  const database = await open('small.duckdb');
  const connection = await database.connect();
  const threads = async () => (await runRows(connection, THREADS))[0]?.[0];
  assert.equal(await threads(), 1n);
  await prepareThreads(connection, 122_879);
  assert.equal(await threads(), 1n);
  await prepareThreads(connection, 122_880);
  assert.equal(await threads(), await allThreads());
  connection.closeSync();
  database.close();
});

it('a large file has all threads from the beginning', async () => {
  const database = await open('large.duckdb');
  await database.rows('CREATE TABLE large AS SELECT hash(range) AS noise FROM range(1_200_000)');
  database.close();
  const again = await open('large.duckdb');
  assert.deepEqual(await again.rows(THREADS), [[await allThreads()]]);
  again.close();
});
