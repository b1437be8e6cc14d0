/**
 * Checksums of rows in SQLite files, which have none of their own. Triggers of the table write the
 * column `seal`; every query that reads a row compares it, so a row that the disk has changed is
 * refused. Only a row that matched its seal before a change gets a new one. Errors of SQLite that
 * mean damage are recognized here, too.
 */
import { createHash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { AppError } from '../domain/app-error.ts';

const SCHEMA_CHANGED = 'its schema has changed';

/** Codes of SQLite: SQLITE_ERROR; SQLITE_CORRUPT and SQLITE_NOTADB; the reads of SQLITE_IOERR. */
const FAILED = 1;
const DAMAGE: ReadonlySet<number> = new Set([11, 26]);
const FAILED_READS: ReadonlySet<number> = new Set([266, 522]);
/** Extended codes have the code itself in their last byte. */
const PRIMARY = 0xff;

export interface SealedTable {
  /** Of the SQLite file. */
  readonly file: string;
  readonly name: string;
  /** The column that identifies a row in messages. */
  readonly key: string;
  /** All columns but `seal`. */
  readonly columns: readonly string[];
  /** Says what is damaged and what to do; `key` is the value of the key column. */
  readonly describe: (key: string) => string;
}

/** Defines the functions that the triggers and queries use, for one connection. */
export function defineSeals(database: DatabaseSync, { describe }: SealedTable): void {
  const types = { deterministic: true, varargs: true, useBigIntArguments: true };
  database.function('row_seal', types, (...cells) => sealOf(cells));
  // A query calls it for the rows of its result only.
  database.function('refuse_damaged', {}, (key) => {
    throw new AppError('data-unreadable', describe(String(key)));
  });
}

/** Statements that add the column to a table without it, and seal its rows as they are. */
export function addSeals(table: SealedTable): string {
  return `ALTER TABLE ${table.name} ADD seal BLOB;
    UPDATE ${table.name} SET seal = ${seal(table)};
    ${addTriggers(table)}`;
}

/**
 * Statements for a table that has got further columns since it was sealed. `former` are the columns
 * before. Rows that did not match their seals still do not.
 */
export function extendSeals(table: SealedTable, former: readonly string[]): string {
  return `DROP TRIGGER ${table.name}_inserted;
    DROP TRIGGER ${table.name}_updated;
    UPDATE ${table.name} SET seal = ${seal(table)} WHERE seal IS ${seal({ ...table, columns: former })};
    ${addTriggers(table)}`;
}

function addTriggers(table: SealedTable): string {
  return `CREATE TRIGGER ${table.name}_inserted AFTER INSERT ON ${table.name} BEGIN ${sealNew(table)} END;
    CREATE TRIGGER ${table.name}_updated AFTER UPDATE OF ${table.columns.join(', ')} ON ${table.name}
    WHEN OLD.seal IS ${seal(table, 'OLD.')} BEGIN ${sealNew(table)} END;`;
}

/** A column for a query: throws `data-unreadable` for a row that does not match its seal. */
export function sealCheck(table: SealedTable): string {
  return `CASE WHEN ${isDamaged(table)} THEN refuse_damaged(${table.key}) END`;
}

/** A condition that selects the rows that do not match their seals. */
export function isDamaged(table: SealedTable): string {
  return `seal IS NOT ${seal(table)}`;
}

/** Seals a row as it is, whatever it was before. `parameter`: the value of the key column. */
export function acceptRow(table: SealedTable, parameter: '?' | '$1'): string {
  return `UPDATE ${table.name} SET seal = ${seal(table)} WHERE ${table.key} = ${parameter}`;
}

function sealNew(table: SealedTable): string {
  const { name, key } = table;
  return `UPDATE ${name} SET seal = ${seal(table, 'NEW.')} WHERE ${key} = NEW.${key};`;
}

function seal({ columns }: SealedTable, of = ''): string {
  return `row_seal(${columns.map((column) => `${of}${column}`).join(', ')})`;
}

type SqliteValue = string | number | bigint | Uint8Array | null;

/** SHA-256 of the types, lengths and values. */
function sealOf(cells: readonly SqliteValue[]): Uint8Array {
  const hash = createHash('sha256');
  for (const cell of cells) {
    const bytes = cell instanceof Uint8Array ? cell : Buffer.from(cell === null ? '' : String(cell));
    hash.update(`${cell === null ? 'null' : typeof cell} ${bytes.length} `).update(bytes);
  }
  return hash.digest();
}

/**
 * Records a checksum of the schema in the header of the file. Call it after every change of the
 * schema, in its transaction.
 */
export function sealSchema(database: DatabaseSync): void {
  database.exec(`PRAGMA application_id = ${schemaSum(database)}`);
}

function schemaSum(database: DatabaseSync): number {
  const rows = database.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name').all();
  const version = database.prepare('PRAGMA user_version').get();
  // The header has room for a signed integer of 32 bits.
  return crc32(JSON.stringify([rows, version])) | 0;
}

/**
 * Throws `DamagedFile`. A file without a checksum is new, or of an earlier version of Corkboard.
 */
export function refuseChangedSchema(database: DatabaseSync, file: string): void {
  if (recordedSum(database) !== 0 && hasChangedSchema(database)) throw new DamagedFile(file, SCHEMA_CHANGED);
}

function hasChangedSchema(database: DatabaseSync): boolean {
  return recordedSum(database) !== schemaSum(database);
}

function recordedSum(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA application_id').get()?.['application_id']);
}

/** A file that cannot be read as a whole. Some of it may still be readable. */
export class DamagedFile extends AppError {
  constructor(file: string, reason: string, options?: ErrorOptions) {
    super(
      'data-unreadable',
      `${file} is damaged (${reason.replaceAll('\n', ' ')}). Restore it from a backup.`,
      options,
    );
  }
}

/**
 * The error to throw in place of an error of SQLite: `DamagedFile` if the disk has changed the
 * pages or the schema of the file, otherwise the same.
 */
export function describeDamage(error: unknown, file: string, database?: DatabaseSync): unknown {
  if (!(error instanceof Error && 'errcode' in error)) return error;
  const code = Number(error.errcode);
  const isDamage =
    DAMAGE.has(code & PRIMARY) ||
    FAILED_READS.has(code) ||
    // Our own statements fail only if names in the schema have changed.
    (code === FAILED && database !== undefined && isUnlikeSeal(database));
  return isDamage ? new DamagedFile(file, error.message, { cause: error }) : error;
}

function isUnlikeSeal(database: DatabaseSync): boolean {
  try {
    return hasChangedSchema(database);
  } catch {
    return true;
  }
}

/** What is wrong with the pages and the schema of a file, and what to do, one line each. */
export function findDamageOfFile(database: DatabaseSync, table: SealedTable): readonly string[] {
  const lines = database.prepare('PRAGMA integrity_check').all();
  const broken = lines.map((line) => String(line['integrity_check'])).filter((line) => line !== 'ok');
  if (broken.length === 0 && hasChangedSchema(database)) broken.push(SCHEMA_CHANGED);
  return broken.length === 0 ? [] : [new DamagedFile(table.file, broken.join('; ')).message];
}

interface CheckedRows {
  /** The key of the last row; absent if no rows follow. */
  readonly last: string | undefined;
  /** What is wrong and what to do, one line for each damaged row. */
  readonly damage: readonly string[];
}

/** Checks the next rows in the order of their keys; without `after`, the first ones. */
export function checkRows(
  database: DatabaseSync,
  table: SealedTable,
  after: string | undefined,
  count: number,
): CheckedRows {
  const { key, name } = table;
  const condition = after === undefined ? '' : `WHERE ${key} > ?`;
  const rows = database
    .prepare(
      `SELECT ${key} AS key, ${isDamaged(table)} AS damaged FROM ${name} ${condition}
       ORDER BY ${key} LIMIT ${count}`,
    )
    .all(...(after === undefined ? [] : [after]));
  return {
    last: rows.length < count ? undefined : String(rows.at(-1)?.['key']),
    damage: rows.filter(({ damaged }) => damaged === 1).map((row) => table.describe(String(row['key']))),
  };
}
