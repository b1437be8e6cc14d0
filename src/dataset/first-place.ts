/** Binary search. */

/**
 * The first position in `[low, high)` at which the condition holds, or `high`. The condition must
 * also hold at all later positions.
 */
export function firstPlace(low: number, high: number, holds: (place: number) => boolean): number {
  let first = low;
  let end = high;
  while (first < end) {
    const middle = (first + end) >>> 1;
    if (holds(middle)) end = middle;
    else first = middle + 1;
  }
  return first;
}
