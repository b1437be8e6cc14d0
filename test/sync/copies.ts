/** Copies in each kind of target, and what they hold, read without the code of the product. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DuckDBInstance, type DuckDBValue } from '@duckdb/node-api';
import { Client } from 'pg';
import { newDatabase } from '../shared-servers.ts';

export interface CopyPlace {
  /** The value of `--to`. */
  readonly address: string;
  /** All rows of a table: texts, lists of texts, and instants as milliseconds; ids are digits. */
  rows(table: string): Promise<readonly CopyRow[]>;
  /** Runs statements there, as a different program. */
  run(sql: string): Promise<void>;
}

export type CopyRow = Readonly<Record<string, unknown>>;

export interface PlaceKind {
  readonly name: string;
  make(folder: string): Promise<CopyPlace>;
}

export const PLACES: readonly PlaceKind[] = [
  {
    name: 'DuckDB',
    async make(folder) {
      const path = join(folder, `${randomUUID()}.duckdb`);
      return {
        address: `duckdb:${path}`,
        rows: (table) => rowsOfDuckdb(path, table),
        run: (sql) => runInDuckdb(path, sql),
      };
    },
  },
  {
    name: 'SQLite',
    async make(folder) {
      const path = join(folder, `${randomUUID()}.sqlite`);
      return {
        address: `sqlite:${path}`,
        rows: async (table) => rowsOfSqlite(path, table),
        async run(sql) {
          using database = new DatabaseSync(path);
          database.exec(sql);
        },
      };
    },
  },
  {
    name: 'PostgreSQL',
    async make() {
      const url = await newDatabase('empty');
      return {
        address: url,
        rows: (table) => rowsOfPostgres(url, `community.${table}`),
        run: (sql) => runInPostgres(url, `CREATE SCHEMA community; SET search_path TO community; ${sql}`),
      };
    },
  },
];

async function runInDuckdb(path: string, sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}

async function runInPostgres(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}

async function rowsOfDuckdb(path: string, table: string): Promise<CopyRow[]> {
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  try {
    const reader = await connection.runAndReadAll(`FROM ${table}`);
    return reader.getRowObjects().map((row) => mapped(row, plain));
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

function plain(value: DuckDBValue): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if ('items' in value) return value.items;
  if ('micros' in value) return Number(value.micros) / 1000;
  throw new Error(`unexpected value ${String(value)}`);
}

function rowsOfSqlite(path: string, table: string): CopyRow[] {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const select = database.prepare(`SELECT * FROM ${table}`);
    select.setReadBigInts(true);
    return select.all().map((row) =>
      mapped(row, (value, name) => {
        if (typeof value === 'bigint') return String(value);
        if (typeof value !== 'string') return value;
        if (name === 'timestamp') return Date.parse(value);
        return name === 'pin_tags' ? JSON.parse(value) : value;
      }),
    );
  } finally {
    database.close();
  }
}

async function rowsOfPostgres(url: string, table: string): Promise<CopyRow[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(`SELECT * FROM ${table}`);
    return rows.map((row) => mapped(row, (value) => (value instanceof Date ? value.getTime() : value)));
  } finally {
    await client.end();
  }
}

function mapped<V>(row: Readonly<Record<string, V>>, map: (value: V, name: string) => unknown): CopyRow {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, map(value, name)]));
}
