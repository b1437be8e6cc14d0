/**
 * A version in memory made from an earlier one that is there already and what is new since (decision 47). The earlier
 * one stays as it is, for the answers that are under way; what both have in common, and can, they share.
 */
import { inSlices } from '../../time-slice.ts';
import type { Dataset } from '../dataset.ts';
import { type EventRows, makeEventRows, ROW_WORDS, setEventRows, timestampOf } from '../event-rows.ts';
import type { EventBatch } from '../query.ts';
import type { Increment } from '../tables.ts';
import { type Holdings, ResidentDataset } from './dataset.ts';
import { moreTally } from './events.ts';
import { readBoards, readPeople, readPoints, readUsers } from './load.ts';
import { changeBoardNames, moreUserNames, readUserNames, type UserNames } from './names.ts';
import { changePoints } from './points-changes.ts';
import type { Register } from './register.ts';
import { firstPlace, insertion, lengthAfter, SEARCHES_AT_ONCE, type Splice, spliceColumn } from './splice.ts';
import { moreBoardPeople, Visibility } from './visibility.ts';

/** As `loadDataset`, to the same dataset. */
export async function followDataset(
  before: ResidentDataset,
  stored: Dataset,
  increment: Increment,
  onClose: () => void,
): Promise<ResidentDataset> {
  const { held } = before;
  const { counts, kinds, lastSequence } = stored;
  const sizes = { ...counts, kinds: kinds.length };
  const { boards, boardNames } = await boardsAfter(held, stored, increment);
  const users =
    increment.users === undefined ? await readUsers(stored) : await held.users.with(increment.users);
  const visibility = new Visibility(boards, users, await peopleAfter(held, stored, increment));
  const change = insertion(
    held.timeline.events.count,
    await placesOf(held.timeline.events, increment.events),
  );
  const events = await eventsAfter(held.timeline.events, increment.events, change);
  const holdings: Holdings = {
    users,
    boards,
    boardNames,
    userNames: await userNamesAfter(held, stored, increment),
    visibility,
    timeline: await held.timeline.with(events, increment.events, change, counts, visibility, lastSequence),
    sizes,
    tally: await moreTally(held.tally, increment.events, sizes),
    standings: await standingsAfter(held, stored, increment, users, boards),
  };
  return new ResidentDataset(stored, holdings, onClose);
}

async function boardsAfter({ boards, boardNames }: Holdings, stored: Dataset, { boards: rows }: Increment) {
  if (rows === undefined) return await readBoards(stored);
  return { boards: await boards.with(rows), boardNames: await changeBoardNames(boardNames, rows) };
}

async function peopleAfter({ visibility }: Holdings, stored: Dataset, { boardPeople: pairs }: Increment) {
  if (pairs === undefined) return await readPeople(stored);
  return await moreBoardPeople(visibility.boardPeople, stored.counts.boards, pairs);
}

async function userNamesAfter(
  { userNames }: Holdings,
  stored: Dataset,
  { properties: rows }: Increment,
): Promise<UserNames> {
  if (rows === undefined) return await readUserNames(stored.tables().properties());
  return await moreUserNames(userNames, rows);
}

async function standingsAfter(
  { standings }: Holdings,
  stored: Dataset,
  { points }: Increment,
  users: Register,
  boards: Register,
) {
  if (points === undefined) return await readPoints(stored, users, boards);
  return await changePoints(standings, points, users, boards, stored.policy);
}

/** Where new events go: behind those of the same instant, since their sequences are larger than all before. */
async function placesOf(events: EventRows, { count, timestampMs }: EventBatch): Promise<Int32Array> {
  const places = new Int32Array(count);
  const find = (from: number, to: number) => {
    for (let row = from; row < to; row++) {
      const isLater = (place: number) => timestampOf(events, place) > timestampMs[row]!;
      places[row] = firstPlace(places[row - 1] ?? 0, events.count, isLater);
    }
  };
  await inSlices(0, count, find, SEARCHES_AT_ONCE);
  return places;
}

async function eventsAfter(events: EventRows, batch: EventBatch, change: Splice): Promise<EventRows> {
  const added = makeEventRows(batch.count);
  setEventRows(added, batch, 0);
  const after = makeEventRows(lengthAfter(change));
  await spliceColumn(events.words, added.words, change, after.words, ROW_WORDS);
  return after;
}
