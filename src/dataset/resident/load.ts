/** Loading a version into memory, beside whatever is in service. */

import { FULL_SCOPE } from '../../domain/scope.ts';
import { collectRuns } from '../columns.ts';
import type { Dataset } from '../dataset.ts';
import { type EventRows, makeEventRows, setEventRows } from '../event-rows.ts';
import { joinRecords } from '../records.ts';
import { type Holdings, ResidentDataset } from './dataset.ts';
import { tallySelection } from './events.ts';
import { readBoardNames, readUserNames } from './names.ts';
import { Register } from './register.ts';
import { orderStandings, type StandingsBook } from './standings.ts';
import { openTimeline } from './timeline.ts';
import { type BoardPeople, indexBoardPeople, Visibility } from './visibility.ts';

/** What is in memory beside the events. */
type Registers = Omit<Holdings, 'timeline' | 'sizes' | 'tally'>;

const ALL = { scope: FULL_SCOPE, range: {} };

/**
 * The same version in memory. The stored dataset belongs to the resident one from then on and is closed with it, as
 * `onClose` is told; when loading throws, it is still the caller's.
 */
export async function loadDataset(stored: Dataset, onClose: () => void): Promise<ResidentDataset> {
  const { counts, kinds, lastSequence } = stored;
  // Side by side, which a store with several connections makes use of.
  const reading = [readEvents(stored), readRegisters(stored)] as const;
  // Whatever fails: the caller closes what is read.
  await Promise.allSettled(reading);
  const [events, registers] = await Promise.all(reading);
  const sizes = { ...counts, kinds: kinds.length };
  const holdings = {
    ...registers,
    timeline: await openTimeline(events, counts, registers.visibility, lastSequence),
    sizes,
    tally: await tallySelection(events, { from: 0, to: events.count }, sizes),
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

/** Everything but events. */
async function readRegisters(stored: Dataset): Promise<Registers> {
  const records = {
    users: await joinRecords('users', stored.records('users')),
    boards: await joinRecords('boards', stored.records('boards')),
    pins: await joinRecords('pins', stored.records('pins')),
  };
  const users = await Register.of(records.users, await stored.list('users', ALL));
  const boards = await Register.of(records.boards, await stored.list('boards', ALL));
  return {
    records,
    users,
    boards,
    boardNames: await readBoardNames(records.boards),
    userNames: await readUserNames(stored.tables().properties()),
    visibility: new Visibility(boards, users, await readPeople(stored)),
    standings: await readPoints(stored, users, boards),
  };
}

async function readPeople(stored: Dataset): Promise<BoardPeople> {
  return await indexBoardPeople(await collectRuns(stored.tables().boardPeople()), stored.counts.boards);
}

async function readPoints(stored: Dataset, users: Register, boards: Register): Promise<StandingsBook> {
  const tables = stored.tables();
  const standings = await collectRuns(tables.standings());
  return await orderStandings(standings, await collectRuns(tables.earnings()), users, boards, stored.policy);
}
