/** How long a property is tried: a few random cases, unless `CORKBOARD_RUNS` asks for more of each. */
import { EMBEDDED, type StorageKind } from '../storage.ts';

/** What is kept in memory comes from a store that is tried by itself, and has properties of its own. */
const LESS = 3;

/** Options of `fc.assert`. Looking for the smallest counterexample ends after a while, since every case is an import. */
export function runs(most: number, kind: StorageKind = EMBEDDED) {
  const wanted = Number(process.env['CORKBOARD_RUNS'] ?? 0);
  const usual = kind.resident ? Math.ceil(most / LESS) : most;
  const numRuns = Math.max(usual, Number.isSafeInteger(wanted) ? wanted : 0);
  return {
    numRuns,
    interruptAfterTimeLimit: Math.max(240_000, numRuns * 5_000),
    markInterruptAsFailure: true,
  };
}
