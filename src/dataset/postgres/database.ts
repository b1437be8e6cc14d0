/**
 * One PostgreSQL database: a bounded pool of connections, questions with parameters, and columns by binary COPY. All
 * tables lie in the schema `corkboard`. Trouble with the connection is an `AppError` `database-away`.
 */
import { pipeline } from 'node:stream/promises';
import { escapeLiteral, Pool, type PoolClient, types } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { AppError } from '../../app-error.ts';
import { type Columns, type ColumnType, readBinary } from './binary-copy.ts';
import { CopyOut } from './copy-out.ts';

/** What a column can hold: `int8` comes as a bigint, `int4` and `float8` as a number. */
export type Value = string | number | bigint | boolean | Uint8Array | null;
export type Parameter = Value | readonly bigint[] | readonly string[];

const MOST_CONNECTIONS = 8;
const CONNECT_TIMEOUT_MS = 5_000;
/** Of a question; long answers come by COPY, which no timeout of this sort may cut. */
const STATEMENT_TIMEOUT_MS = 60_000;

const INT8 = 20;

/** Codes of PostgreSQL that say that it is not there now: connection exceptions, shutdown, start-up, no more room. */
const AWAY = /^(08|57P0[1235]|53300|25006)/;
const AWAY_SYSTEM = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH)$/;

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

export class Database implements Asking {
  readonly #pool: Pool;

  constructor(url: string) {
    this.#pool = new Pool({
      connectionString: url,
      max: MOST_CONNECTIONS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      application_name: 'corkboard',
      options: `-c search_path=corkboard -c statement_timeout=${STATEMENT_TIMEOUT_MS}`,
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
    const client = await this.#connect();
    let drained = false;
    try {
      yield* new Session(client).columns(sql, types);
      drained = true;
    } finally {
      // An answer given up half way leaves its question on the connection; closing it is what ends the question.
      client.release(!drained);
    }
  }

  /** Runs `use` with a connection of its own; what it leaves open, a transaction above all, ends with it. */
  async session<T>(use: (session: Session) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    let failed = true;
    try {
      const result = await use(new Session(client));
      failed = false;
      return result;
    } finally {
      client.release(failed);
    }
  }

  /** A connection that the caller closes, for work that outlives a call. */
  async open(): Promise<Session & { close(): void }> {
    const client = await this.#connect();
    return Object.assign(new Session(client), { close: () => client.release(true) });
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

  constructor(client: PoolClient) {
    this.#client = client;
  }

  async rows(sql: string, parameters: readonly Parameter[] = []): Promise<Value[][]> {
    const values = parameters.map((value) => (Array.isArray(value) ? value.map(String) : value));
    const result = await told(this.#client.query({ text: sql, values, rowMode: 'array' }));
    return result.rows;
  }

  /** Several statements without parameters, one after the other. */
  async run(sql: string): Promise<void> {
    await told(this.#client.query(sql));
  }

  /** Rows that the statement changed: of INSERT, UPDATE, DELETE or CREATE TABLE AS. */
  async change(sql: string, parameters: readonly Parameter[] = []): Promise<number> {
    const values = parameters.map((value) => (Array.isArray(value) ? value.map(String) : value));
    const { rowCount } = await told(this.#client.query({ text: sql, values }));
    return rowCount ?? 0;
  }

  async *columns<const T extends readonly ColumnType[]>(sql: string, types: T): AsyncGenerator<Columns<T>> {
    // The timeout would cut a COPY, too, when its reader is slow; compiling a question takes longer than it saves; and
    // parallel workers would sort what an index gives in order.
    // LOCAL: until these statements are done.
    const copy = `SET LOCAL statement_timeout = 0; SET LOCAL jit = off;
      SET LOCAL max_parallel_workers_per_gather = 0; COPY (${sql}) TO STDOUT (FORMAT binary)`;
    const source = this.#client.query(new CopyOut(copy));
    try {
      yield* readBinary(source, types);
    } catch (error) {
      throw translated(error);
    }
  }

  /** Rows in PostgreSQL's binary COPY format, whole with header and trailer, into a table. */
  async copyInto(target: string, source: AsyncIterable<Uint8Array>): Promise<void> {
    await told(pipeline(source, this.#client.query(copyFrom(`COPY ${target} FROM STDIN (FORMAT binary)`))));
  }

  /** From now on statements may take as long as they like: for imports. */
  async withoutTimeout(): Promise<void> {
    await this.run('SET statement_timeout = 0');
  }
}

/** A text as SQL, for statements that take no parameters. */
export function literal(text: string): string {
  return escapeLiteral(text);
}

async function told<T>(asking: Promise<T>): Promise<T> {
  try {
    return await asking;
  } catch (error) {
    throw translated(error);
  }
}

function translated(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = 'code' in error ? String(error.code) : '';
  const broken =
    /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error/;
  if (!AWAY.test(code) && !AWAY_SYSTEM.test(code) && !broken.test(error.message)) return error;
  return new AppError('database-away', 'The database cannot be reached now. Try again in a moment.', {
    cause: error,
  });
}
