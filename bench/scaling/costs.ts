/**
 * What an organization costs, depending on its number of events: straight lines through the figures
 * of a benchmark of several sizes.
 */

export interface Cost {
  /** In bytes or milliseconds. */
  readonly unit: 'bytes' | 'ms';
  readonly fixed: number;
  readonly perEvent: number;
  /** The largest deviation of a measured value from the line, as a share of the value. */
  readonly deviation: number;
}

export interface Measured {
  readonly events: number;
  readonly value: number;
}

/**
 * The line with the smallest squares of deviations, as shares of the measured values. Neither part
 * is negative. Throws `RangeError` with fewer than two sizes.
 */
export function fitCost(unit: Cost['unit'], measured: readonly Measured[]): Cost {
  if (measured.length < 2) throw new RangeError('a line needs two sizes');
  const sums = { one: 0, events: 0, squares: 0, values: 0, products: 0 };
  for (const { events, value } of measured) {
    const weight = 1 / value ** 2;
    sums.one += weight;
    sums.events += weight * events;
    sums.squares += weight * events ** 2;
    sums.values += weight * value;
    sums.products += weight * events * value;
  }
  const determinant = sums.one * sums.squares - sums.events ** 2;
  const perEvent = (sums.one * sums.products - sums.events * sums.values) / determinant;
  const fixed = (sums.values - perEvent * sums.events) / sums.one;
  if (perEvent < 0) return costOf(unit, sums.values / sums.one, 0, measured);
  if (fixed < 0) return costOf(unit, 0, sums.products / sums.squares, measured);
  return costOf(unit, fixed, perEvent, measured);
}

function costOf(unit: Cost['unit'], fixed: number, perEvent: number, measured: readonly Measured[]): Cost {
  const deviations = measured.map(({ events, value }) => Math.abs(fixed + perEvent * events - value) / value);
  return { unit, fixed, perEvent, deviation: Math.max(...deviations) };
}

export function costAt({ fixed, perEvent }: Cost, events: number): number {
  return fixed + perEvent * events;
}

/** The sum over several organizations. */
export function costOfAll(cost: Cost, organizations: readonly number[]): number {
  return organizations.reduce((sum, events) => sum + costAt(cost, events), 0);
}

/** Sizes between two bounds, as many in each octave: most organizations are small. */
export function spreadSizes(count: number, least: number, most: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => least * (most / least) ** ((at + 0.5) / count));
}
