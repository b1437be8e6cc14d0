/**
 * One PostgreSQL database: a bounded pool of connections, questions with parameters, and columns by binary COPY. All
 * tables lie in the schema `corkboard`. Trouble with the connection is an `AppError` `database-away`.
 */
import { pipeline } from 'node:stream/promises';
import { Client, escapeLiteral, Pool, type PoolClient, types } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { told, translated } from './away.ts';
import { type Columns, type ColumnType, readBinary } from './binary-copy.ts';
import { CopyOut } from './copy-out.ts';
import { endless, type Limits, Liveness } from './liveness.ts';

/** What a column can hold: `int8` comes as a bigint, `int4` and `float8` as a number. */
export type Value = string | number | bigint | boolean | Uint8Array | null;
export type Parameter = Value | readonly bigint[] | readonly string[];

const MOST_CONNECTIONS = 8;
/** Of a question; long answers come by COPY, which no timeout of this sort may cut. */
const STATEMENT_TIMEOUT_MS = 60_000;
/** The database ends a question itself; if it has not by then, the answer has been lost on its way. */
const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 10_000;
/** An import that waits harms nobody, and one that is given up has to be done again: for it the database is away later. */
const IMPORT_MISSES = 12;
/** How long a connection may rest before the system looks whether it still leads anywhere. */
const KEEP_ALIVE_MS = 5_000;

const INT8 = 20;

/** Whoever can be asked: the pool, or one connection of it. */
export interface Asking {
  /** All rows of a small answer, as arrays of values in the order of the columns. Parameters are $1, $2 and so on. */
  rows(sql: string, parameters?: readonly Parameter[]): Promise<Value[][]>;
  /**
   * The rows of an answer of any size as columns, at most 2,048 rows at a time, as they come. `sql` has no parameters,
   * and must consist of the code's own words and numbers only.
   */
  columns<const T extends readonly ColumnType[]>(sql: string, types: T): AsyncGenerator<Columns<T>>;
}

/** A connection in use. */
export interface Lent {
  readonly session: Session;
  /** The same object as long as it is the same connection. */
  readonly connection: object;
  /** To be called once; a spoilt connection is closed: one that is broken, or has answers that nobody has read. */
  release(spoilt: boolean): void;
}

export interface Waits {
  /** For a connection. */
  readonly connectMs: number;
  /** For the next sign of an answer, before the database is asked whether it is there. */
  readonly patienceMs: number;
}

const WAITS: Waits = { connectMs: 5_000, patienceMs: 3_000 };

export class Database implements Asking {
  readonly #url: string;
  readonly #pool: Pool;
  readonly #liveness: Liveness;

  readonly #waits: Waits;

  constructor(url: string, waits = WAITS) {
    this.#url = url;
    this.#waits = waits;
    this.#liveness = new Liveness(
      () =>
        new Client({
          connectionString: url,
          connectionTimeoutMillis: waits.connectMs,
          application_name: 'corkboard',
        }),
      waits.patienceMs,
    );
    this.#pool = new Pool({
      connectionString: url,
      max: MOST_CONNECTIONS,
      connectionTimeoutMillis: this.#waits.connectMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      application_name: 'corkboard',
      // To compile a question takes longer than it saves.
      options: `-c search_path=corkboard -c statement_timeout=${STATEMENT_TIMEOUT_MS} -c jit=off`,
      types: { getTypeParser: (oid, format) => (oid === INT8 ? BigInt : types.getTypeParser(oid, format)) },
    });
    // An idle connection that breaks is replaced when one is needed next; without a listener it would end the process.
    this.#pool.on('error', () => undefined);
    // One that breaks while it is lent out, between two questions, is told by the next question.
    this.#pool.on('connect', (client) => client.on('error', () => undefined));
  }

  async rows(sql: string, parameters: readonly Parameter[] = []): Promise<Value[][]> {
    return await this.session(async (session) => {
      return await session.rows(sql, parameters);
    });
  }

  async *columns<const T extends readonly ColumnType[]>(sql: string, types: T): AsyncGenerator<Columns<T>> {
    const { session, release } = await this.lend();
    let drained = false;
    try {
      yield* session.columns(sql, types);
      drained = true;
    } finally {
      // An answer given up half way leaves its question on the connection; closing it is what ends the question.
      release(!drained);
    }
  }

  /** Runs `use` with a connection of its own; what it leaves open, a transaction above all, ends with it. */
  async session<T>(use: (session: Session) => Promise<T>): Promise<T> {
    const { session, release } = await this.lend();
    let failed = true;
    try {
      const result = await use(session);
      failed = false;
      return result;
    } finally {
      release(failed);
    }
  }

  /** A connection of the pool, waiting for one where all are lent. */
  async lend(): Promise<Lent> {
    const client = await this.#connect();
    return {
      session: new Session(client, this.#liveness),
      connection: client,
      release: (spoilt) => client.release(spoilt),
    };
  }

  /** Whether all connections are lent. */
  get isBusy(): boolean {
    return this.#pool.idleCount === 0 && this.#pool.totalCount >= MOST_CONNECTIONS;
  }

  /** A connection that the caller closes, for work that outlives a call. */
  async open(): Promise<Session & { close(): void }> {
    const client = await this.#connect();
    return Object.assign(new Session(client, this.#liveness), { close: () => client.release(true) });
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
    const client = new Client({
      connectionString: this.#url,
      connectionTimeoutMillis: this.#waits.connectMs,
      application_name: 'corkboard',
      keepAlive: true,
    });
    client.on('notification', ({ payload = '' }) => onMessage(payload));
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query(`LISTEN ${channel}`);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw translated(error);
    }
    client.once('end', onEnd);
    return { close: () => client.end() };
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #connect(): Promise<PoolClient> {
    return await told(this.#pool.connect());
  }
}

export class Session implements Asking {
  readonly #client: PoolClient;
  readonly #liveness: Liveness;
  #limits: Limits = { mostMs: ANSWER_TIMEOUT_MS, misses: 1 };

  constructor(client: PoolClient, liveness: Liveness) {
    this.#client = client;
    this.#liveness = liveness;
  }

  async rows(sql: string, parameters: readonly Parameter[] = []): Promise<Value[][]> {
    const values = parameters.map((value) => (Array.isArray(value) ? value.map(String) : value));
    const result = await this.#told(this.#client.query({ text: sql, values, rowMode: 'array' }));
    return result.rows;
  }

  /** Several statements without parameters, one after the other. */
  async run(sql: string): Promise<void> {
    await this.#told(this.#client.query(sql));
  }

  /** Rows that the statement changed: of INSERT, UPDATE, DELETE or CREATE TABLE AS. */
  async change(sql: string, parameters: readonly Parameter[] = []): Promise<number> {
    const values = parameters.map((value) => (Array.isArray(value) ? value.map(String) : value));
    const { rowCount } = await this.#told(this.#client.query({ text: sql, values }));
    return rowCount ?? 0;
  }

  async *columns<const T extends readonly ColumnType[]>(sql: string, types: T): AsyncGenerator<Columns<T>> {
    // The timeout would cut a COPY, too, when its reader is slow; and parallel workers would sort what an index gives in
    // order. LOCAL: until these statements are done.
    const copy = `SET LOCAL statement_timeout = 0;
      SET LOCAL max_parallel_workers_per_gather = 0; COPY (${sql}) TO STDOUT (FORMAT binary)`;
    const source = this.#client.query(new CopyOut(copy));
    try {
      yield* readBinary(this.#liveness.watchEach(this.#client, source, this.#limits), types);
    } catch (error) {
      throw translated(error);
    }
  }

  /** Rows in PostgreSQL's binary COPY format, whole with header and trailer, into a table. */
  async copyInto(target: string, source: AsyncIterable<Uint8Array>): Promise<void> {
    const into = this.#client.query(copyFrom(`COPY ${target} FROM STDIN (FORMAT binary)`));
    await told(this.#liveness.watch(this.#client, pipeline(source, into), endless(this.#limits)));
  }

  /** From now on statements may take as long as they like: for imports. */
  async withoutTimeout(): Promise<void> {
    await this.run('SET statement_timeout = 0');
    this.#limits = { mostMs: Number.POSITIVE_INFINITY, misses: IMPORT_MISSES };
  }

  async #told<T>(asking: Promise<T>): Promise<T> {
    return await told(this.#liveness.watch(this.#client, asking, this.#limits));
  }
}

/** A text as SQL, for statements that take no parameters. */
export function literal(text: string): string {
  return escapeLiteral(text);
}
