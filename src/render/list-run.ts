/** Lists of boards and of users: which ones a page holds, and their bytes. */
import type { ListQuery } from '../dataset/query.ts';
import type { Chunk } from './chunk.ts';
import type { Fields } from './fields.ts';
import type { Fragments, Halves } from './fragments.ts';
import type { Run } from './frame.ts';
import { type Notation, renderFields } from './notation.ts';

/** An item of a list, without what stands between items. */
export function renderListed<R>(notation: Notation, fields: Fields<R>, record: R): Halves {
  const text = renderFields(notation, fields, record);
  return [notation === 'json' ? `{${text}}` : text];
}

export interface ListPage {
  readonly indices: Int32Array;
  /** Id of the last one of the page; absent when none follows it. */
  readonly next: bigint | undefined;
}

/** The first ones that `list` answers, at most `query.limit`. The heads of `identities` are the ids. */
export async function readListPage(
  query: ListQuery,
  list: (query: ListQuery) => Promise<Int32Array>,
  identities: () => Promise<Fragments>,
): Promise<ListPage> {
  const { limit } = query;
  // One more than wanted tells whether more follow.
  const indices = await list(limit === undefined ? query : { ...query, limit: limit + 1 });
  if (limit === undefined || indices.length <= limit) return { indices, next: undefined };
  const ids = await identities();
  return { indices: indices.subarray(0, limit), next: BigInt(ids.head(indices[limit - 1]!)) };
}

export class ListRun implements Run {
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
