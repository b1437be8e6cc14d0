/**
 * Staging: checked records as they come, in temporary tables of the connection that publishes, filled by COPY. `n`
 * numbers all records of an import in their order; `raw` is kept only when rejects are. Of an event, `kind` is the place
 * of its type and action in `staged_kinds`, and what it names are places in `staged_names`.
 */
import { type Cell, type Column, STAGED } from '../staged-columns.ts';
import {
  type EventColumns,
  type EventRecord,
  RECORD_KINDS,
  type RecordKind,
  type RecordOf,
  type Staged,
} from '../staging.ts';
import { BinaryWriter } from './binary-writer.ts';
import type { Session } from './database.ts';
import { EventSurvey } from './event-survey.ts';
import { STAGED_EVENTS, StagedEvents } from './staged-events.ts';

/** What waits in memory of a table before it is sent; as much again is under way. */
const BATCH_BYTES = 1024 * 1024;

type StagingTable = RecordKind | 'kinds' | 'names';

interface NamedColumn<R> extends Column<R> {
  readonly name: string;
}

type AllColumns = { readonly [K in RecordKind]: readonly NamedColumn<RecordOf[K]>[] };

/** Those of events are told here too, but `StagedEvents` writes them in its own way. */
const COLUMNS: AllColumns = {
  users: columnsOf('users'),
  boards: columnsOf('boards'),
  pins: columnsOf('pins'),
  memberships: columnsOf('memberships'),
  events: columnsOf('events'),
  points: columnsOf('points'),
  adjustments: columnsOf('adjustments'),
};

export class Staging {
  readonly #session: Session;
  readonly #writers = new Map<StagingTable, BinaryWriter>();
  readonly #counts = new Map<RecordKind, number>();
  /** Tables that have got rows since the last flush. */
  readonly #grown = new Set<StagingTable>();
  readonly #reduced = new Set<RecordKind>();
  readonly survey = new EventSurvey();
  readonly #events = new StagedEvents(this.survey);
  #staged = 0;
  #underWay: Promise<void> = Promise.resolve();

  private constructor(session: Session) {
    this.#session = session;
  }

  static async create(session: Session): Promise<Staging> {
    const plain = RECORD_KINDS.filter((kind) => kind !== 'events');
    const tables = plain.map((kind) => {
      const columns = COLUMNS[kind].map(({ name, type }) => `${name} ${type}`);
      return `CREATE TEMP TABLE staged_${kind} (n BIGINT, file INTEGER, line BIGINT, ${columns.join(', ')}, raw TEXT);`;
    });
    await session.run(`${tables.join('\n')} ${STAGED_EVENTS}`);
    return new Staging(session);
  }

  /** Records staged, those included that checks have taken out. */
  count(kind: RecordKind): number {
    return this.#counts.get(kind) ?? 0;
  }

  /** Whether checks have taken nothing out. */
  isWhole(kind: RecordKind): boolean {
    return !this.#reduced.has(kind);
  }

  /** To be called by checks that take records out. */
  reduce(kind: RecordKind): void {
    this.#reduced.add(kind);
  }

  /** Of all kinds together. */
  get total(): number {
    return this.#staged;
  }

  /** Records count as staged in the order of the calls, and inside a call in the order of the array. */
  async append<K extends RecordKind>(kind: K, records: readonly RecordOf[K][]): Promise<void> {
    this.#count(kind, records.length);
    const columns: readonly NamedColumn<RecordOf[K]>[] = COLUMNS[kind];
    for (const record of records) {
      const writer = this.#writer(kind);
      this.#staged += 1;
      if (kind === 'events') this.#events.write(writer, this.#staged, record as EventRecord);
      else writeRow(writer, this.#staged, record, columns);
      if (writer.length >= BATCH_BYTES) await this.#send(kind);
    }
  }

  /** Like `append` of the same events as records. */
  async appendEvents(events: EventColumns): Promise<void> {
    this.#count('events', events.count);
    const write = this.#events.writerOf(events);
    let writer = this.#writer('events');
    for (let at = 0; at < events.count; at++) {
      this.#staged += 1;
      write(writer, this.#staged, at);
      if (writer.length < BATCH_BYTES) continue;
      await this.#send('events');
      writer = this.#writer('events');
    }
  }

  /** Makes everything appended visible to SQL, and known to the planner. */
  async flush(): Promise<void> {
    this.#events.writeNews((table) => this.#writer(table));
    for (const table of [...this.#writers.keys()]) await this.#send(table);
    await this.#underWay;
    const analyze = [...this.#grown].map((table) => `ANALYZE staged_${table};`);
    this.#grown.clear();
    if (analyze.length > 0) await this.#session.run(analyze.join(' '));
  }

  /** Until nothing is under way any more, whether it succeeded or not. */
  async rest(): Promise<void> {
    await this.#underWay.catch(() => undefined);
  }

  #count(kind: RecordKind, records: number): void {
    if (kind === 'events' && records > 0) {
      if (this.count('events') === 0) this.survey.firstNumber = this.#staged + 1;
      this.survey.lastNumber = this.#staged + records;
    }
    this.#counts.set(kind, this.count(kind) + records);
  }

  #writer(table: StagingTable): BinaryWriter {
    const known = this.#writers.get(table);
    if (known !== undefined) return known;
    const writer = new BinaryWriter();
    this.#writers.set(table, writer);
    return writer;
  }

  /**
   * Sends what waits of a table once the last COPY has ended, and does not wait for this one to end: the database takes
   * in one batch while the next one is made.
   */
  async #send(table: StagingTable): Promise<void> {
    const writer = this.#writer(table);
    this.#writers.delete(table);
    this.#grown.add(table);
    writer.end();
    await this.#underWay;
    this.#underWay = this.#session.copyInto(`pg_temp.staged_${table}`, once(writer.take()));
    // It is told by whoever waits for it next.
    this.#underWay.catch(() => undefined);
  }
}

function columnsOf<K extends RecordKind>(kind: K): readonly NamedColumn<RecordOf[K]>[] {
  return Object.entries<Column<RecordOf[K]>>(STAGED[kind]).map(([name, column]) => ({ name, ...column }));
}

function writeRow<R extends Staged>(
  writer: BinaryWriter,
  n: number,
  record: R,
  columns: readonly NamedColumn<R>[],
): void {
  writer.row(columns.length + 4);
  writer.int8(n);
  writer.int4(record.file);
  writer.int8(record.line);
  for (const { value } of columns) writeCell(writer, value(record));
  writeCell(writer, record.raw);
}

function writeCell(writer: BinaryWriter, cell: Cell): void {
  if (cell === undefined) writer.none();
  else if (typeof cell === 'string') writer.text(cell);
  else writer.int8(cell);
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
