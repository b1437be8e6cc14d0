/** A copy in a schema of a PostgreSQL database. Others can read it meanwhile. */
import { Client } from 'pg';
import { AppError } from '../../domain/app-error.ts';
import { translated } from '../../store/catalog/connection-errors.ts';
import type { CopyTarget, CopyWriting } from '../copy-target.ts';
import { type CopyCell, type CopyRow, type CopyTable, TABLES } from '../tables.ts';
import type { CopyView, ViewDialect } from '../views.ts';
import {
  type ColumnTypes,
  columnsOf,
  commentsOn,
  indexesOf,
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
import { createView, type Relation, refuseOthers, viewsToMake } from './view-sql.ts';

const TYPES: ColumnTypes = { integer: 'bigint', text: 'text', instant: 'timestamptz', texts: 'text[]' };
const DIALECT: ViewDialect = {
  day: (instant) => `CAST(${instant} AT TIME ZONE 'UTC' AS date)`,
  seconds: (instant) => `CAST(floor(extract(epoch FROM ${instant})) AS bigint)`,
  dayOf: (seconds) => `CAST(to_timestamp(${seconds}) AT TIME ZONE 'UTC' AS date)`,
  each: (texts) => `unnest(${texts}) AS each(tag)`,
  element: 'tag',
};
/** Columns are passed as arrays, and arrays of arrays of different lengths do not exist. */
const PASSED: ColumnTypes = { ...TYPES, texts: 'text' };
const CONNECT_MS = 10_000;
/**
 * First key of the advisory lock that serializes the making of tables: "sync" in ASCII. The second
 * one is that of the schema. PostgreSQL refuses to make what an unfinished transaction makes, also
 * with IF NOT EXISTS.
 */
const LOCK = 0x73796e63;

/**
 * Creates the schema and its tables if they do not exist. `schema`: lower-case letters, digits and
 * underscores. `reader`: role that gets the privilege to read tables and views, if any. Throws
 * `copy-refused`, and `database-away` like all its methods.
 */
export async function openPostgresTarget(
  url: string,
  schema: string,
  reader: string | undefined,
  views: readonly CopyView[],
): Promise<CopyTarget> {
  let client: Client | undefined;
  try {
    client = new Client({
      connectionString: url,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      application_name: 'corkboard sync',
    });
    // A connection that breaks fails the statement under way or the next one.
    client.on('error', () => undefined);
    await client.connect();
    const existing = await relationsIn(client, schema);
    // Read later: a different run that makes tables meanwhile has then made the columns as well.
    const stateColumns = await stateColumnsIn(client, schema);
    refuseOthers(existing, stateColumns, views);
    if (reader !== undefined) await checkRole(client, reader);
    // By itself, because a pooler that allows no transactions only refuses one that stays open.
    await client.query('BEGIN');
    await client.query(schemaSql(schema, stateColumns));
  } catch (error) {
    await client?.end().catch(() => undefined);
    throw refusedBy('Cannot use the database', translated(error));
  }
  return targetOf(client, schema, reader, views);
}

function targetOf(
  client: Client,
  schema: string,
  reader: string | undefined,
  views: readonly CopyView[],
): CopyTarget {
  return {
    async transact(change) {
      try {
        await client.query(`BEGIN; ${inSchema(schema)}`);
        // Keeps other syncs out until the end of the transaction; readers do not wait.
        await client.query(`LOCK TABLE ${STATE_TABLE} IN EXCLUSIVE MODE`);
        const existing = await relationsIn(client, schema);
        refuseOthers(existing, await stateColumnsIn(client, schema), views);
        const { rows } = await client.query({ text: SELECT_STATE, rowMode: 'array' });
        const state = await change(writingOf(client), stateOf(rows[0]));
        await makeViews(client, existing, views, async () => {
          if (reader !== undefined) await grant(client, schema, reader, views);
        });
        await client.query(`DELETE FROM ${STATE_TABLE}`);
        await client.query(`INSERT INTO ${STATE_TABLE} VALUES ($1, $2, $3, $4, $5)`, stateValues(state));
        await client.query('COMMIT');
      } catch (error) {
        await client.query('ROLLBACK').catch(() => undefined);
        throw translated(error);
      }
    },
    close: () => client.end().catch(() => undefined),
  };
}

/**
 * Existing tables keep their indexes and privileges. PostgreSQL makes all of it or nothing. A
 * column is added only if it is missing, because that waits for everybody who reads the table.
 */
function schemaSql(schema: string, stateColumns: readonly string[]): string {
  const state = STATE_COLUMNS.map((name) => `${name} text`).join(', ');
  const added = `ALTER TABLE ${STATE_TABLE} ADD COLUMN IF NOT EXISTS ${POINTS_COLUMN} text;`;
  return `SELECT pg_advisory_xact_lock(${LOCK}, hashtext('${schema}'));
    CREATE SCHEMA IF NOT EXISTS ${quoted(schema)}; ${inSchema(schema)}
    CREATE TABLE IF NOT EXISTS ${STATE_TABLE} (${state});
    ${stateColumns.includes(POINTS_COLUMN) ? '' : added} ${TABLES.map(tableSql).join('')} COMMIT;`;
}

/** For one transaction: behind a pooler, the next one may be in a different session. */
function inSchema(schema: string): string {
  return `SET LOCAL search_path TO ${quoted(schema)};`;
}

function tableSql(table: CopyTable): string {
  const columns = [...columnsOf(table, TYPES), `PRIMARY KEY (${keyNames(table)})`];
  return `CREATE TABLE IF NOT EXISTS ${table.name} (${columns.join(', ')}); ${indexesOf(table)} ${commentsOn('TABLE', table)}`;
}

/** Comes last, because a view that is replaced cannot be read until the end of the transaction. */
async function makeViews(
  client: Client,
  existing: readonly Relation[],
  views: readonly CopyView[],
  grantAll: () => Promise<void>,
): Promise<void> {
  try {
    for (const view of viewsToMake(existing, DIALECT, views)) await client.query(createView(view, DIALECT));
    await grantAll();
  } catch (error) {
    throw refusedBy('Cannot make the views of the copy', translated(error));
  }
}

/** Everything in the schema, whatever the privileges of this role. */
async function relationsIn(client: Client, schema: string): Promise<Relation[]> {
  const text = `SELECT relname, obj_description(pg_class.oid, 'pg_class') FROM pg_class
    JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = $1`;
  const { rows } = await client.query({ text, values: [schema], rowMode: 'array' });
  return rows.map(([name, comment]) => ({ name: String(name), comment: String(comment ?? '') }));
}

/** None if the table does not exist. */
async function stateColumnsIn(client: Client, schema: string): Promise<string[]> {
  const text = `SELECT attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = $1 AND relname = $2 AND attnum > 0 AND NOT attisdropped`;
  const { rows } = await client.query({ text, values: [schema, STATE_TABLE], rowMode: 'array' });
  return rows.map(([name]) => String(name));
}

async function checkRole(client: Client, role: string): Promise<void> {
  const { rowCount } = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [role]);
  if (rowCount === 1) return;
  throw new AppError(
    'copy-refused',
    `The database has no role "${role}" (--grant). Create it: CREATE ROLE ${quotedRole(role)} LOGIN.`,
  );
}

/** Grants what the role lacks: a table or view that was made again has no privileges. */
async function grant(
  client: Client,
  schema: string,
  role: string,
  views: readonly CopyView[],
): Promise<void> {
  const relations = [...TABLES, ...views].map(({ name }) => name);
  const { rows } = await client.query({
    text: "SELECT name FROM unnest($1::text[]) AS name WHERE NOT has_table_privilege($2, quote_ident(name), 'SELECT')",
    values: [relations, role],
    rowMode: 'array',
  });
  const { rowCount: isLacking } = await client.query(
    "SELECT WHERE NOT has_schema_privilege($1, $2, 'USAGE')",
    [role, schema],
  );
  if (isLacking === 1) await client.query(`GRANT USAGE ON SCHEMA ${quoted(schema)} TO ${quotedRole(role)}`);
  if (rows.length > 0) await client.query(`GRANT SELECT ON ${rows.join(', ')} TO ${quotedRole(role)}`);
}

/** Roles can have any name. */
function quotedRole(role: string): string {
  return quoted(role.replaceAll('"', '""'));
}

function writingOf(client: Client): CopyWriting {
  return {
    async clear({ name }) {
      await client.query(`DELETE FROM ${name}`);
    },
    async put(table, rows) {
      if (rows.length > 0) await client.query(putSql(table), valuesOf(table, rows));
    },
    async remove(table, column, values) {
      if (values.length === 0) return;
      const type = TYPES[typeOf(table, column)];
      await client.query(`DELETE FROM ${table.name} WHERE ${quoted(column)} = ANY($1::${type}[])`, [values]);
    },
  };
}

/** The values of each column are one parameter. */
function putSql(table: CopyTable): string {
  const { name, columns } = table;
  const names = namesOf(table);
  const values = columns.map(({ type }, at) => `$${at + 1}::${PASSED[type]}[]`);
  const selected = columns.map((column) => `${quoted(column.name)}::${TYPES[column.type]}`);
  const replaced = columns.map((column) => `${quoted(column.name)} = excluded.${quoted(column.name)}`);
  return `INSERT INTO ${name} (${names})
    SELECT ${selected.join(', ')} FROM unnest(${values.join(', ')}) AS given (${names})
    ON CONFLICT (${keyNames(table)}) DO UPDATE SET ${replaced.join(', ')}`;
}

function valuesOf({ columns }: CopyTable, rows: readonly CopyRow[]): (string | null)[][] {
  return columns.map((_, at) => rows.map((row) => parameterOf(row[at] ?? null)));
}

function parameterOf(cell: CopyCell): string | null {
  return typeof cell === 'string' || cell === null ? cell : arrayText(cell);
}

/** The texts as PostgreSQL writes an array. */
function arrayText(texts: readonly string[]): string {
  return `{${texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
}
