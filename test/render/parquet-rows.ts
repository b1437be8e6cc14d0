/**
 * Reads a Parquet file with DuckDB, independently of our code, and converts the JSON response to
 * the rows that the file must contain.
 */
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance, DuckDBTimestampTZValue, type DuckDBValue } from '@duckdb/node-api';
import { escaped } from '../model/json.ts';

export interface ParquetRows {
  readonly columns: readonly (readonly [name: string, type: string])[];
  /** Values of the rows; instants in the form of the contract. */
  readonly rows: readonly (readonly (string | bigint | null)[])[];
}

/** Shared by all files of a process, because opening it takes longer than reading a small file. */
let shared: Promise<DuckDBInstance> | undefined;

/** Runs the query `select`, in which `$FILE` is the table of the file and `$PATH` its path. */
export async function readParquetRows(
  bytes: Uint8Array,
  select = 'SELECT * FROM $FILE',
): Promise<ParquetRows> {
  const path = join(tmpdir(), `corkboard-test-${crypto.randomUUID()}.parquet`);
  await writeFile(path, bytes);
  shared ??= DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await (await shared).connect();
  try {
    const read = await connection.runAndReadAll(
      select.replaceAll('$FILE', `read_parquet('${path}')`).replaceAll('$PATH', path),
    );
    const types = read.columnTypes().map(String);
    return {
      columns: read.columnNames().map((name, at) => [name, types[at]!] as const),
      rows: read.getRows().map((row) => row.map(plain)),
    };
  } finally {
    connection.closeSync();
    await rm(path);
  }
}

function plain(value: DuckDBValue): string | bigint | null {
  if (value === null || typeof value === 'bigint') return value;
  if (value instanceof DuckDBTimestampTZValue) {
    return new Date(Number(value.micros / 1000n)).toISOString().replace('Z', '+00:00');
  }
  return String(value);
}

const EVENT_PARTS = ['owner', 'actor', 'organization', 'pin', 'board'] as const;
const PIN_FIELDS = ['id', 'activity', 'title', 'body', 'web_url', 'image_url', 'tags'];

type Cells = Readonly<Record<string, unknown>>;

/** Converts a JSON array of events, boards or users to rows of cells, with exact ids. */
export function rowsOfJson(text: string): ParquetRows['rows'] {
  const items: readonly Cells[] = parseExactly(text);
  return items.map((item) => ('timestamp' in item ? eventCells(item) : Object.values(item).map(cell)));
}

function eventCells({ type, action, timestamp, ...parts }: Cells) {
  const cells = EVENT_PARTS.flatMap((part): unknown[] => {
    const fields = parts[part];
    if (fields === undefined) return PIN_FIELDS.map(() => null);
    return typeof fields === 'object' && fields !== null ? Object.values(fields) : [];
  });
  return [type, action, ...cells, timestamp].map(cell);
}

function cell(value: unknown): string | bigint | null {
  if (value === null || typeof value === 'bigint') return value;
  return typeof value === 'string' ? value : escaped(JSON.stringify(value));
}

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

function parseExactly<T>(text: string): T {
  const parse = JSON.parse as (text: string, reviver: Reviver) => T;
  return parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined ? BigInt(source) : value,
  );
}
