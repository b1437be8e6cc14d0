/** How many cases of a property run: a few random ones, or more with `CORKBOARD_RUNS`. */
import { DEFAULT_STORAGE, type StorageKind } from '../storage.ts';

/** Fewer cases suffice to show that the other storages agree with the default one. */
const LESS = 5;
/** Several times what a case takes on a busy machine. */
const LONGEST_CASE_MS = 60_000;

/**
 * Options of `fc.assert`. The search for a smaller counterexample is limited: every case is an
 * import.
 */
export function runs(most: number, kind: StorageKind = DEFAULT_STORAGE) {
  const wanted = Number(process.env['CORKBOARD_RUNS'] ?? 0);
  const usual = kind === DEFAULT_STORAGE ? most : Math.ceil(most / LESS);
  const numRuns = Math.max(usual, Number.isSafeInteger(wanted) ? wanted : 0);
  return {
    numRuns,
    interruptAfterTimeLimit: Math.max(240_000, numRuns * LONGEST_CASE_MS),
    markInterruptAsFailure: true,
  };
}
