/** An organization whose events can be followed (decision 19), and changed, whatever serves it. */

/** It has four users, 1 to 4, two boards, 7 and 8, and no event. */
export interface Followed {
  readonly baseUrl: string;
  /** Another one after `invalidateTokens`. */
  readonly key: string;
  /** In the order in which they are published, which is not that of time. */
  add(...events: readonly Added[]): Promise<void>;
  rename(user: number, name: string): Promise<void>;
  /** Erases a person: the events in which that acts, the name in all others. */
  forget(user: number): Promise<void>;
  /** Makes every token that was given useless, as another redaction does. */
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

/** Beyond 2^53, where a rounded id is that of another person. */
export function idOf(user: number): bigint {
  return 2n ** 53n + BigInt(user);
}

/** Each event earlier than the one before. */
export function timestampOf(number: number): string {
  return new Date(Date.UTC(2018, 2, 12) - number * 60_000).toISOString().replace('Z', '+00:00');
}
