/**
 * Partitions of events, one for a year of UTC. The first publication with events of a year brings its partition: filled
 * before it has indexes, which takes a quarter of the time, and part of `events` from just before the end of the
 * transaction. Readers and writers of events need not stop for that.
 */
import type { Session } from './database.ts';
import { startOfYear } from './event-survey.ts';

/** Of those years, the ones that have no partition yet, ascending. */
export async function missingYears(session: Session, years: Iterable<number>): Promise<readonly number[]> {
  // The table of tables, and not `to_regclass`, which may answer what it knew before the transaction waited for a lock.
  const rows = await session.rows(
    `SELECT relname::text FROM pg_inherits JOIN pg_class ON oid = inhrelid
     WHERE inhparent = 'corkboard.events'::regclass`,
  );
  const names = new Set(rows.map(([name]) => name));
  return [...years].filter((year) => !names.has(`events_${year}`)).sort((a, b) => a - b);
}

/** Instants of those years, as a condition on `timestamp_ms`. */
export function ofYears(years: readonly number[]): string {
  const terms = years.map((year) => {
    const { from, to } = boundsOf(year);
    return `timestamp_ms >= ${from} AND timestamp_ms < ${to}`;
  });
  return terms.length === 0 ? 'false' : `(${terms.join(' OR ')})`;
}

/**
 * Tables for years that have no partition, without indexes, in which nobody else sees anything: as long as they are no
 * partitions of `events` they are those of a table of their own.
 */
export class ComingYears {
  /** The name of the table that holds all of them, with the schema. */
  readonly table: string;
  readonly #session: Session;
  readonly #years: readonly number[];
  #withRest = false;
  /** Those whose events have gone into the partition that another publication has brought. */
  readonly #poured = new Set<number>();

  private constructor(session: Session, organization: number, years: readonly number[]) {
    this.#session = session;
    this.#years = years;
    this.table = `corkboard.events_coming_${organization}`;
  }

  /**
   * To be called inside the transaction, with the publication lock of the organization held. `withRest`: the table
   * takes events of other years, too, and passes them on.
   */
  static async create(
    session: Session,
    organization: number,
    years: readonly number[],
    withRest = false,
  ): Promise<ComingYears> {
    const coming = new ComingYears(session, organization, years);
    const partitions = years.map((year) => {
      const { from, to } = boundsOf(year);
      // What the condition says need not be looked for in the rows when the table becomes part of "events".
      return `CREATE TABLE ${coming.#nameOf(year)} PARTITION OF ${coming.table}
        (CONSTRAINT ${CONDITION} CHECK (timestamp_ms >= ${from} AND timestamp_ms < ${to}))
        FOR VALUES FROM (${from}) TO (${to});`;
    });
    await session.run(`CREATE TABLE ${coming.table} (LIKE corkboard.events) PARTITION BY RANGE (timestamp_ms);
      ${partitions.join('\n')}
      ${withRest ? `CREATE TABLE ${coming.#rest} PARTITION OF ${coming.table} DEFAULT;` : ''}`);
    coming.#withRest = withRest;
    return coming;
  }

  /** To be called when the tables are filled: makes the indexes that `events` has. */
  async index(): Promise<void> {
    if (this.#withRest) {
      await this.#pourFrom(this.#rest);
      await this.#session.run(`DROP TABLE ${this.#rest}`);
    }
    const definitions = await this.#session.rows(
      `SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'corkboard.events'::regclass ORDER BY 1`,
    );
    for (const [definition] of definitions) {
      await this.#session.run(
        String(definition).replace(/^CREATE INDEX \S+ ON ONLY \S+/, `CREATE INDEX ON ${this.table}`),
      );
    }
  }

  /**
   * Makes the tables partitions of `events`; those of years that another publication has brought meanwhile are emptied
   * into its partition. From here to the end of the transaction no other publication can bring a year, so it should
   * end soon.
   */
  async attach(): Promise<void> {
    const session = this.#session;
    for (const year of await this.#takenYears()) await this.#pour(year);
    await session.run('LOCK TABLE corkboard.events IN SHARE UPDATE EXCLUSIVE MODE');
    for (const year of await this.#takenYears()) await this.#pour(year);
    for (const year of this.#years) if (!this.#poured.has(year)) await this.#attachYear(year);
    await session.run(`DROP TABLE ${this.table} CASCADE`);
  }

  async #takenYears(): Promise<readonly number[]> {
    const left = this.#years.filter((year) => !this.#poured.has(year));
    const missing = await missingYears(this.#session, left);
    return left.filter((year) => !missing.includes(year));
  }

  async #pour(year: number): Promise<void> {
    await this.#pourFrom(this.#nameOf(year));
    this.#poured.add(year);
  }

  async #pourFrom(table: string): Promise<void> {
    await this.#session.run(
      `INSERT INTO corkboard.events SELECT * FROM ${table} ORDER BY timestamp_ms, sequence`,
    );
  }

  async #attachYear(year: number): Promise<void> {
    const { from, to } = boundsOf(year);
    const name = this.#nameOf(year);
    await this.#session.run(`
      ALTER TABLE ${this.table} DETACH PARTITION ${name};
      ALTER TABLE ${name} RENAME TO events_${year};
      ALTER TABLE corkboard.events ATTACH PARTITION corkboard.events_${year} FOR VALUES FROM (${from}) TO (${to});
      ALTER TABLE corkboard.events_${year} DROP CONSTRAINT ${CONDITION};`);
  }

  #nameOf(year: number): string {
    return `${this.table}_${year}`;
  }

  get #rest(): string {
    return `${this.table}_rest`;
  }
}

const CONDITION = 'is_of_the_year';

function boundsOf(year: number): { readonly from: number; readonly to: number } {
  return { from: startOfYear(year), to: startOfYear(year + 1) };
}
