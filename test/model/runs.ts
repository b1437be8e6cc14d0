/** How long a property is tried: a few random cases, unless `CORKBOARD_RUNS` asks for more of each. */
import { DEFAULT_STORAGE, type StorageKind } from '../storage.ts';

/** Set for what belongs to the night: `npm run test:long`. */
export const IS_LONG = process.env['CORKBOARD_LONG'] === '1';

/** Over the other storages a property shows that they agree with the default; a few cases do. */
const LESS = 5;

/** Options of `fc.assert`. Looking for the smallest counterexample ends after a while, since every case is an import. */
export function runs(most: number, kind: StorageKind = DEFAULT_STORAGE) {
  const wanted = Number(process.env['CORKBOARD_RUNS'] ?? 0);
  const usual = kind === DEFAULT_STORAGE ? most : Math.ceil(most / LESS);
  const numRuns = Math.max(usual, Number.isSafeInteger(wanted) ? wanted : 0);
  return {
    numRuns,
    interruptAfterTimeLimit: Math.max(240_000, numRuns * 5_000),
    markInterruptAsFailure: true,
  };
}
