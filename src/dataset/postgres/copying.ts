/** Organizations of a PostgreSQL database as originals and as copies of such in other stores (decision 46). */
import {
  COPIED_NAMES,
  COPIED_TABLES,
  type CopiedColumn,
  type CopiedRows,
  type CopiedTable,
  columnsOf,
  copiedRows,
  quoted,
  selection,
} from '../copied-tables.ts';
import type { Copying, CopyOptions, Original, VersionFacts } from '../copying.ts';
import { checkReplaceable } from '../organization-name.ts';
import { BinaryWriter } from './binary-writer.ts';
import { Catalog, type CatalogEntry } from './catalog.ts';
import { Database, type Session } from './database.ts';
import { FIRST_YEAR, LAST_YEAR } from './event-survey.ts';
import { ComingYears, missingYears } from './partitions.ts';
import { acquirePublicationLock } from './publication-lock.ts';
import { type At, rowsAt } from './schema.ts';

/** What waits in memory before it is sent. */
const BATCH_BYTES = 1024 * 1024;

/** Over a database whose tables are those of this version. */
export function openPostgresCopying(url: string): Copying {
  return new PostgresCopying(new Database(url));
}

class PostgresCopying implements Copying {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async names(): Promise<readonly string[]> {
    return (await new Catalog(this.#database).all()).map(({ name }) => name);
  }

  async open(name: string): Promise<Original> {
    const session = await this.#database.open();
    try {
      await session.withoutTimeout();
      // One snapshot for all tables, which holds however long it takes.
      await session.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const entry = await new Catalog(session).entry(name);
      return new PostgresOriginal(session, entry, await readFacts(session, entry));
    } catch (error) {
      session.close();
      throw error;
    }
  }

  async checkFree(name: string): Promise<void> {
    checkReplaceable(await new Catalog(this.#database).find(name), name);
  }

  async write(original: Original, options: CopyOptions): Promise<void> {
    const { name, settings } = original.entry;
    const catalog = new Catalog(this.#database);
    const found = (await catalog.find(name)) ?? (await Catalog.create(this.#database, name, settings));
    const session = await this.#database.open();
    try {
      await session.withoutTimeout();
      await acquirePublicationLock(session, found.organization, options);
      checkReplaceable(await catalog.find(name), name);
      await session.run('BEGIN ISOLATION LEVEL READ COMMITTED');
      await this.#fill(session, found.organization, original, options);
      await session.run('COMMIT');
      // It is in force: what the planner does not learn now, the autovacuum tells it later.
      await session.run(ANALYZE).catch(() => undefined);
    } finally {
      session.close();
    }
  }

  async close(): Promise<void> {
    await this.#database.close();
  }

  /** In one transaction, so that all of it is there or nothing. */
  async #fill(
    session: Session,
    organization: number,
    original: Original,
    { onRows }: CopyOptions,
  ): Promise<void> {
    const { entry, facts } = original;
    const catalog = new Catalog(session);
    if (facts === undefined) {
      await catalog.adopt(organization, entry);
      return await catalog.configure(organization, entry.settings);
    }
    const years = await missingYears(session, await original.eventYears(FIRST_YEAR, LAST_YEAR));
    const coming =
      years.length === 0 ? undefined : await ComingYears.create(session, organization, years, true);
    for (const table of COPIED_NAMES) {
      const at = { organization, publication: facts.publication };
      const target = (table === 'events' && coming?.table) || `corkboard.${table}`;
      await copyTable(session, at, table, target, original.rows(table), (count) => onRows(table, count));
    }
    await coming?.index();
    // Last, because nobody can make an organization while this one is being changed.
    await catalog.adopt(organization, entry);
    await catalog.publish(organization, entry.settings, facts);
    await coming?.attach();
  }
}

class PostgresOriginal implements Original {
  readonly entry: CatalogEntry;
  readonly facts: VersionFacts | undefined;
  readonly #session: Session & { close(): void };

  constructor(session: Session & { close(): void }, entry: CatalogEntry, facts: VersionFacts | undefined) {
    this.#session = session;
    this.entry = entry;
    this.facts = facts;
  }

  async *rows(table: CopiedTable): AsyncGenerator<CopiedRows> {
    const { list, types } = selection(table);
    const sql = `SELECT ${list} FROM ${rowsAt(this.#at(), table)} ORDER BY ${COPIED_TABLES[table].order}`;
    for await (const { count, columns } of this.#session.columns(sql, types)) {
      yield copiedRows(table, count, columns);
    }
  }

  /** A look into an index for every year, instead of reading all events. */
  async eventYears(first: number, last: number): Promise<ReadonlySet<number>> {
    const startOf = (year: string) =>
      `CAST(extract(epoch FROM make_timestamptz(${year}, 1, 1, 0, 0, 0, 'UTC')) * 1000 AS bigint)`;
    const rows = await this.#session.rows(
      `SELECT year FROM generate_series(${first}, ${last}) year WHERE EXISTS (
         SELECT FROM ${rowsAt(this.#at(), 'events')}
         WHERE timestamp_ms >= ${startOf('year')} AND timestamp_ms < ${startOf('year + 1')})`,
    );
    return new Set(rows.map(([year]) => Number(year)));
  }

  async close(): Promise<void> {
    this.#session.close();
  }

  #at(): At {
    if (this.facts === undefined) throw new Error('nothing is published');
    return { organization: this.entry.organization, publication: this.facts.publication };
  }
}

async function readFacts(session: Session, entry: CatalogEntry): Promise<VersionFacts | undefined> {
  const { organization, publication, version } = entry;
  if (publication === undefined || version === undefined) return undefined;
  const [row] = await session.rows(
    `SELECT published_ms, last_sequence, events, users, boards, pins FROM versions
     WHERE organization = $1 AND publication = $2`,
    [organization, publication],
  );
  if (row === undefined) throw new Error('the publication in force has no row of its own');
  const [publishedMs, lastSequence, events, users, boards, pins] = row.map(Number) as [
    ...[number, number, number, number, number, number],
  ];
  return { version, publication, publishedMs, lastSequence, counts: { events, users, boards, pins } };
}

async function copyTable(
  session: Session,
  { organization, publication }: At,
  table: CopiedTable,
  target: string,
  rows: AsyncIterable<CopiedRows>,
  onRows: (count: number) => void,
): Promise<void> {
  const columns = columnsOf(table);
  // An event says itself which publication has brought it.
  const life = table === 'events' ? [] : ['born'];
  const names = ['organization', ...life, ...columns.map(({ name }) => quoted(name))];
  async function* bytes(): AsyncGenerator<Uint8Array> {
    const writer = new BinaryWriter();
    for await (const run of rows) {
      for (let row = 0; row < run.count; row++) {
        writer.row(names.length);
        writer.int4(organization);
        if (life.length > 0) writer.int4(publication);
        for (const [at, column] of columns.entries()) writeValue(writer, column, run.columns[at]!, row);
      }
      onRows(run.count);
      if (writer.length >= BATCH_BYTES) yield writer.take();
    }
    writer.end();
    yield writer.take();
  }
  await session.copyInto(`${target} (${names.join(', ')})`, bytes());
}

function writeValue(
  writer: BinaryWriter,
  { type, truth }: CopiedColumn,
  { values, present }: CopiedRows['columns'][number],
  row: number,
): void {
  const value = values[row]!;
  if (present?.[row] === 0) writer.none();
  else if (typeof value === 'string') writer.text(value);
  else if (truth) writer.boolean(value === 1);
  else if (type === 'int4') writer.int4(Number(value));
  else writer.int8(value);
}

const ANALYZE = COPIED_NAMES.map((table) => `ANALYZE (SKIP_LOCKED) corkboard.${table};`).join(' ');
