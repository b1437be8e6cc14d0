/**
 * The entries of each points total: its counted awards and adjustments as running sums, so that the
 * sum of any range takes two searches. An imported points total has one entry, with its total and
 * its score.
 */
import { inSlices } from '../../system/time-slice.ts';
import { joinDoubles, joinIntegers } from '../columns.ts';
import { firstPlace } from '../first-place.ts';
import type { TimeRange } from '../query.ts';
import { growable } from '../shared-arrays.ts';
import { indexRows, orderRows } from './row-index.ts';

/** Entries of points totals, in no order. */
export interface Earned {
  /** The row of the points total that each belongs to. */
  readonly row: Int32Array;
  /** Unix milliseconds. Of an imported points total, which has one entry, its score. */
  readonly instantOrScore: Float64Array;
  readonly points: Float64Array;
}

interface AwardParts {
  /**
   * The entries of the points total in row `r` are at `[offsets[r], offsets[r + 1])`, ascending by
   * instant.
   */
  readonly offsets: Int32Array;
  /** As in `Earned`. */
  readonly instantOrScore: Float64Array;
  /** Sum of the points of the same points total up to and including each entry. */
  readonly sums: Float64Array;
}

export class AwardHistory {
  readonly parts: AwardParts;

  constructor(parts: AwardParts) {
    this.parts = parts;
  }

  /** `totals` is the number of points totals. */
  static async of(parts: readonly Earned[], totals: number) {
    const earned = await joinDoubles(parts.map((part) => part.instantOrScore));
    const points = await joinDoubles(parts.map((part) => part.points));
    const index = await indexRows(await joinIntegers(parts.map((part) => part.row)), totals);
    await orderRows(index, (entry) => earned[entry]!);
    const { offsets, rows: entries } = index;
    const instantOrScore = growable(Float64Array, entries.length);
    const sums = growable(Float64Array, entries.length);
    await inSlices(0, totals, (from, to) => {
      for (let row = from; row < to; row++) {
        let sum = 0;
        for (let place = offsets[row]!; place < offsets[row + 1]!; place++) {
          sum += points[entries[place]!]!;
          instantOrScore[place] = earned[entries[place]!]!;
          sums[place] = sum;
        }
      }
    });
    return new AwardHistory({ offsets, instantOrScore, sums });
  }

  /** The points inside the range of a points total that is not imported; 0 without entries. */
  sum(row: number, { startMs, endMs }: TimeRange): number {
    return this.#sumBefore(row, endMs) - (startMs === undefined ? 0 : this.#sumBefore(row, startMs));
  }

  /** The figures of an imported points total. */
  imported(row: number): { readonly total: number; readonly score: number } {
    const { offsets, instantOrScore, sums } = this.parts;
    const entry = offsets[row]!;
    return { total: sums[entry]!, score: instantOrScore[entry]! };
  }

  #sumBefore(row: number, instantMs?: number): number {
    const { offsets, instantOrScore, sums } = this.parts;
    const [first, last] = [offsets[row]!, offsets[row + 1]!];
    const end =
      instantMs === undefined
        ? last
        : firstPlace(first, last, (entry) => instantOrScore[entry]! >= instantMs);
    return end === first ? 0 : sums[end - 1]!;
  }
}
