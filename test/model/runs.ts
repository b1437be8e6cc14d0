/** How long a property is tried: a few random cases, unless `CORKBOARD_RUNS` asks for more of each. */

/** Options of `fc.assert`. Looking for the smallest counterexample ends after a while, since every case is an import. */
export function runs(usual: number) {
  const wanted = Number(process.env['CORKBOARD_RUNS'] ?? 0);
  const numRuns = Math.max(usual, Number.isSafeInteger(wanted) ? wanted : 0);
  return {
    numRuns,
    interruptAfterTimeLimit: Math.max(60_000, numRuns * 5_000),
    markInterruptAsFailure: true,
  };
}
