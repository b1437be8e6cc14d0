/** A copy in a schema of a PostgreSQL database. Others can read it meanwhile. */
import { Client } from 'pg';
import { translated } from '../../store/catalog/connection-errors.ts';
import type { CopyTarget, CopyWriting } from '../copy-target.ts';
import { type CopyTable, TABLES } from '../tables.ts';
import {
  type ColumnTypes,
  columnsOf,
  commentsOn,
  indexesOf,
  namesOf,
  quoted,
  refusedBy,
  refuseOthers,
  SELECT_STATE,
  STATE_COLUMNS,
  STATE_TABLE,
  stateOf,
  stateValues,
  typeOf,
} from './sql.ts';

const TYPES: ColumnTypes = { integer: 'bigint', text: 'text', instant: 'timestamptz', texts: 'text[]' };
const CONNECT_MS = 10_000;

/**
 * Creates the schema and its tables if they do not exist. `schema`: lower-case letters, digits and
 * underscores. Throws `copy-refused`, and `database-away` like all its methods.
 */
export async function openPostgresTarget(url: string, schema: string): Promise<CopyTarget> {
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
    const tables = 'SELECT table_name FROM information_schema.tables WHERE table_schema = $1';
    const { rows } = await client.query({ text: tables, values: [schema], rowMode: 'array' });
    refuseOthers(rows.map(([name]) => String(name)));
    await client.query(schemaSql(schema));
  } catch (error) {
    await client?.end().catch(() => undefined);
    throw refusedBy('Cannot use the database', translated(error));
  }
  return targetOf(client);
}

function targetOf(client: Client): CopyTarget {
  return {
    async transact(change) {
      try {
        await client.query('BEGIN');
        // Keeps other syncs out until the end of the transaction; readers do not wait.
        await client.query(`LOCK TABLE ${STATE_TABLE} IN EXCLUSIVE MODE`);
        const { rows } = await client.query({ text: SELECT_STATE, rowMode: 'array' });
        const state = await change(writingOf(client), stateOf(rows[0]));
        await client.query(`DELETE FROM ${STATE_TABLE}`);
        await client.query(`INSERT INTO ${STATE_TABLE} VALUES ($1, $2, $3, $4)`, stateValues(state));
        await client.query('COMMIT');
      } catch (error) {
        await client.query('ROLLBACK').catch(() => undefined);
        throw translated(error);
      }
    },
    close: () => client.end().catch(() => undefined),
  };
}

/** Existing tables keep their indexes and privileges. */
function schemaSql(schema: string): string {
  const state = STATE_COLUMNS.map((name) => `${name} text`).join(', ');
  return `CREATE SCHEMA IF NOT EXISTS ${quoted(schema)}; SET search_path TO ${quoted(schema)};
    CREATE TABLE IF NOT EXISTS ${STATE_TABLE} (${state}); ${TABLES.map(tableSql).join('')}`;
}

function tableSql(table: CopyTable): string {
  const columns = [...columnsOf(table, TYPES), `PRIMARY KEY (${quoted(table.key)})`];
  return `CREATE TABLE IF NOT EXISTS ${table.name} (${columns.join(', ')}); ${indexesOf(table)} ${commentsOn(table)}`;
}

function writingOf(client: Client): CopyWriting {
  return {
    async clear({ name }) {
      await client.query(`DELETE FROM ${name}`);
    },
    async put(table, rows) {
      if (rows.length > 0) await client.query(putSql(table), [JSON.stringify(rows, storable)]);
    },
    async remove(table, column, values) {
      if (values.length === 0) return;
      const type = TYPES[typeOf(table, column)];
      await client.query(`DELETE FROM ${table.name} WHERE ${quoted(column)} = ANY($1::${type}[])`, [values]);
    },
  };
}

function putSql(table: CopyTable): string {
  const { name, key, columns } = table;
  const names = namesOf(table);
  const replaced = columns.map((column) => `${quoted(column.name)} = excluded.${quoted(column.name)}`);
  return `INSERT INTO ${name} (${names})
    SELECT ${names} FROM json_to_recordset($1::json) AS given (${columnsOf(table, TYPES).join(', ')})
    ON CONFLICT (${quoted(key)}) DO UPDATE SET ${replaced.join(', ')}`;
}

/** PostgreSQL has no character with the code 0 in texts. */
function storable(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '\uFFFD') : value;
}
