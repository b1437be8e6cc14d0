/**
 * Staging: checked records as they come, in temporary tables of the connection that publishes, filled by COPY. `n`
 * numbers all records of an import in their order; `raw` is kept only when rejects are. Of an event, `kind` is the place
 * of its type and action in `staged_kinds`.
 */
import { type Cell, type Column, STAGED } from '../staged-columns.ts';
import {
  type EventColumns,
  type EventRecord,
  RECORD_KINDS,
  type RecordKind,
  type RecordOf,
} from '../staging.ts';
import { BinaryWriter } from './binary-copy.ts';
import type { Session } from './database.ts';
import { EventSurvey } from './event-survey.ts';

/** What waits in memory of a table before it is sent; as much again is under way. */
const BATCH_BYTES = 1024 * 1024;

type StagingTable = RecordKind | 'kinds';

interface NamedColumn<R> extends Column<R> {
  readonly name: string;
}

type AllColumns = { readonly [K in RecordKind]: readonly NamedColumn<RecordOf[K]>[] };

export class Staging {
  readonly #session: Session;
  readonly #writers = new Map<StagingTable, BinaryWriter>();
  readonly #counts = new Map<RecordKind, number>();
  /** Numbers of kinds of events by type and action. */
  readonly #kinds = new Map<string, number>();
  readonly #columns: AllColumns;
  /** Tables that have got rows since the last flush. */
  readonly #grown = new Set<StagingTable>();
  readonly survey = new EventSurvey();
  #staged = 0;
  #underWay: Promise<void> = Promise.resolve();

  private constructor(session: Session) {
    this.#session = session;
    const kind: NamedColumn<EventRecord> = {
      name: 'kind',
      type: 'BIGINT',
      value: (event) => this.#kindOf(event),
    };
    const events = columnsOf('events').filter(({ name }) => name !== 'type' && name !== 'action');
    this.#columns = {
      users: columnsOf('users'),
      boards: columnsOf('boards'),
      pins: columnsOf('pins'),
      memberships: columnsOf('memberships'),
      events: [...events, kind],
      points: columnsOf('points'),
      adjustments: columnsOf('adjustments'),
    };
  }

  static async create(session: Session): Promise<Staging> {
    const staging = new Staging(session);
    const tables = RECORD_KINDS.map((kind) => {
      const columns = staging.#columns[kind].map(({ name, type }) => `${name} ${type}`);
      return `CREATE TEMP TABLE staged_${kind} (n BIGINT, file BIGINT, line BIGINT, ${columns.join(', ')}, raw TEXT);`;
    });
    await session.run(
      `${tables.join('\n')} CREATE TEMP TABLE staged_kinds (kind BIGINT, type TEXT, action TEXT);`,
    );
    return staging;
  }

  /** Records staged, those included that checks have taken out. */
  count(kind: RecordKind): number {
    return this.#counts.get(kind) ?? 0;
  }

  /** Of all kinds together. */
  get total(): number {
    return this.#staged;
  }

  /** Records count as staged in the order of the calls, and inside a call in the order of the array. */
  async append<K extends RecordKind>(kind: K, records: readonly RecordOf[K][]): Promise<void> {
    const columns: readonly NamedColumn<RecordOf[K]>[] = this.#columns[kind];
    for (const record of records) {
      const writer = this.#startRow(kind, columns.length, record.file, record.line);
      for (const { value } of columns) writeCell(writer, value(record));
      writeCell(writer, record.raw);
      if (kind === 'events') {
        const { id, timestampMs } = record as EventRecord;
        this.survey.add(id, timestampMs);
      }
      if (writer.length >= BATCH_BYTES) await this.#send(kind);
    }
  }

  /** Like `append` of the same events as records. */
  async appendEvents(events: EventColumns): Promise<void> {
    const { words, types, actions, ids, pinIds, timestampsMs } = events;
    const fields = this.#columns.events.length;
    const kinds = new Map<number, number>();
    for (let at = 0; at < events.count; at++) {
      const pair = types[at]! * 256 + actions[at]!;
      let kind = kinds.get(pair);
      if (kind === undefined) {
        kind = this.#kindOf({ type: words[types[at]!]!, action: words[actions[at]!]! });
        kinds.set(pair, kind);
      }
      const id = events.hasIds[at] === 1 ? ids[at]! : undefined;
      const timestampMs = Number(timestampsMs[at]!);
      this.survey.add(id, timestampMs);
      const writer = this.#startRow('events', fields, events.file, events.lines[at]!);
      writeCell(writer, id);
      writer.int8(events.ownerIds[at]!);
      writer.int8(events.actorIds[at]!);
      writer.int8(events.boardIds[at]!);
      writeCell(writer, events.hasPins[at] === 1 ? pinIds[at]! : undefined);
      writer.int8(timestampMs);
      writer.int8(kind);
      writer.none();
      if (writer.length >= BATCH_BYTES) await this.#send('events');
    }
  }

  /** Makes everything appended visible to SQL, and known to the planner. */
  async flush(): Promise<void> {
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

  /** Begins a row with its number, file and line; its `fields` and `raw` follow. */
  #startRow(kind: RecordKind, fields: number, file: number, line: number): BinaryWriter {
    const writer = this.#writer(kind);
    this.#staged += 1;
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    writer.row(fields + 4);
    writer.int8(this.#staged);
    writer.int8(file);
    writer.int8(line);
    return writer;
  }

  #kindOf({ type, action }: Pick<EventRecord, 'type' | 'action'>): number {
    const name = JSON.stringify([type, action]);
    const known = this.#kinds.get(name);
    if (known !== undefined) return known;
    const kind = this.#kinds.size;
    this.#kinds.set(name, kind);
    const writer = this.#writer('kinds');
    writer.row(3);
    writer.int8(kind);
    writer.text(type);
    writer.text(action);
    return kind;
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

function writeCell(writer: BinaryWriter, cell: Cell): void {
  if (cell === undefined) writer.none();
  else if (typeof cell === 'string') writer.text(cell);
  else writer.int8(cell);
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
