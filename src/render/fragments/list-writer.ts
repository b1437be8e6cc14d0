/** Lists of boards and users: the items of a page, and their bytes. */
import type { Dataset } from '../../dataset/dataset.ts';
import type { ListKind, ListQuery } from '../../dataset/query.ts';
import type { Chunk } from '../text/chunk.ts';
import type { FieldColumns } from '../text/fields.ts';
import type { Fragments, Halves } from '../text/fragments.ts';
import type { RowWriter } from '../text/frame.ts';
import { type Notation, renderFields } from '../text/notation.ts';

/**
 * Renders an item of a list, without the text between items. `fields` are those of `LIST_FIELDS`
 * for these records.
 */
export function renderListed(
  notation: Notation,
  fields: readonly string[],
  records: Readonly<Record<string, unknown>>,
  index: number,
): Halves {
  const text = renderFields(notation, fields, records as FieldColumns, index);
  return [notation === 'json' ? `{${text}}` : text];
}

export interface ListPage {
  readonly indices: Int32Array;
  /** Id of the last item of the page; absent if none follows it. */
  readonly next: bigint | undefined;
}

/**
 * The first items that the dataset lists, at most `query.limit`. `records` returns their ids by
 * index.
 */
export async function readListPage(
  dataset: Dataset,
  of: ListKind,
  query: ListQuery,
  records: () => Promise<{ readonly id: BigInt64Array }>,
): Promise<ListPage> {
  const { limit } = query;
  // Read one more than requested to find out whether more follow.
  const indices = await dataset.list(of, limit === undefined ? query : { ...query, limit: limit + 1 });
  if (limit === undefined || indices.length <= limit) return { indices, next: undefined };
  return { indices: indices.subarray(0, limit), next: (await records()).id[indices[limit - 1]!] };
}

export class ListWriter implements RowWriter {
  readonly count: number;
  readonly #items: Fragments;
  readonly #indices: Int32Array;

  constructor(items: Fragments, indices: Int32Array) {
    this.count = indices.length;
    this.#items = items;
    this.#indices = indices;
  }

  size(row: number): number {
    return this.#items.size(this.#indices[row]!);
  }

  write(row: number, chunk: Chunk): void {
    chunk.append(this.#items, this.#indices[row]!);
  }
}
