/**
 * The score of a points total (decision 25) as SQL, for the stores. `score.ts` is the reference.
 */

/**
 * SQL for `participationScore` of a total, a 64-bit integer that is at least 0. Uses the columns
 * `percent` and `goal`. The result is `min(100, round half up of 100 * total / goal)`, in integer
 * arithmetic that does not overflow for totals below the goal, or `min(goal, total)`. `division` is
 * the operator for integer division that drops the remainder.
 */
export function participationScoreSql(total: string, division: '/' | '//'): string {
  return `CASE WHEN NOT percent THEN least(goal, ${total})
    WHEN ${total} >= goal THEN 100 ELSE (200 * ${total} + goal) ${division} (2 * goal) END`;
}
