/** Judges whether memory grows: fits a line through its samples after the first two minutes. */
import { bytes } from '../table.ts';

export interface MemorySample {
  readonly seconds: number;
  readonly bytes: number;
}

/** The first minutes fill caches and pools. */
const FROM_SECONDS = 120;
/** Samples over a shorter time are not conclusive. */
const LEAST_SECONDS = 60;
/** The tolerated rise of the line from its start to its end, because of garbage collections. */
const TOLERATED_SHARE = 0.05;
const TOLERATED_BYTES = 32e6;

export function judgeMemory(samples: readonly MemorySample[]): { holds: boolean; sentence: string } {
  const judged = samples.filter(({ seconds }) => seconds >= FROM_SECONDS);
  const span = (judged.at(-1)?.seconds ?? 0) - (judged[0]?.seconds ?? 0);
  if (span < LEAST_SECONDS) {
    return { holds: true, sentence: 'memory is not judged in less than three minutes' };
  }
  const mean = meanOf(judged.map((sample) => sample.bytes));
  const rise = slopeOf(judged) * span;
  const tolerated = Math.max(TOLERATED_BYTES, mean * TOLERATED_SHARE);
  return {
    holds: rise <= tolerated,
    sentence:
      `memory does not grow from the second minute on: ${bytes(mean)} in the mean, the line through the samples ` +
      `rises by ${(rise / 1e6).toFixed(1)} MB in ${Math.round(span)} s (tolerated: ${bytes(tolerated)}); ` +
      `mean of each minute: ${meansByMinute(samples).map(bytes).join(', ')}`,
  };
}

function meansByMinute(samples: readonly MemorySample[]): number[] {
  const byMinute = Map.groupBy(samples, ({ seconds }) => Math.floor(seconds / 60));
  return [...byMinute.values()].map((list) => meanOf(list.map((sample) => sample.bytes)));
}

/** Slope by least squares, in bytes per second. */
function slopeOf(samples: readonly MemorySample[]): number {
  const meanSeconds = meanOf(samples.map((sample) => sample.seconds));
  const meanBytes = meanOf(samples.map((sample) => sample.bytes));
  let products = 0;
  let squares = 0;
  for (const { seconds, bytes: value } of samples) {
    products += (seconds - meanSeconds) * (value - meanBytes);
    squares += (seconds - meanSeconds) ** 2;
  }
  return products / squares;
}

function meanOf(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0) / values.length;
}
