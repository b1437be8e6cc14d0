/** What each standing earned when, kept as running sums, so that any range costs two searches. */
import { inSlices } from '../../time-slice.ts';
import type { TimeRange } from '../query.ts';
import type { EarningRows } from '../tables.ts';
import { joinDoubles, joinIntegers } from './columns.ts';
import { indexRows, orderRows } from './row-index.ts';
import { firstPlace, lengthAfter, type Splice, spliceColumn } from './splice.ts';

export async function joinEarnings(parts: readonly EarningRows[]): Promise<EarningRows> {
  return {
    board: await joinIntegers(parts.map((part) => part.board)),
    user: await joinIntegers(parts.map((part) => part.user)),
    timestampMs: await joinDoubles(parts.map((part) => part.timestampMs)),
    points: await joinDoubles(parts.map((part) => part.points)),
  };
}

/** What standings earn instead of what they earned before, or are the first to earn. */
export interface OtherEarnings {
  /** Their numbers after the change, ascending. */
  readonly standing: Int32Array;
  /** Their numbers before it, or those of the standings before which they come. */
  readonly at: Int32Array;
  /** Numbers before the change of those that there were. */
  readonly replaced: Int32Array;
  /** By place in `standing`. */
  readonly earnings: Earnings;
}

export class Earnings {
  /** Those of standing `s` lie at `[offsets[s], offsets[s + 1])`, ascending by instant. */
  readonly #offsets: Int32Array;
  readonly #timestampMs: Float64Array;
  /** Of everything that the same standing earned up to here. */
  readonly #sums: Float64Array;

  private constructor(offsets: Int32Array, timestampMs: Float64Array, sums: Float64Array) {
    this.#offsets = offsets;
    this.#timestampMs = timestampMs;
    this.#sums = sums;
  }

  /** Of so many standings; earning `e` is one of standing `standing[e]`. */
  static async of(standing: Int32Array, { timestampMs, points }: EarningRows, standings: number) {
    const index = await indexRows(standing, standings);
    await orderRows(index, (row) => timestampMs[row]!);
    const { offsets, rows } = index;
    const instants = new Float64Array(rows.length);
    const sums = new Float64Array(rows.length);
    await inSlices(0, standings, (from, to) => {
      for (let row = from; row < to; row++) {
        let sum = 0;
        for (let place = offsets[row]!; place < offsets[row + 1]!; place++) {
          sum += points[rows[place]!]!;
          instants[place] = timestampMs[rows[place]!]!;
          sums[place] = sum;
        }
      }
    });
    return new Earnings(offsets, instants, sums);
  }

  /** What a standing earned inside the range; 0 for nothing. */
  sum(standing: number, { startMs, endMs }: TimeRange): number {
    return (
      this.#sumBefore(standing, endMs) - (startMs === undefined ? 0 : this.#sumBefore(standing, startMs))
    );
  }

  /** The earnings after standings came and went as `change` says, and some earn something else. */
  async with(change: Splice, others: OtherEarnings): Promise<Earnings> {
    const gone = [...change.gone, ...others.replaced].sort((one, other) => one - other);
    const pool: Splice = {
      length: this.#sums.length,
      before: Int32Array.from(others.earnings.#places(), (place) => this.#offsets[others.at[place]!]!),
      gone: Int32Array.from(gone.flatMap((standing) => this.#placesOf(standing))),
    };
    const make = () => new Float64Array(lengthAfter(pool));
    return new Earnings(
      await this.#offsetsAfter(change, others),
      await spliceColumn(this.#timestampMs, others.earnings.#timestampMs, pool, make()),
      await spliceColumn(this.#sums, others.earnings.#sums, pool, make()),
    );
  }

  async #offsetsAfter(change: Splice, { standing, earnings }: OtherEarnings): Promise<Int32Array> {
    const lengths = new Int32Array(change.length);
    await inSlices(0, change.length, (from, to) => {
      for (let row = from; row < to; row++) lengths[row] = this.#offsets[row + 1]! - this.#offsets[row]!;
    });
    const count = lengthAfter(change);
    const none = new Int32Array(change.before.length);
    const after = await spliceColumn(lengths, none, change, new Int32Array(count));
    for (const [place, row] of standing.entries()) after[row] = earnings.#placesOf(place).length;
    const offsets = new Int32Array(count + 1);
    await inSlices(0, count, (from, to) => {
      for (let row = from; row < to; row++) offsets[row + 1] = offsets[row]! + after[row]!;
    });
    return offsets;
  }

  #placesOf(standing: number): number[] {
    const from = this.#offsets[standing]!;
    return Array.from({ length: this.#offsets[standing + 1]! - from }, (_, place) => from + place);
  }

  /** The standing of each earning. */
  *#places(): Generator<number> {
    for (let standing = 0; standing + 1 < this.#offsets.length; standing++) {
      for (let at = this.#offsets[standing]!; at < this.#offsets[standing + 1]!; at++) yield standing;
    }
  }

  #sumBefore(standing: number, instantMs = Number.POSITIVE_INFINITY): number {
    const first = this.#offsets[standing]!;
    const end = firstPlace(
      first,
      this.#offsets[standing + 1]!,
      (place) => this.#timestampMs[place]! >= instantMs,
    );
    return end === first ? 0 : this.#sums[end - 1]!;
  }
}
