/**
 * Staging: checked records as they come, in temporary tables beside the generation under construction. `n` numbers
 * all records of an import in their order; `raw` is kept only when rejects are.
 */
import type { DuckDBAppender, DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api';
import { type EventColumns, RECORD_KINDS, type RecordKind, type RecordOf } from '../staging.ts';
import { type Cell, CHUNK_ROWS, chunkOfCells, chunkOfEvents } from './staging-chunks.ts';

interface Column<R> {
  readonly type: 'BIGINT' | 'VARCHAR';
  readonly value: (record: R) => Cell;
}

type Columns<R> = Readonly<Record<string, Column<R>>>;

function whole<R>(value: (record: R) => bigint | number | undefined): Column<R> {
  return { type: 'BIGINT', value };
}

function words<R>(value: (record: R) => string | undefined): Column<R> {
  return { type: 'VARCHAR', value };
}

const STAGED: { readonly [K in RecordKind]: Columns<RecordOf[K]> } = {
  users: {
    id: whole((user) => user.id),
    email: words((user) => user.email),
    name: words((user) => user.name),
    first_name: words((user) => user.firstName),
    last_name: words((user) => user.lastName),
    role: words((user) => user.role),
    class_role: words((user) => user.classRole),
    created_ms: whole((user) => user.createdMs),
    lms: words((user) => user.lms && JSON.stringify(user.lms)),
  },
  boards: {
    id: whole((board) => board.id),
    title: words((board) => board.title),
    category: words((board) => board.category),
    lti_id: words((board) => board.ltiId),
    course_id: words((board) => board.courseId),
    created_ms: whole((board) => board.createdMs),
  },
  pins: {
    id: whole((pin) => pin.id),
    board_id: whole((pin) => pin.boardId),
    owner_id: whole((pin) => pin.ownerId),
    title: words((pin) => pin.title),
    body: words((pin) => pin.body),
    web_url: words((pin) => pin.webUrl),
    image_url: words((pin) => pin.imageUrl),
    tags: words((pin) => pin.tags && JSON.stringify(pin.tags)),
    created_ms: whole((pin) => pin.createdMs),
  },
  memberships: {
    board_id: whole((membership) => membership.boardId),
    user_id: whole((membership) => membership.userId),
  },
  events: {
    id: whole((event) => event.id),
    type: words((event) => event.type),
    action: words((event) => event.action),
    owner_id: whole((event) => event.ownerId),
    actor_id: whole((event) => event.actorId),
    board_id: whole((event) => event.boardId),
    pin_id: whole((event) => event.pinId),
    timestamp_ms: whole((event) => event.timestampMs),
  },
  points: {
    user_id: whole((points) => points.userId),
    board_id: whole((points) => points.boardId),
    total_points: whole((points) => points.totalPoints),
    participation_score: whole((points) => points.participationScore),
  },
  adjustments: {
    user_id: whole((adjustment) => adjustment.userId),
    board_id: whole((adjustment) => adjustment.boardId),
    points: whole((adjustment) => adjustment.points),
    timestamp_ms: whole((adjustment) => adjustment.timestampMs),
    reason: words((adjustment) => adjustment.reason),
  },
};

/** The staging tables of one import, filled through DuckDB's appenders. */
export class StagingTables {
  readonly #connection: DuckDBConnection;
  readonly #appenders: Partial<Record<RecordKind, DuckDBAppender>> = {};
  #staged = 0;

  private constructor(connection: DuckDBConnection) {
    this.#connection = connection;
  }

  static async create(connection: DuckDBConnection): Promise<StagingTables> {
    for (const kind of RECORD_KINDS) {
      const columns = Object.entries(STAGED[kind]).map(([name, { type }]) => `${name} ${type}`);
      await connection.run(
        `CREATE TEMP TABLE staged_${kind} (n BIGINT, file BIGINT, line BIGINT, ${columns.join(', ')}, raw VARCHAR)`,
      );
    }
    return new StagingTables(connection);
  }

  /** Records count as staged in the order of the calls, and inside a call in the order of the array. */
  async append<K extends RecordKind>(kind: K, records: readonly RecordOf[K][]): Promise<void> {
    const columns = Object.values<Column<RecordOf[K]>>(STAGED[kind]);
    for (let from = 0; from < records.length; from += CHUNK_ROWS) {
      const rows = records.slice(from, from + CHUNK_ROWS);
      const cells: Cell[][] = [
        rows.map((_, at) => this.#staged + 1 + at),
        rows.map(({ file }) => file),
        rows.map(({ line }) => line),
        ...columns.map(({ value }) => rows.map(value)),
        rows.map(({ raw }) => raw),
      ];
      await this.#append(kind, chunkOfCells(cells));
    }
  }

  /** Like `append` of the same events as records. */
  async appendEvents(events: EventColumns): Promise<void> {
    for (let from = 0; from < events.count; from += CHUNK_ROWS) {
      await this.#append('events', chunkOfEvents(events, from, this.#staged + 1));
    }
  }

  async #append(kind: RecordKind, chunk: DuckDBDataChunk): Promise<void> {
    const appender = this.#appenders[kind] ?? (await this.#connection.createAppender(`staged_${kind}`));
    this.#appenders[kind] = appender;
    appender.appendDataChunk(chunk);
    this.#staged += chunk.rowCount;
  }

  /** Makes everything appended visible to SQL. */
  flush(): void {
    for (const appender of Object.values(this.#appenders)) appender.flushSync();
  }

  close(): void {
    for (const appender of Object.values(this.#appenders)) appender.closeSync();
  }
}
