/**
 * One PostgreSQL database: a small pool of connections for short statements, in the schema
 * `corkboard`. Nobody holds a connection while a client reads a response. Trouble with the
 * connection is an `AppError` `database-away`, after at most some seconds.
 */
import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely';
import { Client, Pool, type PoolClient, types } from 'pg';
import { isAway, told, translated } from './away.ts';
import type { CatalogTables } from './postgres-tables.ts';

/** What a column can hold: `int8` comes as a bigint, `int4` as a number. */
export type Value = string | number | bigint | boolean | Uint8Array | null;
export type Parameter = Value | readonly string[];

/** With the one that listens these are three for each process. */
const MOST_CONNECTIONS = 2;
const INT8 = 20;

export interface Waits {
  /** For a connection. */
  readonly connectMs: number;
  /** For the answer to a statement. After that the connection is given up: its other end may be gone. */
  readonly answerMs: number;
}

const WAITS: Waits = { connectMs: 4_000, answerMs: 5_000 };
/** How long a connection may rest before the system looks whether it still leads anywhere. */
const KEEP_ALIVE_MS = 5_000;

export interface Asking {
  /** All rows of a small answer, as arrays of values in the order of the columns. Parameters are $1, $2 and so on. */
  rows(sql: string, parameters?: readonly Parameter[]): Promise<Value[][]>;
}

/** A connection of its own, for work that outlives a statement. */
export interface OwnConnection extends Asking {
  close(): Promise<void>;
}

export class PostgresDatabase implements Asking {
  /** The statements of the catalog. Its errors are translated like those of `rows`. */
  readonly kysely: Kysely<CatalogTables>;
  readonly #url: string;
  readonly #waits: Waits;
  readonly #pool: Pool;
  #holders = 1;

  constructor(url: string, waits = WAITS) {
    this.#url = url;
    this.#waits = waits;
    this.#pool = new Pool({ ...this.#options(waits.answerMs), max: MOST_CONNECTIONS });
    // An idle connection that breaks is replaced when one is needed next; without a listener it would end the process.
    this.#pool.on('error', () => undefined);
    // One that breaks while it is lent out, between two statements, is told by the next statement.
    this.#pool.on('connect', (client) => client.on('error', () => undefined));
    const pool = { connect: () => this.#lend(), end: () => this.#pool.end(), options: {} };
    this.kysely = new Kysely({ dialect: new PostgresDialect({ pool }) });
  }

  async rows(sql: string, parameters: readonly Parameter[] = []): Promise<Value[][]> {
    return await this.session(async (session) => await session.rows(sql, parameters));
  }

  /** Runs `use` with a connection of its own; what it leaves open when it throws, a transaction above all, ends with it. */
  async session<T>(use: (session: Asking) => Promise<T>): Promise<T> {
    const client = await told(this.#pool.connect());
    let failed = true;
    try {
      const result = await use({ rows: (sql, parameters) => rowsOf(client, sql, parameters) });
      failed = false;
      return result;
    } finally {
      client.release(failed);
    }
  }

  /** A connection beside the pool. `answerMs` 0: statements may take as long as they like. */
  async connect(answerMs = this.#waits.answerMs): Promise<OwnConnection> {
    const client = await this.#newClient(answerMs);
    return {
      rows: (sql, parameters) => rowsOf(client, sql, parameters),
      close: () => client.end().catch(() => undefined),
    };
  }

  /**
   * Listens to a channel on a connection beside the pool. `onEnd` is called when it breaks, or closes: once, and not
   * when there is none at all, which throws.
   */
  async listen(
    channel: string,
    onMessage: (text: string) => void,
    onEnd: () => void,
  ): Promise<{ close(): Promise<void> }> {
    const client = await this.#newClient(this.#waits.answerMs);
    client.on('notification', ({ payload = '' }) => onMessage(payload));
    client.once('end', onEnd);
    await told(client.query(`LISTEN ${channel}`));
    return { close: () => client.end() };
  }

  /** One more has it, who closes it, too. */
  hold(): this {
    this.#holders += 1;
    return this;
  }

  get isOpen(): boolean {
    return this.#holders > 0;
  }

  /** Ends the connections when nobody has it any more. */
  async close(): Promise<void> {
    this.#holders -= 1;
    if (this.#holders === 0) await this.#pool.end();
  }

  async #newClient(answerMs: number): Promise<Client> {
    const client = new Client(this.#options(answerMs));
    client.on('error', () => undefined);
    try {
      await client.connect();
      return client;
    } catch (error) {
      await client.end().catch(() => undefined);
      throw translated(error);
    }
  }

  /** A connection for Kysely, which is closed instead of used again once it has been found away. */
  async #lend(): Promise<PostgresPoolClient> {
    const client = await told(this.#pool.connect());
    let spoilt: unknown;
    const query = async (text: string, parameters: readonly unknown[]) => {
      // Above all the ROLLBACK of a transaction, which would be waited for once more.
      if (spoilt !== undefined) throw spoilt;
      try {
        return await client.query(text, [...parameters]);
      } catch (error) {
        if (isAway(error)) spoilt = translated(error);
        throw translated(error);
      }
    };
    // Kysely's type has another form of `query` besides, for cursors, which are not used here.
    return { query, release: () => client.release(spoilt !== undefined) } as unknown as PostgresPoolClient;
  }

  #options(answerMs: number) {
    return {
      connectionString: this.#url,
      connectionTimeoutMillis: this.#waits.connectMs,
      ...(answerMs > 0 && { query_timeout: answerMs }),
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      application_name: 'corkboard',
      options: '-c search_path=corkboard',
      types: {
        getTypeParser: (oid: number, format?: 'text' | 'binary') =>
          oid === INT8 ? BigInt : types.getTypeParser(oid, format),
      },
    };
  }
}

async function rowsOf(
  client: Client | PoolClient,
  sql: string,
  parameters: readonly Parameter[] = [],
): Promise<Value[][]> {
  const { rows } = await told(client.query({ text: sql, values: [...parameters], rowMode: 'array' }));
  return rows;
}
