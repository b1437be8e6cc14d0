/**
 * A publication under way: one transaction on a connection of its own. Under the names of the tables it has views of
 * what is alive in the organization, its own changes included, so that SQL reads them as if there were nothing else.
 */
import type { Parameter, Session, Value } from './database.ts';
import { ALIVE, LASTING, type LastingTable, MORTAL, type MortalTable } from './schema.ts';

export interface NewEvents {
  readonly count: number;
  /** The largest of theirs; 0 when there is none. */
  readonly lastSequence: number;
}

export class Draft {
  readonly session: Session;
  readonly organization: number;
  /** The one that is being made. */
  readonly publication: number;

  #newEvents: Promise<NewEvents> | undefined;

  private constructor(session: Session, organization: number, publication: number) {
    this.session = session;
    this.organization = organization;
    this.publication = publication;
  }

  /** To be called inside the transaction. */
  static async begin(session: Session, organization: number, publication: number): Promise<Draft> {
    const alive = MORTAL.map((table) => viewOf(table, `organization = ${organization} AND died = ${ALIVE}`));
    const lasting = [...LASTING, 'events'].map((table) => viewOf(table, `organization = ${organization}`));
    await session.run([...alive, ...lasting].join('\n'));
    return new Draft(session, organization, publication);
  }

  async rows(sql: string, parameters: readonly Parameter[] = []): Promise<Value[][]> {
    return await this.session.rows(sql, parameters);
  }

  async run(sql: string): Promise<void> {
    await this.session.run(sql);
  }

  /** Numbers of rows of tables or queries in brackets, as many as there are. */
  async count<const T extends readonly string[]>(tables: T): Promise<{ [I in keyof T]: number }> {
    const columns = tables.map((table) => `(SELECT count(*) FROM ${table} counted)`);
    const [row] = await this.rows(`SELECT ${columns.join(', ')}`);
    return (row ?? []).map(Number) as { [I in keyof T]: number };
  }

  /** About the rows of the view `new_events`, which are read for it unless it was told. */
  newEvents(): Promise<NewEvents> {
    this.#newEvents ??= this.rows('SELECT count(*), coalesce(max(sequence), 0) FROM new_events').then(
      ([row]) => ({
        count: Number(row?.[0]),
        lastSequence: Number(row?.[1]),
      }),
    );
    return this.#newEvents;
  }

  /** Spares reading them. */
  tellNewEvents(newEvents: NewEvents): void {
    this.#newEvents = Promise.resolve(newEvents);
  }

  /** Makes a temporary table of a query, in the place of one of that name. */
  async keep(name: string, query: string): Promise<void> {
    // Without ANALYZE the planner takes every temporary table for one of about a thousand rows.
    await this.run(`DROP TABLE IF EXISTS pg_temp.${name};
      CREATE TEMP TABLE ${name} ON COMMIT DROP AS ${query};
      ANALYZE ${name};`);
  }

  /** Ends rows: they are part of the versions before this one only. `where` calls the table `t`. Answers how many. */
  async end(table: MortalTable, where: string): Promise<number> {
    return await this.session.change(
      `UPDATE corkboard.${table} t SET died = ${this.publication}
       WHERE t.organization = ${this.organization} AND t.died = ${ALIVE} AND (${where})`,
    );
  }

  /** Adds the rows of a query, whose columns are the ones named. Answers how many. */
  async add(table: MortalTable | LastingTable, columns: string, query: string): Promise<number> {
    return await this.session.change(
      `INSERT INTO corkboard.${table} (organization, born, ${columns})
       SELECT ${this.organization}, ${this.publication}, added.* FROM (${query}) added`,
    );
  }
}

function viewOf(table: string, where: string): string {
  return `CREATE TEMP VIEW ${table} AS SELECT * FROM corkboard.${table} WHERE ${where};`;
}
