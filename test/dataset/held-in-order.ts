/** The data of a version in memory, for comparing versions that were made in different ways. */
import { type EventRows, ROW_WORDS } from '../../src/dataset/event-rows.ts';
import type { EventTally } from '../../src/dataset/query.ts';
import type { Holdings } from '../../src/dataset/resident/dataset.ts';
import { imageOf } from '../../src/dataset/resident/holdings-image.ts';
import { type PointsIndex, readTotals } from '../../src/dataset/resident/points-totals.ts';
import { rowsOf } from '../../src/dataset/resident/row-index.ts';
import { sectionOf } from '../../src/dataset/resident/sections.ts';
import { rowAt } from '../../src/dataset/row-runs.ts';

/** The data of a version, whatever order they have in memory, and with what has no order sorted. */
export async function inOrder(held: Holdings) {
  const { records, boardNames, userNames, timeline, standings, visibility } = held;
  const { byBoard, byActor } = timeline;
  const boards = Array.from({ length: held.sizes.boards }, (_, board) => board);
  const users = Array.from({ length: held.sizes.users }, (_, user) => user);
  const texts = (of: object) =>
    Object.entries(of).map(([name, column]) => [
      name,
      'at' in column && 'size' in column
        ? Array.from({ length: column.count }, (_, at) => column.at(at))
        : [...column],
    ]);
  // What is compared below.
  const isOther = (name: string) =>
    !/^(users|boards|pins) .* (bytes|offsets)$|^(board people|events?|points|boards with points|awards|tally)( |$)/.test(
      name,
    );
  const { places, events } = eventsInOrder(timeline.events);
  const positions = (rows: Int32Array) => Array.from(rows, (row) => places.get(row));
  return {
    arrays: [...imageOf(held)].filter(([name]) => isOther(name)).map(([name, array]) => [name, [...array]]),
    records: [texts(records.users), texts(records.boards), texts(records.pins)],
    ...{
      boardNames,
      userNames: await userNames.all(),
      sizes: held.sizes,
      events,
      tally: tallied(held.tally),
    },
    people: boards.map((board) => rowsOf(visibility.boardPeople, board).toSorted()),
    byBoard: boards.map((board) => positions(rowsOf(byBoard, board))),
    byActor: users.map((user) => positions(rowsOf(byActor, user))),
    totals: await Promise.all(boards.map((board) => totalsOf(standings, board))),
    boardsByUser: users.map((user) => [...rowsOf(standings.held.boardsByUser, user)]),
  };
}

function tallied({ kind, actor, owner, board, pin }: EventTally) {
  return [kind, actor, owner, board, pin].map(({ index, count }) =>
    Array.from(index, (value, place) => [value, count[place]!] as const).sort(
      ([one], [other]) => one - other,
    ),
  );
}

/** The events in the order of the timeline, and the position of each row. */
function eventsInOrder({ runs, count, words }: EventRows) {
  const rows = Array.from({ length: count }, (_, position) => rowAt(runs, position));
  return {
    places: new Map(rows.map((row, position) => [row, position])),
    events: rows.map((row) => [...words.subarray(row * ROW_WORDS, (row + 1) * ROW_WORDS)]),
  };
}

/** The points totals of a board, each with its entries. */
async function totalsOf({ held }: PointsIndex, board: number) {
  const { from, to } = sectionOf(held.sections, board);
  const rows = Int32Array.from({ length: to - from }, (_, at) => from + at);
  const { user, totalPoints, participationScore } = await readTotals(held, rows);
  const { instantOrScore, sums, offsets } = held.earnings.parts;
  const entriesOf = (row: number) =>
    [...instantOrScore.subarray(offsets[row], offsets[row + 1])].map((value, at) => [
      value,
      sums[offsets[row]! + at],
    ]);
  return Array.from(rows, (row, at) => ({
    ...{ user: user[at], total: totalPoints[at], score: participationScore[at] },
    isImported: held.imported[row],
    // The sums of awards of the same instant depend on their order; only the last one is used.
    entries: entriesOf(row).filter(([value], place, all) => all[place + 1]?.[0] !== value),
  }));
}
