/** A COPY is read to its end or given up, fast or slowly, and leaves a connection that can be asked again. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../src/app-error.ts';
import { Database, type Session } from '../../src/dataset/postgres/database.ts';
import { collectRuns } from '../../src/dataset/resident/columns.ts';
import { sharedPostgres } from '../postgres/throwaway.ts';

const ROWS = 300_000;
const MANY = `SELECT n, 'text ' || n FROM generate_series(1, ${ROWS}) n`;
const TYPES = ['int4', 'text'] as const;

describe('a COPY to the client', () => {
  let database: Database;
  let session: Session & { close(): void };
  before(async () => {
    database = new Database(await (await sharedPostgres()).newDatabase());
    session = await database.open();
  });
  after(async () => {
    session.close();
    await database.close();
  });

  const isUsable = async () => assert.deepEqual(await session.rows('SELECT 1'), [[1]]);

  it('brings every row once and in order', async () => {
    let rows = 0;
    for await (const { count, columns } of session.columns(MANY, TYPES)) {
      const [number, text] = columns;
      for (let row = 0; row < count; row++) {
        rows += 1;
        if (number[row] !== rows || text[row] !== `text ${rows}`) assert.fail(`row ${rows} is another one`);
      }
    }
    assert.equal(rows, ROWS);
  });

  it('brings rows that are longer than a chunk, and none where there are none', async () => {
    const sql = `SELECT repeat('zoë', 100000 * n) FROM generate_series(0, 3) n`;
    const texts: string[] = [];
    for await (const { columns } of session.columns(sql, ['text'])) texts.push(...columns[0]);
    assert.deepEqual(
      texts.map((text) => text.length),
      [0, 300_000, 600_000, 900_000],
    );
    assert.deepEqual(await collectRuns(session.columns('SELECT 1 WHERE false', ['int4'])), []);
  });

  it('waits for a slow reader, whatever time a question may take', async () => {
    await session.run(`SET statement_timeout = 200`);
    let rows = 0;
    for await (const { count } of session.columns(MANY, TYPES)) {
      if (rows === 0) await delay(600);
      rows += count;
    }
    assert.equal(rows, ROWS);
    assert.deepEqual(await session.rows('SHOW statement_timeout'), [['200ms']]);
    await session.run('RESET statement_timeout');
  });

  it('can be given up', async () => {
    for await (const { count } of session.columns(MANY, TYPES)) if (count > 0) break;
    await isUsable();
  });

  it('fails with what the database says, also half way', async () => {
    await assert.rejects(collectRuns(session.columns('SELECT nothing', ['int4'])), /"nothing"/);
    const late = `SELECT 1 / (n - 20000) FROM generate_series(1, 30000) n`;
    await assert.rejects(collectRuns(session.columns(late, ['int4'])), /division by zero/);
    await isUsable();
  });

  it('says that the database is away when the connection breaks', async () => {
    const other = await database.open();
    const [row] = await other.rows('SELECT pg_backend_pid()');
    const reading = async () => {
      for await (const { count } of other.columns(MANY, TYPES)) {
        if (count > 0) await session.rows('SELECT pg_terminate_backend($1)', [row?.[0] ?? null]);
      }
    };
    await assert.rejects(reading(), (error) => error instanceof AppError && error.code === 'database-away');
    other.close();
    await isUsable();
  });
});
