/** What a publication builds on. */
import type { Counts } from '../dataset.ts';

/** What the version in force holds. */
export interface Basis {
  readonly counts: Counts;
  /** Its clock; 0 when there is none. */
  readonly lastSequence: number;
}

/** The first sequence that a publication can give, to events and to what it alters. */
export function nextSequence({ lastSequence }: Basis): number {
  return lastSequence + 1;
}
