/**
 * Time slicing: long work yields to the event loop, so that no request blocks the others (decision
 * 66). All sliced work of a thread shares one slice at a time, however many requests are in
 * progress. Between two slices the event loop has several turns for everything else.
 */

/**
 * Long enough that yielding costs little, short enough that other requests are not delayed
 * noticeably.
 */
export const SLICE_MS = 5;

/**
 * Turns of the event loop from one slice to the next. Each turn accepts one connection, so a slice
 * in every turn would limit the server to 200 new connections a second.
 */
export const TURNS_BETWEEN = 16;

/** Rows between two checks of the clock, for work that takes a few nanoseconds per row. */
const ROWS_AT_ONCE = 8_192;

export class TimeSlice {
  readonly #now: () => number;
  /**
   * End of the current slice; it stays set in the turns after the slice. Absent until the first
   * check of the clock.
   */
  #endMs: number | undefined;
  /** Work that continues in later turns, one in each, in this order. */
  readonly #waiting: (() => void)[] = [];

  /** `now` is a monotonic clock in milliseconds. */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** Whether the time of this slice is used up. Should be called about once a millisecond. */
  isOver(): boolean {
    if (this.#endMs === undefined) this.#begin();
    return this.#now() >= this.#endMs!;
  }

  /**
   * Resolves in a later turn that has time left: after other requests, and after work that has
   * waited longer.
   */
  pass(): Promise<void> {
    if (this.#endMs === undefined) this.#begin();
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  #begin(): void {
    this.#endMs = this.#now() + SLICE_MS;
    this.#goOn(TURNS_BETWEEN);
  }

  /** Each turn resumes some waiting work while there is time left in the slice. */
  #goOn(turnsLeft: number): void {
    setImmediate(() => {
      if (turnsLeft > 1) this.#goOn(turnsLeft - 1);
      else if (this.#waiting.length > 0) this.#begin();
      else this.#endMs = undefined;
      if (this.#waiting.length === 0) return;
      // Work that has waited since the last slice continues even if the clock has jumped forward.
      if (turnsLeft === 1 || !this.isOver()) this.#waiting.shift()?.();
    });
  }
}

/** The time slice of this thread. */
export const slice = new TimeSlice();

/**
 * Calls `work` for `[from, to)`, with at most `rows` rows between two checks of the clock. These
 * rows should take about a millisecond. A range of at most `rows` rows never yields.
 */
export async function inSlices(
  from: number,
  to: number,
  work: (from: number, to: number) => void,
  rows = ROWS_AT_ONCE,
): Promise<void> {
  for (let start = from; start < to; start += rows) {
    if (start > from && slice.isOver()) await slice.pass();
    work(start, Math.min(start + rows, to));
  }
}

/**
 * Work that can pause at each `yield`. The yields should be a few tenths of a millisecond apart.
 */
export type Steps<Result> = Generator<void, Result, void>;

/** Runs the work to its end, in time slices. */
export async function inSlicesOf<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (slice.isOver()) await slice.pass();
  }
}

/** Runs the work to its end without a pause. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
