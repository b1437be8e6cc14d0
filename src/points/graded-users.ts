/** The users of a board with their points, as gradebooks list them (decisions 92 and 101). */

import type { Dataset } from '../dataset/dataset.ts';
import type { StandingsQuery } from '../dataset/query.ts';
import type { Users } from '../dataset/records.ts';
import type { PropertyOfBoard } from '../dataset/tables.ts';
import { isUnknownOwner } from '../domain/unknown-owner.ts';
import { canBeImported, type Gradebook, type GradedUser } from './gradebook.ts';

export interface GradedQuery extends Pick<StandingsQuery, 'scope' | 'range'> {
  /** Index of the board. */
  readonly board: number;
  /** The LMS property with the id by which the system knows users; absent: it needs none. */
  readonly property?: string | undefined;
  /** Only users with this class role; absent: all users. */
  readonly classRole?: string | undefined;
  readonly gradebook: Gradebook;
}

export interface UsersLeftOut {
  /** Users with a different class role, by class role. */
  readonly byRole: Map<string, number>;
  /** Users without a value of the property. */
  withoutId: number;
  /** Users whom the system cannot know, and whose rows it would not tolerate. */
  unknowable: number;
}

export interface GradedUsers {
  /**
   * The users of the board in the scope, without the unknown owner, ascending by id. Made while
   * they are read, once.
   */
  readonly users: Iterable<GradedUser>;
  /** Complete when `users` has been read. */
  readonly leftOut: Readonly<UsersLeftOut>;
}

/** `loaded`: the columns of all users, if they are in memory. */
export async function readGradedUsers(
  dataset: Dataset,
  { scope, range, board, property, classRole, gradebook }: GradedQuery,
  loaded?: Users,
): Promise<GradedUsers> {
  const standings = await dataset.standings({ scope, range, of: { board } });
  const lmsIds = property === undefined ? undefined : await readLmsIds(dataset, { property, board });
  const detailsOf = loaded ? detailsIn(loaded) : await readDetails(dataset, new Set(standings.user));
  const leftOut: UsersLeftOut = { byRole: new Map(), withoutId: 0, unknowable: 0 };
  function* graded(): Generator<GradedUser, void> {
    for (const [row, index] of standings.user.entries()) {
      const { classRole: itsRole, ...details } = detailsOf(index);
      const user: GradedUser = {
        ...{ ...details, lmsId: lmsIds?.get(index) },
        totalPoints: standings.totalPoints[row]!,
        participationScore: standings.participationScore[row]!,
      };
      if (isUnknownOwner(user)) continue;
      if (classRole !== undefined && itsRole !== classRole) {
        leftOut.byRole.set(itsRole, (leftOut.byRole.get(itsRole) ?? 0) + 1);
      } else if (lmsIds !== undefined && user.lmsId === undefined) leftOut.withoutId += 1;
      else if (!canBeImported(gradebook, user)) leftOut.unknowable += 1;
      else yield user;
    }
  }
  return { users: graded(), leftOut };
}

interface UserDetails extends Pick<GradedUser, 'id' | 'email' | 'firstName' | 'lastName'> {
  readonly classRole: string;
}

function detailsIn(users: Users): (index: number) => UserDetails {
  return (index) => ({
    ...{ id: users.id[index]!, email: users.email.at(index) },
    ...{ firstName: users.first_name.at(index), lastName: users.last_name.at(index) },
    classRole: users.class_role.at(index),
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
