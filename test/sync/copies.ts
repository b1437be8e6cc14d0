/** Copies in each kind of target, and what they hold, read without the code of the product. */
import { randomUUID } from 'node:crypto';
import { globSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, matchesGlob } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DuckDBInstance, type DuckDBValue } from '@duckdb/node-api';
import { Client, types } from 'pg';
import { TestObjects } from '../s3/objects.ts';
import { newDatabase, sharedBucket } from '../shared-servers.ts';

const FETCHED_ROWS = 10_000;

export interface CopyPlace {
  /** The value of `--to`. */
  readonly address: string;
  /** All rows of a table: texts, lists of texts, and instants as milliseconds; ids are digits. */
  rows(table: string): Promise<readonly CopyRow[]>;
}

/** A copy that can be larger than the memory. */
export interface LargePlace extends CopyPlace {
  /** The same as `rows`, many at a time. */
  read(table: string): AsyncIterable<readonly CopyRow[]>;
}

/** A copy in a database. */
export interface DatabasePlace extends LargePlace {
  /** The result of a query, with values as in `rows`, and days as texts. */
  query(sql: string): Promise<readonly CopyRow[]>;
  /** Names and types of the columns of a table or view, in their order. */
  columns(relation: string): Promise<Readonly<Record<string, string>>>;
  /** Runs statements there, as a different program. */
  run(sql: string): Promise<void>;
}

export type CopyRow = Readonly<Record<string, unknown>>;

export interface PlaceKind<Place extends CopyPlace = CopyPlace> {
  readonly name: string;
  make(folder: string): Promise<Place>;
}

const IN_SCHEMA = 'SET search_path TO community';

export const DATABASES: readonly PlaceKind<DatabasePlace>[] = [
  {
    name: 'DuckDB',
    async make(folder) {
      const path = join(folder, `${randomUUID()}.duckdb`);
      return {
        address: `duckdb:${path}`,
        read: (table) => readDuckdb(path, `FROM ${table}`),
        rows: (table) => queryDuckdb(path, `FROM ${table}`),
        query: (sql) => queryDuckdb(path, sql),
        columns: async (relation) =>
          typesOf(await queryDuckdb(path, `SELECT column_name, column_type FROM (DESCRIBE ${relation})`)),
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
        read: (table) => readSqlite(path, table),
        rows: async (table) => querySqlite(path, `SELECT * FROM ${table}`),
        query: async (sql) => querySqlite(path, sql),
        columns: async (relation) =>
          typesOf(querySqlite(path, `SELECT name, type FROM pragma_table_info('${relation}')`)),
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
        read: (table) => readPostgres(url, table),
        rows: (table) => queryPostgres(url, `SELECT * FROM ${table}`),
        query: (sql) => queryPostgres(url, sql),
        columns: async (relation) =>
          typesOf(
            await queryPostgres(
              url,
              `SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
               WHERE attrelid = '${relation}'::regclass AND attnum > 0 ORDER BY attnum`,
            ),
          ),
        run: (sql) => runInPostgres(url, `CREATE SCHEMA IF NOT EXISTS community; ${IN_SCHEMA}; ${sql}`),
      };
    },
  },
];

/** A folder of Parquet files. */
export const PARQUET: PlaceKind<LargePlace & { readonly path: string }> = {
  name: 'Parquet',
  async make(folder) {
    const path = join(folder, randomUUID());
    return {
      ...{ path, address: `parquet:${path}` },
      rows: (table) => rowsOfFiles(path, table),
      read: (table) => readFiles(path, table),
    };
  },
};

/** A bucket of Parquet files, under a prefix of its own. */
export const BUCKET: PlaceKind<LargePlace & { readonly objects: TestObjects }> = {
  name: 'a bucket',
  async make(folder) {
    const bucket = await sharedBucket();
    Object.assign(process.env, bucket.env);
    const address = bucket.address.replace('?', `/${randomUUID()}?`);
    const objects = new TestObjects(address);
    return {
      ...{ address, objects },
      rows: async (table) => rowsOfFiles(await downloadTable(objects, folder, table), table),
      async *read(table) {
        yield* readFiles(await downloadTable(objects, folder, table), table);
      },
    };
  },
};

export const PLACES: readonly PlaceKind[] = [...DATABASES, PARQUET, BUCKET];

/** Downloads what a program finds by its pattern, into a new folder. */
async function downloadTable(objects: TestObjects, folder: string, table: string): Promise<string> {
  const path = join(folder, randomUUID());
  for (const key of await objects.keys()) {
    if (!matchesGlob(key, table === 'events' ? 'events/month=*/*.parquet' : `${table}.parquet`)) continue;
    await mkdir(dirname(join(path, key)), { recursive: true });
    await writeFile(join(path, key), await objects.get(key));
  }
  return path;
}

/** Reads what a program finds by its pattern. A folder without events has no such files. */
export async function rowsOfFiles(path: string, table: string): Promise<readonly CopyRow[]> {
  const pattern = patternOf(path, table);
  if (table === 'events' && globSync(pattern).length === 0) return [];
  return await queryFiles(fromFiles(pattern));
}

/** Nothing if there are no files. */
async function* readFiles(path: string, table: string): AsyncGenerator<readonly CopyRow[]> {
  const pattern = patternOf(path, table);
  if (globSync(pattern).length > 0) yield* readDuckdb(':memory:', fromFiles(pattern));
}

function patternOf(path: string, table: string): string {
  return join(path, table === 'events' ? 'events/month=*/*.parquet' : `${table}.parquet`);
}

function fromFiles(pattern: string): string {
  return `FROM read_parquet('${pattern}', hive_partitioning = false)`;
}

/** The result of a query on files. */
export async function queryFiles(sql: string): Promise<readonly CopyRow[]> {
  return await queryDuckdb(':memory:', sql);
}

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

async function* readDuckdb(path: string, sql: string): AsyncGenerator<CopyRow[]> {
  const instance = await DuckDBInstance.create(path, optionsFor(path));
  const connection = await instance.connect();
  try {
    const result = await connection.stream(sql);
    for await (const rows of result.yieldRowObjects()) yield rows.map((row) => mapped(row, plain));
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

async function queryDuckdb(path: string, sql: string): Promise<CopyRow[]> {
  const instance = await DuckDBInstance.create(path, optionsFor(path));
  const connection = await instance.connect();
  try {
    const reader = await connection.runAndReadAll(sql);
    return reader.getRowObjects().map((row) => mapped(row, plain));
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

function optionsFor(path: string): Record<string, string> {
  return path === ':memory:' ? {} : { access_mode: 'READ_ONLY' };
}

function plain(value: DuckDBValue): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if ('items' in value) return value.items;
  if ('days' in value) return String(value);
  if ('micros' in value) return Number(value.micros / 1000n);
  throw new Error(`unexpected value ${String(value)}`);
}

async function* readSqlite(path: string, table: string): AsyncGenerator<CopyRow[]> {
  using database = new DatabaseSync(path, { readOnly: true });
  const select = database.prepare(`SELECT * FROM ${table}`);
  select.setReadBigInts(true);
  for (const row of select.iterate()) yield [mapped(row, plainOfSqlite)];
}

function plainOfSqlite(value: unknown, name: string): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'string') return value;
  if (name === 'timestamp') return Date.parse(value);
  return name === 'pin_tags' ? JSON.parse(value) : value;
}

function querySqlite(path: string, sql: string): CopyRow[] {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const select = database.prepare(sql);
    select.setReadBigInts(true);
    return select.all().map((row) => mapped(row, plainOfSqlite));
  } finally {
    database.close();
  }
}

async function* readPostgres(url: string, table: string): AsyncGenerator<CopyRow[]> {
  const client = new Client({ connectionString: url, types: { getTypeParser } });
  await client.connect();
  try {
    await client.query(`${IN_SCHEMA}; BEGIN; DECLARE places CURSOR FOR SELECT * FROM ${table}`);
    for (;;) {
      const { rows } = await client.query(`FETCH ${FETCHED_ROWS} FROM places`);
      if (rows.length === 0) break;
      yield rows.map((row) => mapped(row, plainOfPostgres));
    }
  } finally {
    await client.end();
  }
}

function plainOfPostgres(value: unknown): unknown {
  return value instanceof Date ? value.getTime() : value;
}

async function queryPostgres(url: string, sql: string): Promise<CopyRow[]> {
  const client = new Client({ connectionString: url, types: { getTypeParser } });
  await client.connect();
  try {
    await client.query(IN_SCHEMA);
    const { rows } = await client.query(sql);
    return rows.map((row) => mapped(row, plainOfPostgres));
  } finally {
    await client.end();
  }
}

/** Days as texts; without this they would be instants in the time zone of the process. */
function getTypeParser(type: number, format?: 'text' | 'binary') {
  return type === types.builtins.DATE ? (text: string) => text : types.getTypeParser(type, format as 'text');
}

/** `described`: rows of a name and a type. */
function typesOf(described: readonly CopyRow[]): Record<string, string> {
  return Object.fromEntries(described.map((row) => Object.values(row).map(String) as [string, string]));
}

function mapped<V>(row: Readonly<Record<string, V>>, map: (value: V, name: string) => unknown): CopyRow {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, map(value, name)]));
}
