/**
 * Definition of totals and scores (decision 25). Stores compute the same values in SQL; the
 * formulas here are the reference.
 */
import type { BoardPolicy } from './policy.ts';

/**
 * `total_points`: counted points plus adjustments by hand, at least 0. In SQL: `greatest(0, counted
 * + adjusted)`.
 */
export function totalPoints(countedSum: number, adjustmentsSum: number): number {
  return Math.max(0, countedSum + adjustmentsSum);
}

/**
 * `participation_score` of a total. With `percent`: the share of the goal in whole percent, rounded
 * half up, from 0 to 100. With `points`: the total itself, limited to 0 to the goal. The total must
 * be an integer. In SQL, over 64-bit integers: `CASE WHEN total <= 0 THEN 0 WHEN total >= goal THEN
 * 100 ELSE (200 * total + goal) // (2 * goal) END` and `least(goal, greatest(0, total))`.
 */
export function participationScore(policy: BoardPolicy, total: number): number {
  const { goal } = policy;
  if (policy.participationScore === 'points') return Math.min(goal, Math.max(0, total));
  if (total <= 0) return 0;
  if (total >= goal) return 100;
  // Integers, because 200 times a safe integer may not be safe, and a rounded quotient could fall
  // on the wrong side of a half.
  const doubledGoal = 2n * BigInt(goal);
  return Number((200n * BigInt(total) + BigInt(goal)) / doubledGoal);
}
