/** The score of a total (decision 25) as SQL, for the stores. `score.ts` is what it is held to. */

/**
 * `participationScore` for a total that is never below 0, a 64-bit integer, beside the columns `percent` and `goal`:
 * `min(100, round half up of 100 * total / goal)`, in integers that do not overflow below the goal, or
 * `min(goal, total)`. `division`: the operator that divides integers and drops the rest.
 */
export function participationScoreSql(total: string, division: '/' | '//'): string {
  return `CASE WHEN NOT percent THEN least(goal, ${total})
    WHEN ${total} >= goal THEN 100 ELSE (200 * ${total} + goal) ${division} (2 * goal) END`;
}
