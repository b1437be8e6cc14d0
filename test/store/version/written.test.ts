/** The writes to a file that DuckDB records: they cover every difference to the file before. */
import assert from 'node:assert/strict';
import { copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { digestsOf, digestsWithout } from '../../../src/store/chunks/chunk-digests.ts';
import { Database, type DatabaseOptions } from '../../../src/store/version/database.ts';
import { temporaryFolder } from '../../cli/command.ts';
import { runs } from '../../model/runs.ts';

const folder = temporaryFolder();
const before = join(folder, 'before.duckdb');
const ROWS = 1_000_000;

const options: DatabaseOptions = {
  readOnly: false,
  // Sorting all rows needs more, so DuckDB writes to temporary files.
  memoryBytes: 60e6,
  spillFolder: join(folder, 'spilled'),
};

async function change(path: string, statements: readonly string[], recordsWrites: boolean) {
  const database = await Database.open(path, { ...options, recordsWrites });
  const connection = await database.connect();
  try {
    for (const statement of [...statements, 'CHECKPOINT']) await connection.run(statement);
    return await database.written();
  } finally {
    connection.closeSync();
    database.close();
  }
}

const place = fc.nat(ROWS);
const changes = fc.oneof(
  place.map((at) => `DELETE FROM numbers WHERE number BETWEEN ${at} AND ${at + 1000}`),
  place.map((at) => `UPDATE numbers SET word = 'changed' WHERE number = ${at}`),
  place.map((at) => `INSERT INTO numbers (number, word) SELECT range, 'new' FROM range(${at % 20_000})`),
  place.map((at) => `CREATE OR REPLACE TABLE made AS SELECT range, hash(range) FROM range(${at})`),
  fc.constant('DROP TABLE IF EXISTS made'),
  place.map((at) => `CREATE OR REPLACE TEMP TABLE noted AS FROM numbers WHERE number < ${at}`),
  place.map(
    (at) => `BEGIN; INSERT INTO numbers (number, word) SELECT range, hash(range) FROM range(${at}); ROLLBACK`,
  ),
  place.map((at) => `ALTER TABLE numbers ADD COLUMN IF NOT EXISTS more_${at % 3} INTEGER DEFAULT ${at}`),
  place.map((at) => `CREATE OR REPLACE TABLE made AS FROM numbers ORDER BY hash(number + ${at})`),
  fc.constant('CHECKPOINT'),
);

describe('the writes that are recorded', () => {
  it('cover every difference to the file before, and little else', async () => {
    await change(
      before,
      [`CREATE TABLE numbers AS SELECT range AS number, 'word ' || hash(range) AS word FROM range(${ROWS})`],
      false,
    );
    const digests = await digestsOf(before);
    const path = join(folder, 'next.duckdb');
    const property = fc.asyncProperty(
      fc.array(changes, { minLength: 1, maxLength: 6 }),
      async (statements) => {
        copyFileSync(before, path);
        const known = digestsWithout(digests, await change(path, statements, true));
        assert.deepEqual(await digestsOf(path, { known }), await digestsOf(path));
      },
    );
    await fc.assert(property, { ...runs(10) });

    copyFileSync(before, path);
    const written = await change(path, [`DELETE FROM numbers WHERE number = ${ROWS - 1}`], true);
    const bytes = written!.reduce((sum, { length }) => sum + length, 0);
    assert.ok(bytes < statSync(path).size / 4, `${bytes}`);
  });

  it('are not known unless they were asked for', async () => {
    assert.equal(await change(join(folder, 'own.duckdb'), ['CREATE TABLE a (b INT)'], false), undefined);
  });
});
