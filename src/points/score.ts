/**
 * What a total and a score are (decision 25). Stores compute the same figures in SQL; the formulas here are the
 * ones to which they are held.
 */
import type { BoardPolicy } from './policy.ts';

/**
 * `total_points`: what counted plus adjustments by hand, never below 0. In SQL:
 * `greatest(0, counted + adjusted)`.
 */
export function totalPoints(countedSum: number, adjustmentsSum: number): number {
  return Math.max(0, countedSum + adjustmentsSum);
}

/**
 * `participation_score` of a total: the share of the goal in whole percent, halves up, from 0 to 100; with
 * `points` the total itself, from 0 to the goal. The total is an integer. In SQL, over 64-bit integers:
 * `CASE WHEN total <= 0 THEN 0 WHEN total >= goal THEN 100 ELSE (200 * total + goal) // (2 * goal) END` and
 * `least(goal, greatest(0, total))`.
 */
export function participationScore(policy: BoardPolicy, total: number): number {
  const { goal } = policy;
  if (policy.participationScore === 'points') return Math.min(goal, Math.max(0, total));
  if (total <= 0) return 0;
  if (total >= goal) return 100;
  // Whole numbers, because 200 times a safe integer is not one, and a rounded quotient may fall on the wrong side of a half.
  const doubledGoal = 2n * BigInt(goal);
  return Number((200n * BigInt(total) + BigInt(goal)) / doubledGoal);
}
