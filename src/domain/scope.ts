/**
 * What a key may see (decision 12). A scope is a required part of every question to a dataset, and the dataset
 * applies it, so a route cannot forget it.
 */
export interface Scope {
  /** Boards by id; an empty list sees nothing. Ids that do not exist (yet) are allowed. */
  readonly boards: 'all' | readonly bigint[];
  /** Users by id; `of-boards`: the people who are on a visible board, or act or own in an event on one. */
  readonly users: 'all' | 'of-boards' | readonly bigint[];
}

export const FULL_SCOPE: Scope = { boards: 'all', users: 'all' };

/** Whether the scope hides no event, whatever there is. */
export function seesEveryEvent({ boards, users }: Scope): boolean {
  return boards === 'all' && typeof users === 'string';
}
