/** Loads a version into memory, alongside the versions in service. */

import { FULL_SCOPE } from '../../domain/scope.ts';
import { collectRuns } from '../columns.ts';
import type { Dataset } from '../dataset.ts';
import { type EventRows, makeEventRows, setEventRows } from '../event-rows.ts';
import { joinRecords } from '../records.ts';
import { type Holdings, ResidentDataset } from './dataset.ts';
import { tallySelection } from './events.ts';
import { growHoldings, isComplete } from './grow.ts';
import { heldBytes, holdingsOf, imageOf } from './holdings-image.ts';
import { IdIndex } from './id-index.ts';
import { ImageKeeper } from './image-keeper.ts';
import { readBoardNames, UserNames } from './names.ts';
import { orderStandings, type PointsIndex } from './points-totals.ts';
import { type BoardPeople, indexBoardPeople, ScopeMask } from './scope-mask.ts';
import { openTimeline } from './timeline.ts';

/** The data in memory other than events. */
type Registers = Omit<Holdings, 'timeline' | 'sizes' | 'tally'>;

const ALL = { scope: FULL_SCOPE, range: {} };

/**
 * Loads the version into memory, from its image if there is one; `fitsRows` must be true of it. The
 * returned dataset takes ownership of `stored`: closing it calls `onClose` and closes `stored`. If
 * loading throws, the caller still owns `stored`.
 */
export async function loadDataset(stored: Dataset, onClose: () => void): Promise<ResidentDataset> {
  const image = await stored.image?.read();
  if (image !== undefined) return new ResidentDataset(stored, await holdingsOf(image, stored), onClose);
  const holdings = await readHoldings(stored);
  return new ResidentDataset(stored, holdings, onClose, { keeper: keep(stored, holdings) });
}

/**
 * Like `loadDataset`, but from an earlier version in memory and what has changed since. Undefined
 * if that is not known, or if the memory that all takes is not admitted.
 */
export async function growDataset(
  before: ResidentDataset,
  stored: Dataset,
  onClose: () => void,
  admits: (bytes: number) => boolean = () => true,
): Promise<ResidentDataset | undefined> {
  const changes = await stored.changesSince?.(before);
  if (changes === undefined || !isComplete(before.held, changes, stored)) return undefined;
  const holdings = await growHoldings(before.held, changes, stored);
  if (!admits(heldBytes(holdings))) return undefined;
  const { users, boards, pins } = changes.records;
  const records = { users: users.indices, boards: boards.indices, pins: pins.indices };
  return new ResidentDataset(stored, holdings, onClose, {
    keeper: keep(stored, holdings),
    origin: { version: before.version, records },
  });
}

function keep({ image }: Dataset, holdings: Holdings): ImageKeeper {
  const keeper = new ImageKeeper();
  if (image !== undefined) keeper.keep(image, imageOf(holdings));
  return keeper;
}

async function readHoldings(stored: Dataset): Promise<Holdings> {
  const { counts, kinds, lastSequence } = stored;
  // Both are read concurrently, which is faster in a store with several connections.
  const reading = [readEvents(stored), readRegisters(stored)] as const;
  // If one fails, wait for the other one before throwing, because the caller then closes `stored`.
  await Promise.allSettled(reading);
  const [events, registers] = await Promise.all(reading);
  const sizes = { ...counts, kinds: kinds.length };
  return {
    ...registers,
    timeline: await openTimeline(events, counts, registers.visibility, lastSequence),
    sizes,
    tally: await tallySelection(events, { from: 0, to: events.count }, sizes),
  };
}

/** All events, in order. Throws if their number is not the one that the version states. */
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

/** Everything except events. */
async function readRegisters(stored: Dataset): Promise<Registers> {
  const records = {
    users: await joinRecords('users', stored.records('users')),
    boards: await joinRecords('boards', stored.records('boards')),
    pins: await joinRecords('pins', stored.records('pins')),
  };
  const users = await IdIndex.of(records.users, await stored.list('users', ALL));
  const boards = await IdIndex.of(records.boards, await stored.list('boards', ALL));
  return {
    records,
    users,
    boards,
    boardNames: await readBoardNames(records.boards),
    userNames: await UserNames.of(stored),
    visibility: new ScopeMask(boards, users, await readPeople(stored)),
    standings: await readPoints(stored, users, boards),
  };
}

async function readPeople(stored: Dataset): Promise<BoardPeople> {
  return await indexBoardPeople(await collectRuns(stored.tables().boardPeople()), stored.counts.boards);
}

async function readPoints(stored: Dataset, users: IdIndex, boards: IdIndex): Promise<PointsIndex> {
  const tables = stored.tables();
  const standings = await collectRuns(tables.standings());
  return await orderStandings(standings, tables.earnings(), users, boards, stored.policy);
}
