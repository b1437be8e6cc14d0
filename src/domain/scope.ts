/**
 * What a key may see (decision 12). Every query to a dataset requires a scope, and the dataset
 * applies it, so a route cannot forget it.
 */
export interface Scope {
  /** Boards by id; an empty list shows none. Ids that do not exist (yet) are allowed. */
  readonly boards: 'all' | readonly bigint[];
  /**
   * Users by id. `of-boards`: users who are on a visible board, or are actor or owner of an event
   * on one.
   */
  readonly users: 'all' | 'of-boards' | readonly bigint[];
}

export const FULL_SCOPE: Scope = { boards: 'all', users: 'all' };

/** Whether the scope is certain to hide no event, whatever the data. */
export function seesEveryEvent({ boards, users }: Scope): boolean {
  return boards === 'all' && typeof users === 'string';
}
