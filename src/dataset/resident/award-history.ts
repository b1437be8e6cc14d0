/**
 * Award history per points total, kept as running sums, so that the sum of any range takes two
 * searches. It contains counted awards and adjustments.
 */
import { inSlices } from '../../system/time-slice.ts';
import { joinDoubles, joinIntegers } from '../columns.ts';
import { firstPlace } from '../first-place.ts';
import type { TimeRange } from '../query.ts';
import { growable } from '../shared-arrays.ts';
import { indexRows, orderRows } from './row-index.ts';

/** Counted awards and adjustments, in no order. */
export interface Earned {
  /** The points total that each belongs to. */
  readonly standing: Int32Array;
  readonly timestampMs: Float64Array;
  readonly points: Float64Array;
}

interface AwardParts {
  /**
   * The entries of points total `s` are at `[offsets[s], offsets[s + 1])`, ascending by instant.
   */
  readonly offsets: Int32Array;
  readonly timestampMs: Float64Array;
  /** Sum of the points of the same points total up to and including each entry. */
  readonly sums: Float64Array;
}

export class AwardHistory {
  readonly parts: AwardParts;

  constructor(parts: AwardParts) {
    this.parts = parts;
  }

  /** `standings` is the number of points totals. */
  static async of(parts: readonly Earned[], standings: number) {
    const timestampMs = await joinDoubles(parts.map((part) => part.timestampMs));
    const points = await joinDoubles(parts.map((part) => part.points));
    const index = await indexRows(await joinIntegers(parts.map((part) => part.standing)), standings);
    await orderRows(index, (row) => timestampMs[row]!);
    const { offsets, rows } = index;
    const instants = growable(Float64Array, rows.length);
    const sums = growable(Float64Array, rows.length);
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
    return new AwardHistory({ offsets, timestampMs: instants, sums });
  }

  /** Points of a points total inside the range; 0 without entries. */
  sum(standing: number, { startMs, endMs }: TimeRange): number {
    return (
      this.#sumBefore(standing, endMs) - (startMs === undefined ? 0 : this.#sumBefore(standing, startMs))
    );
  }

  #sumBefore(standing: number, instantMs = Number.POSITIVE_INFINITY): number {
    const { offsets, timestampMs, sums } = this.parts;
    const first = offsets[standing]!;
    const end = firstPlace(first, offsets[standing + 1]!, (place) => timestampMs[place]! >= instantMs);
    return end === first ? 0 : sums[end - 1]!;
  }
}
