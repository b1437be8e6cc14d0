/** Rows with long texts are divided into portions that a sort can hold. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { runRows } from '../../../src/store/version/database.ts';
import { bytesOfTexts } from '../../../src/store/version/long-texts.ts';
import { portionsOf } from '../../../src/store/version/portions.ts';

const PORTION_BYTES = 64;

const row = fc.record(
  {
    key: fc.integer({ min: -3, max: 8 }),
    bytes: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.constantFrom(PORTION_BYTES, null)),
  },
  { noNullPrototype: true },
);

describe('rows with long texts', () => {
  let connection: DuckDBConnection;
  const read = (sql: string) => runRows(connection, sql);
  before(async () => {
    connection = await (await DuckDBInstance.create()).connect();
    await connection.run('CREATE TABLE sizes (key BIGINT, bytes BIGINT)');
  });
  after(() => connection.closeSync());

  it('are all selected once, in the order of the key, with a bounded amount of text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 8 }), async (rows) => {
        await connection.run('DELETE FROM sizes');
        for (const { key, bytes } of rows)
          await connection.run(`INSERT INTO sizes VALUES (${key}, ${bytes})`);
        const source = "(SELECT key, repeat('x', bytes) AS body FROM sizes)";
        const portions = await portionsOf(
          read,
          { source, key: 'key', size: bytesOfTexts(['body']) },
          PORTION_BYTES,
        );

        const total = sum(rows);
        if (total <= PORTION_BYTES) assert.deepEqual(portions, ['true']);
        const selected: Sizes[][] = [];
        for (const portion of portions) {
          const found = await read(`SELECT key, bytes FROM sizes WHERE ${portion}`);
          selected.push(
            found.map(([key, bytes]) => ({ key: Number(key), bytes: bytes === null ? null : Number(bytes) })),
          );
        }
        assert.deepEqual(selected.flat().toSorted(compare), rows.toSorted(compare));
        for (const [at, portion] of selected.entries()) {
          const withText = portion.filter(({ bytes }) => (bytes ?? 0) > 0).map(({ key }) => key);
          const before = portion.filter(({ key }) => key < Math.max(...withText));
          assert.ok(sum(before) <= PORTION_BYTES, `${sum(before)} bytes before the last key`);
          const last = Math.max(...portion.map(({ key }) => key));
          for (const later of selected.slice(at + 1).flat()) assert.ok(later.key > last);
        }
      }),
      { numRuns: 100 },
    );
  });
});

type Sizes = { key: number; bytes: number | null };

function sum(rows: readonly Sizes[]): number {
  return rows.reduce((bytes, each) => bytes + (each.bytes ?? 0), 0);
}

function compare(one: Sizes, other: Sizes): number {
  return one.key - other.key || (one.bytes ?? -1) - (other.bytes ?? -1);
}
