/**
 * One PostgreSQL database: a small pool of connections for short statements. No connection is held
 * while a client reads a response. A connection failure is an `AppError` `database-away`, after at
 * most some seconds. Nothing may rely on the state of a session: behind a pooler in transaction
 * mode, each transaction has a session of its own.
 */
import { Client, Pool, type PoolClient, types } from 'pg';
import type { ColumnValue } from './catalog.ts';
import { told, translated } from './connection-errors.ts';
import { qualified } from './postgres-tables.ts';

export type StatementParameter = ColumnValue | readonly string[];

/** With the listening connection, each process has three. */
const MOST_CONNECTIONS = 2;
const INT8 = 20;

export interface Waits {
  /** For a connection. */
  readonly connectMs: number;
  /**
   * For the result of a statement. After that the connection is closed: its other end may be gone.
   */
  readonly answerMs: number;
}

const WAITS: Waits = { connectMs: 4_000, answerMs: 5_000 };
/** Idle time after which the operating system probes the connection. */
const KEEP_ALIVE_MS = 5_000;

export interface Session {
  /**
   * All rows of a small result, as arrays of values in the order of the columns. `int8` is a
   * bigint, `int4` a number. Parameters are $1, $2 and so on.
   */
  rows(sql: string, parameters?: readonly StatementParameter[]): Promise<ColumnValue[][]>;
}

/**
 * A dedicated connection, for work that outlives a statement. Statements must name the schema of
 * tables.
 */
export interface OwnConnection extends Session {
  /** False behind a pooler, which may give the session to others, also while this is open. */
  readonly ownsSession: boolean;
  close(): Promise<void>;
}

export class PostgresDatabase implements Session {
  readonly #url: string;
  readonly #waits: Waits;
  readonly #pool: Pool;
  #holders = 1;

  constructor(url: string, waits = WAITS) {
    this.#url = url;
    this.#waits = waits;
    this.#pool = new Pool({ ...this.#options(waits.answerMs), max: MOST_CONNECTIONS });
    // A broken idle connection is replaced when one is needed. Without a listener the error would
    // end the process.
    this.#pool.on('error', () => undefined);
    // If a lent connection breaks between two statements, the next statement fails.
    this.#pool.on('connect', (client) => client.on('error', () => undefined));
  }

  async rows(sql: string, parameters: readonly StatementParameter[] = []): Promise<ColumnValue[][]> {
    return await this.session(async (session) => await session.rows(sql, parameters));
  }

  /**
   * Runs `use` with its own connection. If `use` throws, the connection is closed, and with it an
   * open transaction.
   */
  async session<T>(use: (session: Session) => Promise<T>): Promise<T> {
    const client = await this.lend();
    let failed = true;
    try {
      const result = await use({
        rows: (sql, parameters) => rowsOf(client, qualified(sql), parameters),
      });
      failed = false;
      return result;
    } finally {
      client.release(failed);
    }
  }

  /** Runs `change` in a transaction. */
  async transact<T>(change: (transaction: Session) => Promise<T>): Promise<T> {
    return await this.session(async (session) => {
      await session.rows('BEGIN ISOLATION LEVEL READ COMMITTED');
      const result = await change(session);
      await session.rows('COMMIT');
      return result;
    });
  }

  /** A connection of the pool. The caller releases it. */
  async lend(): Promise<PoolClient> {
    return await told(this.#pool.connect());
  }

  /** A connection outside the pool. `answerMs` 0: statements have no time limit. */
  async connect(answerMs = this.#waits.answerMs): Promise<OwnConnection> {
    const { client, ownsSession } = await this.#newClient(answerMs);
    return {
      ownsSession,
      rows: (sql, parameters) => rowsOf(client, sql, parameters),
      close: () => client.end().catch(() => undefined),
    };
  }

  /**
   * Listens to a channel on a connection outside the pool; absent behind a pooler. `onEnd` is
   * called once, when the connection breaks or closes. A connection that cannot be made throws
   * instead.
   */
  async listen(
    channel: string,
    onMessage: (text: string) => void,
    onEnd: () => void,
  ): Promise<{ close(): Promise<void> } | undefined> {
    const { client, ownsSession } = await this.#newClient(this.#waits.answerMs);
    if (!ownsSession) return void (await client.end());
    client.on('notification', ({ payload = '' }) => onMessage(payload));
    client.once('end', onEnd);
    await told(client.query(`LISTEN ${channel}`));
    return { close: () => client.end() };
  }

  /** Adds a holder, which must call `close` as well. */
  hold(): this {
    this.#holders += 1;
    return this;
  }

  get isOpen(): boolean {
    return this.#holders > 0;
  }

  /** Ends the connections when the last holder has called it. */
  async close(): Promise<void> {
    this.#holders -= 1;
    if (this.#holders === 0) await this.#pool.end();
  }

  async #newClient(answerMs: number) {
    const client = new Client(this.#options(answerMs));
    client.on('error', () => undefined);
    try {
      await client.connect();
      return { client, ownsSession: await ownsSessionOf(client) };
    } catch (error) {
      await client.end().catch(() => undefined);
      throw translated(error);
    }
  }

  #options(answerMs: number) {
    return {
      connectionString: this.#url,
      connectionTimeoutMillis: this.#waits.connectMs,
      ...(answerMs > 0 && { query_timeout: answerMs }),
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      application_name: 'corkboard',
      types: {
        getTypeParser: (oid: number, format?: 'text' | 'binary') =>
          oid === INT8 ? BigInt : types.getTypeParser(oid, format),
      },
    };
  }
}

/** A pooler tells its clients numbers of its own, by which they can cancel queries. */
async function ownsSessionOf(client: Client): Promise<boolean> {
  const { processID } = client as Client & { readonly processID: number | null };
  const [row] = await rowsOf(client, 'SELECT pg_backend_pid()');
  return row?.[0] === processID;
}

async function rowsOf(
  client: Client | PoolClient,
  sql: string,
  parameters: readonly StatementParameter[] = [],
): Promise<ColumnValue[][]> {
  const { rows } = await told(client.query({ text: sql, values: [...parameters], rowMode: 'array' }));
  return rows;
}
