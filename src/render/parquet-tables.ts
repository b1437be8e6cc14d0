/** Events, boards and users as Parquet (decision 17): the rows and columns of CSV, with their types. */
import type { Dataset } from '../dataset/dataset.ts';
import type { EventBatch, EventPosition, EventQuery, ListQuery } from '../dataset/query.ts';
import { inSlices, slice } from '../time-slice.ts';
import type { UnsizedAnswer, Variant } from './answer.ts';
import { readAhead, readPage } from './batches.ts';
import { LISTED_BOARD, LISTED_USER } from './fields.ts';
import type { FragmentStock } from './fragment-stock.ts';
import type { Fragments } from './fragments.ts';
import { type ListPage, readListPage } from './list-run.ts';
import { parseFields } from './notation.ts';
import { cellsOf, EVENT_TABLE, EventGroup, READ_AT_ONCE, typeOf } from './parquet-events.ts';
import { ParquetFile } from './parquet-file.ts';

/** Of a row group of a list. */
const LISTED_ROWS = 16_384;

export class ParquetTables {
  readonly #dataset: Dataset;
  readonly #stock: FragmentStock;

  constructor(dataset: Dataset, stock: FragmentStock) {
    this.#dataset = dataset;
    this.#stock = stock;
  }

  /** Events of the query, with the columns `EVENT_TABLE`. */
  async events(query: EventQuery): Promise<UnsizedAnswer<EventPosition>> {
    const { limit } = query;
    if (limit === undefined) {
      const pieces = () => this.#events(readAhead(this.#dataset.events(query)));
      return { next: undefined, mostRows: this.#mostEvents(query), pieces };
    }
    const { batches, next } = await readPage(this.#dataset, query, limit);
    return { next, mostRows: limit, pieces: () => this.#events(batches) };
  }

  async boards(query: ListQuery, variant: Variant): Promise<UnsizedAnswer<bigint>> {
    const items = await this.#stock.listedBoards(variant, 'json');
    const list = (paged: ListQuery) => this.#dataset.listBoards(paged);
    const page = await readListPage(query, list, () => this.#stock.boardIdentities());
    return listAnswer(Object.keys(LISTED_BOARD[variant]), items, page);
  }

  async users(query: ListQuery, variant: Variant): Promise<UnsizedAnswer<bigint>> {
    const items = await this.#stock.listedUsers(variant, 'json');
    const list = (paged: ListQuery) => this.#dataset.listUsers(paged);
    const page = await readListPage(query, list, () => this.#stock.userIdentities());
    return listAnswer(Object.keys(LISTED_USER[variant]), items, page);
  }

  /** The events of the range where they are in memory, otherwise all events. */
  #mostEvents(query: EventQuery): number {
    const { timeline, counts } = this.#dataset;
    if (timeline === undefined) return counts.events;
    const { from, to } = timeline.select(query);
    return to - from;
  }

  async *#events(
    batches: AsyncIterable<EventBatch> | Iterable<EventBatch>,
  ): AsyncGenerator<Uint8Array, void> {
    const parts = await this.#stock.eventParts('json');
    const file = new ParquetFile(EVENT_TABLE);
    yield file.begin();
    let group = new EventGroup(parts, this.#dataset);
    for await (const batch of batches) {
      for (let row = 0; row < batch.count; ) {
        row = group.add(batch, row);
        if (!group.isFull) continue;
        yield* file.rowGroup(group.rows, group.columns());
        group = new EventGroup(parts, this.#dataset);
      }
      if (slice.isOver()) await slice.pass();
    }
    if (group.rows > 0) yield* file.rowGroup(group.rows, group.columns());
    yield file.end();
  }
}

function listAnswer(fields: readonly string[], items: Fragments, page: ListPage): UnsizedAnswer<bigint> {
  return {
    next: page.next,
    mostRows: page.indices.length,
    pieces: () => renderList(fields, items, page.indices),
  };
}

async function* renderList(
  fields: readonly string[],
  items: Fragments,
  indices: Int32Array,
): AsyncGenerator<Uint8Array, void> {
  const file = new ParquetFile(fields.map((name) => ({ name, type: typeOf(name) })));
  yield file.begin();
  for (let from = 0; from < indices.length; from += LISTED_ROWS) {
    const rows = indices.subarray(from, from + LISTED_ROWS);
    yield* file.rowGroup(rows.length, readColumns(fields, items, rows));
  }
  yield file.end();
}

async function* readColumns(fields: readonly string[], items: Fragments, rows: Int32Array) {
  const listed: Readonly<Record<string, string | bigint>>[] = [];
  const read = (from: number, to: number) => {
    for (let at = from; at < to; at++) listed.push(parseFields(items.head(rows[at]!)));
  };
  await inSlices(0, rows.length, read, READ_AT_ONCE);
  for (const field of fields) yield { values: await cellsOf(listed, field) };
}
