/** An organization for tests of sync (decision 19): its events can be changed, on any server. */

/** It has four users, 1 to 4, two boards, 7 and 8, and no events. */
export interface Followed {
  readonly baseUrl: string;
  /** Changes with `invalidateTokens`. */
  readonly key: string;
  /** Publishes events in this order, which is not the order of their times. */
  add(...events: readonly Added[]): Promise<void>;
  rename(user: number, name: string): Promise<void>;
  /** Erases a user: removes the events of this actor, and the name from all others. */
  forget(user: number): Promise<void>;
  /** Deletes the event that was added as the `number`-th, from 1. */
  delete(number: number): Promise<void>;
  /** Invalidates all existing tokens, as a change of redaction does. */
  invalidateTokens(): Promise<void>;
  close(): Promise<void>;
}

export interface Added {
  readonly actor: number;
  readonly owner: number;
  readonly board: number;
}

export const USERS = [1, 2, 3, 4] as const;
export const BOARDS = [7, 8] as const;

/** Ids beyond 2^53, where rounding gives the id of a different user. */
export function idOf(user: number): bigint {
  return 2n ** 53n + BigInt(user);
}

/** Each event is earlier than the one before. */
export function timestampOf(number: number): string {
  return new Date(Date.UTC(2018, 2, 12) - number * 60_000).toISOString().replace('Z', '+00:00');
}
