/** A copy in an SQLite file. Others can read it meanwhile. */
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import type { CopyTarget, CopyWriting } from '../copy-target.ts';
import { type CopyCell, type CopyColumn, type CopyTable, TABLES } from '../tables.ts';
import type { CopyView, ViewDialect } from '../views.ts';
import {
  type ColumnTypes,
  indexesOf,
  isLocked,
  keyNames,
  namesOf,
  POINTS_COLUMN,
  quoted,
  refusedBy,
  SELECT_STATE,
  STATE_COLUMNS,
  STATE_TABLE,
  stateOf,
  stateValues,
  typeOf,
} from './sql.ts';
import { noteOf, queryOf, type Relation, refuseOthers, viewsToMake } from './view-sql.ts';

/** Instants are ISO 8601 in UTC; lists of texts are JSON. */
const TYPES: ColumnTypes = { integer: 'INTEGER', text: 'TEXT', instant: 'TEXT', texts: 'TEXT' };
const DIALECT: ViewDialect = {
  // Programs that read the copy may have an SQLite without `unixepoch`.
  seconds: (instant) => `CAST(strftime('%s', ${instant}) AS INTEGER)`,
  dayOf: (seconds) => `CAST(date(${seconds}, 'unixepoch') AS TEXT)`,
  day: (instant) => `CAST(date(${instant}) AS TEXT)`,
  each: (texts) => `json_each(${texts}) AS each`,
  element: 'each.value',
};
const BUSY_TIMEOUT_MS = 5_000;
/**
 * Keys are in random order. With the usual 2 MiB, their pages would be written again and again.
 */
const CACHE_KIB = 64 * 1024;

/**
 * Creates the file and its tables if they do not exist. Throws `copy-refused`, and `copy-busy` like
 * `transact`.
 */
export async function openSqliteTarget(path: string, views: readonly CopyView[]): Promise<CopyTarget> {
  const database = openDatabase(path, views);
  const run = (sql: string) => database.exec(sql);
  return {
    async transact(change) {
      try {
        // Keeps other writers out from now on.
        run('BEGIN IMMEDIATE');
        const existing = relationsIn(database);
        refuseOthers(existing, stateColumnsIn(database), views);
        const select = database.prepare(SELECT_STATE);
        select.setReturnArrays(true);
        const before = select.get() as unknown as readonly unknown[] | undefined;
        const state = await change(writingOf(database), stateOf(before));
        for (const view of viewsToMake(existing, DIALECT, views)) run(viewSql(view));
        run(`DELETE FROM ${STATE_TABLE}`);
        database.prepare(`INSERT INTO ${STATE_TABLE} VALUES (?, ?, ?, ?, ?)`).run(...stateValues(state));
        run('COMMIT');
      } catch (error) {
        if (database.isTransaction) run('ROLLBACK');
        throw isLocked(error) ? refusedBy('Cannot write the SQLite file', error) : error;
      }
    },
    async close() {
      database.close();
    },
  };
}

function openDatabase(path: string, views: readonly CopyView[]): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    refuseOthers(relationsIn(database), stateColumnsIn(database), views);
    // Erased rows are overwritten with zeros.
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON; PRAGMA cache_size = -${CACHE_KIB}`);
    createTables(database);
    return database;
  } catch (error) {
    database?.close();
    throw refusedBy('Cannot open the SQLite file', error);
  }
}

/** New ones all or none: a table that the state does not know is taken for one of the user. */
function createTables(database: DatabaseSync): void {
  const tables = TABLES.map(tableSql).join('');
  // Waits for no other process if nothing is missing.
  if (stateColumnsIn(database).includes(POINTS_COLUMN)) {
    database.exec(tables);
    return;
  }
  database.exec('BEGIN IMMEDIATE');
  try {
    const state = STATE_COLUMNS.map((name) => `${name} TEXT`).join(', ');
    database.exec(`CREATE TABLE IF NOT EXISTS ${STATE_TABLE} (${state})`);
    if (!stateColumnsIn(database).includes(POINTS_COLUMN))
      database.exec(`ALTER TABLE ${STATE_TABLE} ADD COLUMN ${POINTS_COLUMN} TEXT`);
    database.exec(tables);
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** SQLite keeps the comments with the definition of the table. */
function tableSql(table: CopyTable): string {
  const { name, note, key, columns } = table;
  const isWhole = key.length === 1;
  const lines = columns.map((column) => {
    const ofKey = key.includes(column.name) ? `${isWhole ? ' PRIMARY KEY' : ''} NOT NULL` : '';
    return `${quoted(column.name)} ${TYPES[column.type]}${ofKey} /* ${column.note} */`;
  });
  if (!isWhole) lines.push(`PRIMARY KEY (${keyNames(table)})`);
  return `CREATE TABLE IF NOT EXISTS ${name} ( /* ${note} */\n${lines.join(',\n')}); ${indexesOf(table)}`;
}

/** Like those of tables, the comments are part of the definition. */
function viewSql(view: CopyView): string {
  return `DROP VIEW IF EXISTS ${view.name};
    CREATE VIEW ${view.name} AS /* ${noteOf(view, DIALECT)} */\n${queryOf(view, DIALECT, true)};`;
}

/** SQLite does not distinguish upper and lower case in names. */
function relationsIn(database: DatabaseSync): Relation[] {
  const relations = database
    .prepare("SELECT lower(name) AS name, sql FROM sqlite_master WHERE type IN ('table', 'view')")
    .all();
  return relations.map(({ name, sql }) => ({ name: String(name), comment: String(sql) }));
}

/** None if the table does not exist. */
function stateColumnsIn(database: DatabaseSync): string[] {
  return database
    .prepare(`SELECT name FROM pragma_table_info('${STATE_TABLE}')`)
    .all()
    .map(({ name }) => String(name));
}

function writingOf(database: DatabaseSync): CopyWriting {
  return {
    async clear({ name }) {
      database.exec(`DELETE FROM ${name}`);
    },
    async put(table, rows) {
      const places = table.columns.map(() => '?').join(', ');
      const insert = database.prepare(
        `INSERT OR REPLACE INTO ${table.name} (${namesOf(table)}) VALUES (${places})`,
      );
      for (const row of rows) insert.run(...row.map((cell, at) => sqliteValue(table.columns[at]!, cell)));
    },
    async remove(table, column, values) {
      const remove = database.prepare(`DELETE FROM ${table.name} WHERE ${quoted(column)} = ?`);
      const isInteger = typeOf(table, column) === 'integer';
      for (const value of values) remove.run(isInteger ? BigInt(value) : value);
    },
  };
}

function sqliteValue({ type }: CopyColumn, cell: CopyCell): SQLInputValue {
  if (typeof cell === 'string') return type === 'integer' ? BigInt(cell) : cell;
  return cell === null ? null : JSON.stringify(cell);
}
