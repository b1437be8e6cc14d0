/** What a points policy changes before it is in force, and its rules that earn nothing. */
import { AppError } from '../../domain/app-error.ts';
import { readPolicy } from '../../points/policy.ts';
import { unknownKinds } from '../../points/unknown-kinds.ts';
import { LISTED_CHANGES, type PointsChanges, type Store } from '../../store/store.ts';
import { countOf, remark, renderTable } from '../terminal/output.ts';

/**
 * Throws `policy-malformed` for a rule whose kind of event is unknown and like a known one, unless
 * `takesAll`. Remarks the others.
 */
export async function checkKinds(
  store: Store,
  organization: string,
  policy: string,
  takesAll: boolean,
): Promise<void> {
  const dataset = await store.openDataset(organization);
  await dataset?.close();
  const present = (dataset?.kinds ?? []).map(({ type, action }) => `${type}.${action}`);
  for (const { kind, nearest } of unknownKinds(readPolicy(policy), present)) {
    if (nearest !== undefined && !takesAll) {
      throw new AppError(
        'policy-malformed',
        `The policy has a rule for ${kind}, which no event is of; the nearest kind is ${nearest}. Correct the rule, or add --yes if such events are to come.`,
      );
    }
    remark(`No event is ${kind} yet: until then, its rule earns nothing.`);
  }
}

export function renderPointsChanges({ users, boards, largest }: PointsChanges): string {
  if (users === 0) return 'The points of all users would stay the same.';
  const rows = largest.map(({ title, email, before, after }) => [
    ...[title, email, before.totalPoints, after.totalPoints],
    ...[before.participationScore, after.participationScore],
  ]);
  const heading = ['BOARD', 'USER', 'POINTS', 'NEW POINTS', 'SCORE', 'NEW SCORE'];
  const what = `The points of ${countOf(users, 'user')} on ${countOf(boards, 'board')} would change`;
  const isAll = rows.length < LISTED_CHANGES;
  return `${what}${isAll ? ':' : '. The largest changes:'}\n\n${renderTable(heading, rows)}`;
}
