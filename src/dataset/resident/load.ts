/** Loading a version into memory, beside whatever is in service. */
import type { Dataset } from '../dataset.ts';
import { type EventRows, makeEventRows, setEventRows } from '../event-rows.ts';
import { FULL_SCOPE } from '../scope.ts';
import { collectRuns } from './columns.ts';
import { ResidentDataset } from './dataset.ts';
import { tallySelection } from './events.ts';
import { readBoardNames, readUserNames } from './names.ts';
import { Register } from './register.ts';
import { readStandings } from './standings.ts';
import { openTimeline } from './timeline.ts';
import { readBoardPeople, Visibility } from './visibility.ts';

const ALL = { scope: FULL_SCOPE, range: {} };

/**
 * The same version in memory. The stored dataset belongs to the resident one from then on and is closed with it, as
 * `onClose` is told; when loading throws, it is still the caller's.
 */
export async function loadDataset(stored: Dataset, onClose: () => void): Promise<Dataset> {
  const { counts, kinds, lastSequence, policy } = stored;
  const tables = stored.tables();
  const boardRows = await collectRuns(tables.boards());
  const boards = new Register(boardRows, await stored.listBoards(ALL));
  const users = new Register(await collectRuns(tables.users()), await stored.listUsers(ALL));
  const boardPeople = await readBoardPeople(tables.boardPeople(), boards.count);
  const visibility = new Visibility(boards, users, boardPeople);
  const events = await readEvents(stored);
  const sizes = { ...counts, kinds: kinds.length };
  const holdings = {
    users,
    boards,
    boardNames: readBoardNames(boardRows),
    userNames: await readUserNames(tables.properties()),
    visibility,
    timeline: await openTimeline(events, counts, visibility, lastSequence),
    sizes,
    tally: await tallySelection(events, { from: 0, to: events.count }, sizes),
    standings: await readStandings(tables, users, boards, policy),
  };
  return new ResidentDataset(stored, holdings, onClose);
}

/** Every event, in order. */
async function readEvents(stored: Dataset): Promise<EventRows> {
  const { events: count } = stored.counts;
  const events = makeEventRows(count);
  let at = 0;
  for await (const batch of stored.events(ALL)) {
    setEventRows(events, batch, at);
    at += batch.count;
  }
  if (at !== count) throw new Error(`a version counts ${count} events and delivers ${at}`);
  return events;
}
