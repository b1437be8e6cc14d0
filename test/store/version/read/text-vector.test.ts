/** Texts that are copied from the memory of DuckDB are those that it was given. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type DuckDBConnection, DuckDBInstance, LIST, listValue, VARCHAR } from '@duckdb/node-api';
import fc from 'fast-check';
import { textColumn } from '../../../../src/store/version/read/text-vector.ts';

const short = fc.string({ maxLength: 14, unit: 'binary' });
const long = fc.string({ minLength: 10, maxLength: 5_000, unit: 'grapheme' });
/** A byte order mark is a part of the text. */
const MARKED = '\ufeffmarked';
const text = fc.oneof(fc.constantFrom('', MARKED, 'twelve bytes', 'thirteen byte'), short, long);

/** More than the rows of a chunk; the same texts come again, so that DuckDB stores them once. */
const texts = fc
  .tuple(fc.array(text, { minLength: 1, maxLength: 40 }), fc.integer({ min: 1, max: 5_000 }))
  .chain(([some, count]) =>
    fc.oneof(
      fc.constant(Array.from({ length: count }, (_, at) => some[(at * 7) % some.length]!)),
      fc.constant(some),
    ),
  );

describe('texts in the memory of DuckDB', () => {
  let folder: string;
  let connection: DuckDBConnection;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corkboard-texts-'));
    connection = await (await DuckDBInstance.create(join(folder, 'texts.duckdb'))).connect();
  });
  after(async () => {
    connection.closeSync();
    await rm(folder, { recursive: true });
  });

  async function readBack(query: string): Promise<string[]> {
    const read: string[] = [];
    for (const chunk of await (await connection.run(query)).fetchAllChunks()) {
      const column = textColumn(chunk, 0);
      assert.equal(column.count, chunk.rowCount);
      for (let row = 0; row < column.count; row++) read.push(column.at(row));
    }
    return read;
  }

  it('are copied as they are, from results and from each form in a file', async () => {
    await fc.assert(
      fc.asyncProperty(texts, async (given) => {
        for (const compression of ['auto', 'uncompressed', 'dictionary', 'fsst']) {
          await connection.run(`PRAGMA force_compression = '${compression}'`);
          await connection.run(
            'CREATE OR REPLACE TABLE texts AS SELECT unnest($given) AS text',
            { given: listValue([...given]) },
            { given: LIST(VARCHAR) },
          );
          await connection.run('CHECKPOINT');
          assert.deepEqual(await readBack('FROM texts'), given);
        }
        assert.deepEqual(
          await readBack("SELECT text || ' and more' FROM texts"),
          given.map((one) => `${one} and more`),
        );
        assert.deepEqual(
          (await readBack('SELECT text FROM texts ORDER BY hash(text)')).toSorted(),
          given.toSorted(),
        );
      }),
      { numRuns: 25 },
    );
  });

  it('are refused if one is null', async () => {
    const { message } = await readBack("SELECT NULLIF(x, 'b') FROM (VALUES ('a'), ('b')) t(x)").then(
      () => new Error('not refused'),
      (error: Error) => error,
    );
    assert.equal(message, 'column 0 has a null');
  });
});
