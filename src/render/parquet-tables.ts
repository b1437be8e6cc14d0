/**
 * Events, boards, users and points as Parquet (decision 17): the rows and columns of CSV, with
 * their types.
 */
import type { Dataset } from '../dataset/dataset.ts';
import type {
  EventBatch,
  EventPosition,
  EventQuery,
  ListKind,
  ListQuery,
  PointsPosition,
  PointsQuery,
  Standings,
} from '../dataset/query.ts';
import { TextColumn } from '../dataset/text-column.ts';
import { readAhead, readPage } from './fragments/batches.ts';
import type { FragmentCache } from './fragments/fragment-cache.ts';
import { readListPage } from './fragments/list-writer.ts';
import { readPointsPage } from './fragments/points-batches.ts';
import {
  EVENT_SECTIONS,
  kindColumns,
  LIST_FIELDS,
  organizationColumns,
  POINTS_FIELDS,
  POINTS_NUMBERS,
  pointsColumns,
} from './text/fields.ts';
import type { UnsizedBody, Variant } from './text/rendered-body.ts';
import {
  type ParquetColumn,
  ParquetFile,
  type ParquetRows,
  type ParquetTable,
} from './thread/parquet-file.ts';
import type { RenderThread } from './thread/render-thread.ts';

/** Rows of a list per batch. */
const LISTED_ROWS = 16_384;

/** Columns by field name. */
type Records = Readonly<Record<string, unknown>>;

/** The sections of an event, in the order of the indices of its row. */
const SECTIONS = [...new Set(EVENT_SECTIONS.map(({ of }) => of))];

export class ParquetTables {
  readonly #dataset: Dataset;
  readonly #fragments: FragmentCache;
  readonly #thread: RenderThread | undefined;

  /** Without a render thread, files are written on the calling thread. */
  constructor(dataset: Dataset, fragments: FragmentCache, thread: RenderThread | undefined) {
    this.#dataset = dataset;
    this.#fragments = fragments;
    this.#thread = thread;
  }

  /** Events of the query, with the columns of `EVENT_SECTIONS` and the timestamp. */
  async events(query: EventQuery): Promise<UnsizedBody<EventPosition>> {
    const { limit } = query;
    if (limit === undefined) {
      const pieces = () => this.#events(readAhead(this.#dataset.events(query)));
      return { next: undefined, mostRows: this.#mostEvents(query), pieces };
    }
    const { batches, next } = await readPage(this.#dataset, query, limit);
    const rows = batches.reduce((sum, { count }) => sum + count, 0);
    return { next, mostRows: limit, rows, pieces: () => this.#events(batches) };
  }

  async list(of: ListKind, query: ListQuery, variant: Variant): Promise<UnsizedBody<bigint>> {
    const records = await this.#fragments.records(of);
    const { indices, next } = await readListPage(this.#dataset, of, query, async () => records);
    const form = { prefix: '', section: 0, optional: false };
    const columns = columnsOf(LIST_FIELDS[of][variant], records, form);
    const pieces = () => this.#write({ columns, hasTimestamp: false }, listedRows(indices));
    return { next, mostRows: indices.length, rows: indices.length, pieces };
  }

  /** A row for each points total of the query, with the columns of `POINTS_COLUMNS`. */
  async points(query: PointsQuery): Promise<UnsizedBody<PointsPosition>> {
    const { batches, rows, next, isHeld } = await readPointsPage(this.#dataset, query, this.#fragments);
    if (isHeld) return { next, mostRows: rows, rows, pieces: () => this.#points(batches) };
    const pieces = () => this.#points(readAhead(this.#dataset.points(query)));
    return { next, mostRows: this.#mostPoints(query), pieces };
  }

  /** An upper bound for the number of points totals. */
  #mostPoints({ board, user }: PointsQuery): number {
    const { boards, users } = this.#dataset.counts;
    return (board === undefined ? boards : 1) * (user === undefined ? users : 1);
  }

  async *#points(batches: AsyncIterable<Standings> | Iterable<Standings>): AsyncGenerator<Uint8Array, void> {
    const [users, boards] = await Promise.all([
      this.#fragments.records('users'),
      this.#fragments.records('boards'),
    ]);
    const columns = [...columnsOfPoints('users', users, 0), ...columnsOfPoints('boards', boards, 1)];
    const table = { columns, numbers: POINTS_NUMBERS, hasTimestamp: false };
    yield* this.#write(table, pointsRows(batches));
  }

  /**
   * An upper bound for the number of events: those that may match if events are in memory,
   * otherwise all.
   */
  #mostEvents(query: EventQuery): number {
    const { timeline, counts } = this.#dataset;
    if (timeline === undefined) return counts.events;
    const { from, to } = timeline.select(query);
    return to - from;
  }

  async *#events(
    batches: AsyncIterable<EventBatch> | Iterable<EventBatch>,
  ): AsyncGenerator<Uint8Array, void> {
    const [users, boards, pins] = await Promise.all([
      this.#fragments.records('users'),
      this.#fragments.records('boards'),
      this.#fragments.records('pins'),
    ]);
    const kinds = kindColumns(this.#dataset.kinds);
    const organization = organizationColumns(this.#dataset.organization);
    const records: Readonly<Record<(typeof SECTIONS)[number], Records>> = {
      ...{ kind: kinds, activity: kinds, owner: users, actor: users, organization, pin: pins, board: boards },
    };
    const columns = EVENT_SECTIONS.flatMap(({ of, prefix, fields }) =>
      columnsOf(fields, records[of], {
        prefix,
        section: SECTIONS.indexOf(of),
        optional: of === 'pin' || of === 'activity',
      }),
    );
    yield* this.#write({ columns, hasTimestamp: true }, eventRows(batches));
  }

  #write(
    table: ParquetTable,
    rows: AsyncIterable<ParquetRows> | Iterable<ParquetRows>,
  ): AsyncGenerator<Uint8Array, void> {
    return this.#thread?.writeParquet(table, rows) ?? writeHere(table, rows);
  }
}

function columnsOfPoints(of: ListKind, records: Records, section: number): ParquetColumn[] {
  const form = { prefix: '', section, optional: false };
  return columnsOf(Object.keys(POINTS_FIELDS[of]), pointsColumns(of, records), form);
}

function columnsOf(
  fields: readonly string[],
  records: Records,
  { prefix, ...form }: Pick<ParquetColumn, 'section' | 'optional'> & { readonly prefix: string },
): ParquetColumn[] {
  return fields.map((field) => {
    const column = records[field];
    if (column instanceof BigInt64Array) return { ...form, name: prefix + field, values: column };
    if (column instanceof TextColumn) return { ...form, name: prefix + field, values: column.parts };
    throw new Error(`${field} is no field of these records`);
  });
}

async function* eventRows(
  batches: AsyncIterable<EventBatch> | Iterable<EventBatch>,
): AsyncGenerator<ParquetRows, void> {
  for await (const { count, timestampMs, ...batch } of batches) {
    const { pin, kind } = batch;
    const sections = {
      ...batch,
      activity: kind.map((index, row) => (pin[row]! < 0 ? -1 : index)),
      organization: new Int32Array(count),
    };
    yield { count, indices: SECTIONS.map((of) => sections[of]), timestampMs };
  }
}

async function* pointsRows(
  batches: AsyncIterable<Standings> | Iterable<Standings>,
): AsyncGenerator<ParquetRows, void> {
  for await (const { count, user, board, totalPoints, participationScore } of batches) {
    yield { count, indices: [user, board], numbers: [totalPoints, participationScore] };
  }
}

function* listedRows(indices: Int32Array): Generator<ParquetRows, void> {
  for (let from = 0; from < indices.length; from += LISTED_ROWS) {
    const some = indices.slice(from, from + LISTED_ROWS);
    yield { count: some.length, indices: [some] };
  }
}

async function* writeHere(
  table: ParquetTable,
  rows: AsyncIterable<ParquetRows> | Iterable<ParquetRows>,
): AsyncGenerator<Uint8Array, void> {
  const file = new ParquetFile(table);
  for await (const some of rows) {
    file.add(some);
    yield file.take();
  }
  file.end();
  yield file.take();
}
