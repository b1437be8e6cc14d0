/**
 * Reads the tables of Corkboard 0.1 in PostgreSQL. A row is part of the publications
 * `born <= publication < died`. Events have only the publication that added them, and never end.
 */

import type { Counts } from '../src/dataset/dataset.ts';
import { AppError } from '../src/domain/app-error.ts';
import type { KeyRow } from '../src/keys/key-row.ts';
import { openPostgresKeyRows } from '../src/keys/postgres-keyring.ts';
import type { CatalogEntry, ColumnValue } from '../src/store/catalog/catalog.ts';
import { checkRowSteps, SCHEMA_OF_ROWS } from '../src/store/catalog/migrate.ts';
import type { OwnConnection, PostgresDatabase } from '../src/store/catalog/postgres-database.ts';
import { organizationDigest } from '../src/store/organization-digest.ts';
import { bigint, derivedIds, text, userPointsKey } from '../src/store/stored-values.ts';
import type { VersionFacts } from '../src/store/version/version-row.ts';
import {
  type Carried,
  type Carrier,
  type CopiedRows,
  type CopiedTable,
  copiedRows,
  selection,
  VERSION_TABLES,
} from '../src/store/version-tables.ts';

/** The schema of the tables before `corkboard migrate` sets them aside. */
const IN_PLACE = 'corkboard';

/** Tables whose rows can end, and thus have a column `died`. */
const MORTAL: ReadonlySet<CopiedTable> = new Set([
  ...(['users', 'user_properties', 'boards', 'pins', 'imported_points', 'user_created'] as const),
  ...(['board_created', 'board_people', 'policies', 'board_policies', 'awards', 'standings'] as const),
]);

/** Rows in memory at once, for tables with only numbers and for tables with texts, often long. */
const FETCHED = { numbers: 8_192, texts: 512 } as const;

/** `schema` contains the tables. */
export interface OldTables {
  readonly schema: string;
  readonly isSetAside: boolean;
}

export interface OldVersion {
  readonly entry: CatalogEntry;
  readonly facts: VersionFacts;
  readonly counts: Counts;
  /** All rows of a table in the order of `VERSION_TABLES`, in batches of bounded size. */
  rows(table: CopiedTable): AsyncIterable<CopiedRows>;
}

/**
 * Finds the tables. `mayBeInPlace`: the tables need not be set aside, because the target is
 * elsewhere. Throws `data-unreadable`, with the remedy, if there are no usable tables.
 */
export async function findTables(database: PostgresDatabase, mayBeInPlace: boolean): Promise<OldTables> {
  const isSetAside = await hasTables(database, SCHEMA_OF_ROWS);
  if (!isSetAside && !(await hasTables(database, IN_PLACE))) {
    throw new AppError(
      'data-unreadable',
      'The database has no tables of Corkboard 0.1. If they were copied and dropped, nothing is left to do; otherwise check --database.',
    );
  }
  if (!isSetAside && !mayBeInPlace) {
    throw new AppError(
      'data-unreadable',
      'The tables of Corkboard 0.1 are still in their place. Stop its servers and imports, and run "corkboard migrate" to set them aside; or copy to a different place with --to.',
    );
  }
  const schema = isSetAside ? SCHEMA_OF_ROWS : IN_PLACE;
  await checkRowSteps(database, schema);
  return { schema, isSetAside };
}

async function hasTables(database: PostgresDatabase, schema: string): Promise<boolean> {
  const [row] = await database.rows('SELECT to_regclass($1) IS NOT NULL', [`${schema}.migrations`]);
  return row?.[0] === true;
}

/** One snapshot of the tables, which stays consistent until the caller closes it. */
export class OldSnapshot {
  readonly #connection: OwnConnection;

  private constructor(connection: OwnConnection) {
    this.#connection = connection;
  }

  static async open(database: PostgresDatabase, { schema }: OldTables): Promise<OldSnapshot> {
    const connection = await database.connect();
    try {
      for (const statement of [
        'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
        `SET LOCAL search_path = ${schema}`,
        'SET LOCAL statement_timeout = 0',
        'SET LOCAL idle_in_transaction_session_timeout = 0',
        // All rows of each cursor will be read.
        'SET LOCAL cursor_tuple_fraction = 1',
      ]) {
        await connection.rows(statement);
      }
      return new OldSnapshot(connection);
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  /** Ascending by name. */
  async entries(): Promise<readonly CatalogEntry[]> {
    const rows = await this.#connection.rows(
      `SELECT ${ENTRY_COLUMNS} FROM organizations ORDER BY lower(name) COLLATE "C"`,
    );
    return rows.map(readEntry);
  }

  async keys(organization: string): Promise<readonly KeyRow[]> {
    // Keys of 0.1 may be used from any address, and split by no LMS property.
    const whole = 'WITH keys AS (SELECT *, NULL::text AS networks, NULL::text AS lms_splits FROM keys)';
    const rows: OwnConnection['rows'] = (sql, parameters) =>
      this.#connection.rows(`${whole} ${sql}`, parameters);
    const keys = openPostgresKeyRows({ rows, session: (use) => use({ rows }), close: async () => {} });
    return await keys.all(organization);
  }

  /** The current version; undefined if nothing is published. */
  async version(entry: CatalogEntry): Promise<OldVersion | undefined> {
    const { name, version, publication } = entry;
    if (version === undefined || publication === undefined) return undefined;
    const [row] = await this.#connection.rows(
      `SELECT o.organization, v.published_ms, v.last_sequence, v.events, v.users, v.boards, v.pins
       FROM organizations o JOIN versions v USING (organization, publication) WHERE o.name = $1`,
      [name],
    );
    if (row === undefined) throw new Error('the publication in force has no row of its own');
    const [organization, publishedMs, lastSequence, events, users, boards, pins] = row.map(Number) as [
      ...[number, number, number, number, number, number, number],
    ];
    return {
      entry,
      facts: {
        ...{ version, publication, publishedMs, lastSequence },
        organizationDigest: organizationDigest(entry.secret),
      },
      counts: { events, users, boards, pins },
      rows: (table) => this.#rows(table, conditionOf(table, organization, publication)),
    };
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async *#rows(table: CopiedTable, condition: string): AsyncGenerator<CopiedRows> {
    const { list, types } = selection(table);
    // Events of version 0.1 had no text.
    const hasTexts = types.includes('text') && table !== 'events';
    const fetched = hasTexts ? FETCHED.texts : FETCHED.numbers;
    await this.#connection.rows(
      `DECLARE copied NO SCROLL CURSOR FOR
       SELECT ${list} FROM ${sourceOf(table)} WHERE ${condition} ORDER BY ${VERSION_TABLES[table].order}`,
    );
    for (;;) {
      const rows = await this.#connection.rows(`FETCH ${fetched} FROM copied`);
      if (rows.length === 0) break;
      const columns = types.map((type, at) => columnOf(rows, at, type));
      yield copiedRows(table, rows.length, columns);
    }
    await this.#connection.rows('CLOSE copied');
  }
}

/** The table with the column that version 0.1 did not have. */
function sourceOf(table: CopiedTable): string {
  return table === 'events' ? '(SELECT *, NULL::text AS body FROM events) AS events' : table;
}

/** The condition for the rows of a table that are part of a version. */
function conditionOf(table: CopiedTable, organization: number, publication: number): string {
  const born = table === 'events' ? 'publication' : 'born';
  const lives = MORTAL.has(table) ? ` AND died > ${publication}` : '';
  return `organization = ${organization} AND ${born} <= ${publication}${lives}`;
}

function columnOf(rows: readonly ColumnValue[][], at: number, type: Carrier): Carried {
  if (type === 'int4') return Int32Array.from(rows, (row) => Number(row[at]));
  if (type === 'int8') return BigInt64Array.from(rows, (row) => bigint(row[at]));
  return rows.map((row) => text(row[at]));
}

const ENTRY_COLUMNS = `name, id, title, domain, category_id, course_lookup, lms_user_properties, policy,
  user_points_key, secret, derived_ids, publication, version`;

function readEntry(row: readonly ColumnValue[]): CatalogEntry {
  const [name, id, title, domain, categoryId, courseLookup, properties, policy] = row;
  const [pointsKey, secret, derived, publication, version] = row.slice(8);
  if (!(secret instanceof Uint8Array)) throw new Error('an organization has no secret');
  return {
    name: text(name),
    settings: {
      ...{ id: bigint(id), title: text(title), domain: text(domain), categoryId: bigint(categoryId) },
      ...{ courseLookup: courseLookup === true, lmsUserProperties: JSON.parse(text(properties)) },
      ...{ userPointsKey: userPointsKey(pointsKey), policy: text(policy) },
    },
    publication: publication === null ? undefined : Number(publication),
    version: version === null ? undefined : text(version),
    secret,
    derivedIds: derivedIds(derived),
    rules: {},
  };
}
