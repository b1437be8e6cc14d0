/** An index of users or boards by id, to find one and to list them in the order of decision 4. */
import { inSlices } from '../../system/time-slice.ts';
import { firstPlace } from '../first-place.ts';
import { isBounded, type ListQuery } from '../query.ts';
import type { Boards, Users } from '../records.ts';

export class IdIndex {
  readonly count: number;
  /** Indices ascending by id; `#ids` holds the ids in the same order. */
  readonly byId: Int32Array;
  /** Position of each index in that order. */
  readonly ranks: Int32Array;
  readonly #ids: BigInt64Array;
  /** `created_at` of the import by index; NaN if it gave none. */
  readonly #createdMs: Float64Array;

  private constructor(byId: Int32Array, ranks: Int32Array, ids: BigInt64Array, createdMs: Float64Array) {
    this.count = ids.length;
    this.byId = byId;
    this.ranks = ranks;
    this.#ids = ids;
    this.#createdMs = createdMs;
  }

  /** `byId`: the indices of all records, ascending by id. Throws if their numbers differ. */
  static async of({ id: ids, created_ms: createdMs }: Users | Boards, byId: Int32Array): Promise<IdIndex> {
    if (byId.length !== ids.length)
      throw new Error(`a version lists ${byId.length} things and holds ${ids.length}`);
    return new IdIndex(byId, await ranksOf(byId), await inOrder(ids, byId), createdMs);
  }

  /** Index of an id; undefined if no record has it. */
  find(id: bigint): number | undefined {
    const place = this.placeFrom(id);
    return this.#ids[place] === id ? this.byId[place] : undefined;
  }

  /** Whether the ids ascend with the indices. In time slices. */
  async isInOrder(): Promise<boolean> {
    let misplaced = 0;
    await inSlices(0, this.count, (from, to) => {
      for (let place = from; place < to; place++) if (this.byId[place] !== place) misplaced += 1;
    });
    return misplaced === 0;
  }

  /**
   * Indices in the order of their ids (decision 4). `visible` holds flags by index; absent: all are
   * visible. `firstMs` returns the first event of an index, which counts as its creation if the
   * import gave none; NaN without events.
   */
  async list(
    { range, afterId, limit }: Omit<ListQuery, 'scope'>,
    visible: Uint8Array | undefined,
    firstMs: (index: number) => number,
  ): Promise<Int32Array> {
    const { startMs, endMs } = range;
    const bounded = isBounded(range);
    const place = afterId === undefined ? 0 : this.placeAfter(afterId);
    const most = Math.min(limit ?? this.count, this.count - place);
    if (visible === undefined && !bounded) return this.byId.subarray(place, place + most);
    const found = new Int32Array(most);
    let count = 0;
    await inSlices(place, this.count, (from, to) => {
      for (let at = from; at < to && count < most; at++) {
        const index = this.byId[at]!;
        if (visible !== undefined && visible[index] !== 1) continue;
        if (bounded) {
          const givenMs = this.#createdMs[index]!;
          // NaN, for a record without a time of creation, is in no range that has a bound
          // (decision 35).
          if (!isInside(Number.isNaN(givenMs) ? firstMs(index) : givenMs, startMs, endMs)) continue;
        }
        found[count++] = index;
      }
    });
    return found.subarray(0, count);
  }

  /** Position of the first id that is larger than `id`. */
  placeAfter(id: bigint): number {
    const place = this.placeFrom(id);
    return this.#ids[place] === id ? place + 1 : place;
  }

  /** Position of the first id that is at least `id`. */
  placeFrom(id: bigint): number {
    return firstPlace(0, this.count, (place) => this.#ids[place]! >= id);
  }
}

async function ranksOf(byId: Int32Array): Promise<Int32Array> {
  const ranks = new Int32Array(byId.length);
  await inSlices(0, byId.length, (from, to) => {
    for (let place = from; place < to; place++) ranks[byId[place]!] = place;
  });
  return ranks;
}

/** Copies 32-bit words, because reading a 64-bit integer allocates an object. */
async function inOrder(ids: BigInt64Array, byId: Int32Array): Promise<BigInt64Array> {
  const words = new Int32Array(ids.buffer, ids.byteOffset, 2 * ids.length);
  const ordered = new Int32Array(words.length);
  await inSlices(0, byId.length, (from, to) => {
    for (let place = from; place < to; place++) {
      const index = byId[place]!;
      ordered[2 * place] = words[2 * index]!;
      ordered[2 * place + 1] = words[2 * index + 1]!;
    }
  });
  return new BigInt64Array(ordered.buffer);
}

function isInside(instantMs: number, startMs = Number.NEGATIVE_INFINITY, endMs = Number.POSITIVE_INFINITY) {
  return instantMs >= startMs && instantMs < endMs;
}
