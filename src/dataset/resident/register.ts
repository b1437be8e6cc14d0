/** Users, or boards, by id: finding one, and listing them in the order of decision 4. */
import type { ListQuery } from '../query.ts';
import type { UserRows } from '../tables.ts';
import { joinColumn } from './columns.ts';

export class Register {
  readonly count: number;
  /** Indices ascending by id, and the ids in that order. */
  readonly byId: Int32Array;
  readonly #ids: BigInt64Array;
  readonly #createdMs: Float64Array;

  constructor(parts: readonly UserRows[], byId: Int32Array) {
    const ids = joinColumn(
      parts.map((part) => part.id),
      (length) => new BigInt64Array(length),
    );
    this.#createdMs = joinColumn(
      parts.map((part) => part.createdMs),
      (length) => new Float64Array(length),
    );
    this.count = ids.length;
    if (byId.length !== ids.length)
      throw new Error(`a version lists ${byId.length} things and holds ${ids.length}`);
    this.byId = byId;
    this.#ids = ids.toSorted();
  }

  /** Index of an id; absent when nothing has it. */
  find(id: bigint): number | undefined {
    const place = this.#placeFrom(id);
    return this.#ids[place] === id ? this.byId[place] : undefined;
  }

  /** Indices in the order of their ids (decision 5); `visible` by index, absent: all. */
  list({ range, afterId, limit }: Omit<ListQuery, 'scope'>, visible: Uint8Array | undefined): Int32Array {
    const { startMs, endMs } = range;
    const bounded = startMs !== undefined || endMs !== undefined;
    let place = 0;
    if (afterId !== undefined) {
      place = this.#placeFrom(afterId);
      if (this.#ids[place] === afterId) place += 1;
    }
    const most = Math.min(limit ?? this.count, this.count - place);
    if (visible === undefined && !bounded) return this.byId.subarray(place, place + most);
    const found = new Int32Array(most);
    let count = 0;
    for (; place < this.count && count < most; place++) {
      const index = this.byId[place]!;
      if (visible !== undefined && visible[index] !== 1) continue;
      // What was never created, NaN, is in no range that has a bound (decision 35).
      if (bounded && !isInside(this.#createdMs[index]!, startMs, endMs)) continue;
      found[count++] = index;
    }
    return found.subarray(0, count);
  }

  /** Place of the first id that is not below this one. */
  #placeFrom(id: bigint): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#ids[middle]! < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function isInside(instantMs: number, startMs = Number.NEGATIVE_INFINITY, endMs = Number.POSITIVE_INFINITY) {
  return instantMs >= startMs && instantMs < endMs;
}
