/** Sizes in messages. */

/** As `1.3 GB`. */
export function inGigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}
