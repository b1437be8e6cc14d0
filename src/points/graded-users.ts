/** The users of a board with their points, as gradebooks list them (decisions 92 and 101). */
import type { Dataset } from '../dataset/dataset.ts';
import type { StandingsQuery } from '../dataset/query.ts';
import type { Users } from '../dataset/records.ts';
import type { PropertyOfBoard } from '../dataset/tables.ts';
import type { GradedUser } from './gradebook.ts';

export interface GradedQuery extends Pick<StandingsQuery, 'scope' | 'range'> {
  /** Index of the board. */
  readonly board: number;
  /** The LMS property with the id by which the system knows users; absent: it needs none. */
  readonly property?: string | undefined;
}

export interface GradedUsers {
  /**
   * Ascending by id; with a property, only those who have a value of it. Made while they are read.
   */
  readonly users: Iterable<GradedUser>;
  /** The number of all users of the board in the scope. */
  readonly onBoard: number;
}

/** `loaded`: the columns of all users, if they are in memory. */
export async function readGradedUsers(
  dataset: Dataset,
  { scope, range, board, property }: GradedQuery,
  loaded?: Users,
): Promise<GradedUsers> {
  const standings = await dataset.standings({ scope, range, of: { board } });
  const lmsIds = property === undefined ? undefined : await readLmsIds(dataset, { property, board });
  const detailsOf = loaded ? detailsIn(loaded) : await readDetails(dataset, new Set(standings.user));
  function* graded(): Generator<GradedUser, void> {
    for (const [row, user] of standings.user.entries()) {
      const lmsId = lmsIds?.get(user);
      if (lmsIds !== undefined && lmsId === undefined) continue;
      yield {
        ...{ ...detailsOf(user), lmsId },
        totalPoints: standings.totalPoints[row]!,
        participationScore: standings.participationScore[row]!,
      };
    }
  }
  return { users: { [Symbol.iterator]: graded }, onBoard: standings.count };
}

type UserDetails = Pick<GradedUser, 'id' | 'email' | 'firstName' | 'lastName'>;

function detailsIn(users: Users): (index: number) => UserDetails {
  return (index) => ({
    ...{ id: users.id[index]!, email: users.email.at(index) },
    ...{ firstName: users.first_name.at(index), lastName: users.last_name.at(index) },
  });
}

/** Reads all users batch by batch, and keeps the details of those with these indices. */
async function readDetails(
  dataset: Dataset,
  wanted: ReadonlySet<number>,
): Promise<(index: number) => UserDetails> {
  const found = new Map<number, UserDetails>();
  let first = 0;
  for await (const batch of dataset.records('users')) {
    const detailsOf = detailsIn(batch);
    for (let at = 0; at < batch.id.length; at++) {
      if (wanted.has(first + at)) found.set(first + at, detailsOf(at));
    }
    first += batch.id.length;
  }
  return (index) => found.get(index)!;
}

/** By index of the user: the value of the property. */
async function readLmsIds(dataset: Dataset, of: PropertyOfBoard): Promise<ReadonlyMap<number, string>> {
  const values = new Map<number, string>();
  for await (const { user, value } of dataset.tables().properties(of)) {
    for (const [row, index] of user.entries()) values.set(index, value[row]!);
  }
  return values;
}
