/** Standings in memory after pairs of board and user have come, gone or earned something else. */
import type { Standings } from '../query.ts';
import type { PointsChanges } from '../tables.ts';
import { Earnings } from './earnings.ts';
import type { Register } from './register.ts';
import {
  addedRows,
  firstPlace,
  lengthAfter,
  placeAdditions,
  renumberRows,
  type Splice,
  spliceColumn,
  spliceIndex,
  spliceOffsets,
} from './splice.ts';
import {
  findStanding,
  gather,
  type OrderedStandings,
  readPolicies,
  StandingsBook,
  standingsOf,
} from './standings.ts';

/** The registers and the policy, as text, are those of the version that has the changes. */
export async function changePoints(
  book: StandingsBook,
  { standings: touched, earnings: earned }: PointsChanges,
  users: Register,
  boards: Register,
  policy: string,
): Promise<StandingsBook> {
  const before = book.held;
  const pairs = gathered(touched, inOrder(touched, users));
  const { places, held, come, change } = compare(before, pairs, users);
  const ordered = await spliceStandings(before, change, gathered(pairs, come), users, boards);
  const placeAfter = (board: number, user: number) => findStanding(ordered, users, board, user).place;
  const standing = held.map((row) => placeAfter(pairs.board[row]!, pairs.user[row]!));
  for (const [place, row] of held.entries()) {
    ordered.standings.totalPoints[standing[place]!] = pairs.totalPoints[row]!;
    ordered.standings.participationScore[standing[place]!] = pairs.participationScore[row]!;
  }
  const heldAt = new Map(Array.from(standing, (row, place) => [row, place]));
  const earner = earned.user.map((user, row) => heldAt.get(placeAfter(earned.board[row]!, user))!);
  const earnings = await before.earnings.with(change, {
    standing,
    at: held.map((row) => places[row]!.place),
    replaced: held.filter((row) => places[row]!.found).map((row) => places[row]!.place),
    earnings: await Earnings.of(earner, earned, standing.length),
  });
  return new StandingsBook({ ...ordered, earnings, policyOf: readPolicies(policy, boards) });
}

/** Which of the pairs have a standing now, which of these had none before, and what that makes of the list. */
function compare(before: OrderedStandings, pairs: Standings, users: Register) {
  const places = Array.from(pairs.user, (user, row) => findStanding(before, users, pairs.board[row]!, user));
  const isHeld = (row: number) => !Number.isNaN(pairs.totalPoints[row]!);
  const rows = Int32Array.from(places.keys());
  const placesOf = (some: Int32Array) => some.map((row) => places[row]!.place);
  const come = rows.filter((row) => isHeld(row) && !places[row]!.found);
  const change: Splice = {
    length: before.standings.count,
    before: placesOf(come),
    gone: placesOf(rows.filter((row) => !isHeld(row) && places[row]!.found)),
  };
  return { places, held: rows.filter(isHeld), come, change };
}

function gathered(source: Standings, rows: Int32Array): Standings {
  const target = standingsOf(rows.length);
  gather(source, rows, target, 0, rows.length);
  return target;
}

/** Rows by the index of the board, then by the id of the user. */
function inOrder({ board, user }: Standings, { ranks }: Register): Int32Array {
  return Int32Array.from(board.keys()).sort(
    (one, other) => board[one]! - board[other]! || ranks[user[one]!]! - ranks[user[other]!]!,
  );
}

async function spliceStandings(
  { standings, offsets, byUser }: OrderedStandings,
  change: Splice,
  added: Standings,
  users: Register,
  boards: Register,
): Promise<OrderedStandings> {
  const after = standingsOf(lengthAfter(change));
  for (const name of ['user', 'board'] as const)
    await spliceColumn(standings[name], added[name], change, after[name]);
  for (const name of ['totalPoints', 'participationScore'] as const)
    await spliceColumn(standings[name], added[name], change, after[name]);
  const rankOf = (row: number) => boards.ranks[standings.board[row]!]!;
  // Where several boards are new to a user, the one with the lower id comes first.
  const inRank = Int32Array.from(added.board.keys()).sort(
    (one, other) => boards.ranks[added.board[one]!]! - boards.ranks[added.board[other]!]!,
  );
  const numbers = addedRows(change);
  const additions = await placeAdditions(
    byUser,
    inRank.map((row) => added.user[row]!),
    inRank.map((row) => numbers[row]!),
    (row, place) => rankOf(byUser.rows[place]!) > boards.ranks[added.board[inRank[row]!]!]!,
  );
  const gone = change.gone.map((row) => {
    const user = standings.user[row]!;
    return firstPlace(
      byUser.offsets[user]!,
      byUser.offsets[user + 1]!,
      (place) => rankOf(byUser.rows[place]!) >= rankOf(row),
    );
  });
  return {
    standings: after,
    offsets: spliceOffsets(offsets, boards.count, change, added.board),
    byUser: await spliceIndex(byUser, users.count, await renumberRows(change), additions, gone.sort()),
  };
}
