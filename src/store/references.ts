/**
 * The references between records. Every store checks that the targets of staged records exist
 * (decision 30).
 */
import type { RecordKind, ReferredKind } from './staging.ts';

export interface Reference {
  readonly kind: RecordKind;
  readonly field: string;
  readonly to: ReferredKind;
}

/** In the order in which invalid records can make others invalid. */
export const REFERENCES: readonly Reference[] = [
  { kind: 'pins', field: 'board_id', to: 'boards' },
  { kind: 'pins', field: 'owner_id', to: 'users' },
  { kind: 'memberships', field: 'board_id', to: 'boards' },
  { kind: 'memberships', field: 'user_id', to: 'users' },
  { kind: 'events', field: 'owner_id', to: 'users' },
  { kind: 'events', field: 'actor_id', to: 'users' },
  { kind: 'events', field: 'board_id', to: 'boards' },
  { kind: 'events', field: 'pin_id', to: 'pins' },
  { kind: 'points', field: 'user_id', to: 'users' },
  { kind: 'points', field: 'board_id', to: 'boards' },
  { kind: 'adjustments', field: 'user_id', to: 'users' },
  { kind: 'adjustments', field: 'board_id', to: 'boards' },
];
