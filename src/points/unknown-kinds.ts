/** Rules of a policy that earn nothing, because no event is of their kind. */
import { nearestName } from '../domain/nearest-name.ts';
import type { Policy } from './policy.ts';

/** Kinds that imports of other software make, beside those of the contract. */
const USUAL_KINDS = [
  ...['pin.created', 'pin.visited', 'pin.commented', 'pin.answered', 'pin.liked', 'pin.bookmarked'],
  ...['pin.followed', 'pin.unfollowed', 'pin.started', 'pin.submitted', 'pin.accepted'],
  ...['board.visited', 'board.followed', 'board.unfollowed'],
];

export interface UnknownKind {
  readonly kind: string;
  /** The known kind that was probably meant. */
  readonly nearest: string | undefined;
}

/** `present`: the kinds of all events. Each kind once, in the order of the policy. */
export function unknownKinds(policy: Policy, present: readonly string[]): readonly UnknownKind[] {
  const known = new Set([...present, ...USUAL_KINDS]);
  const rules = [policy.default, ...policy.boards.values()].flatMap((one) => one.rules);
  const kinds = new Set(rules.map(({ on }) => on));
  return [...kinds]
    .filter((kind) => !known.has(kind))
    .map((kind) => ({ kind, nearest: nearestName(kind, known) }));
}
