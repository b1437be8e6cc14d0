/** Loading a version into memory, by columns, beside whatever is in service. */
import type { Dataset } from '../dataset.ts';
import type { EventBatch } from '../query.ts';
import { FULL_SCOPE } from '../scope.ts';
import { collectRuns } from './columns.ts';
import { ResidentDataset } from './dataset.ts';
import { tallySelection } from './events.ts';
import { readBoardNames, readUserNames } from './names.ts';
import { Register } from './register.ts';
import { sharedDoubles, sharedIntegers } from './shared-arrays.ts';
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
  const columns = await readColumns(stored);
  const sizes = { ...counts, kinds: kinds.length };
  const holdings = {
    users,
    boards,
    boardNames: readBoardNames(boardRows),
    userNames: await readUserNames(tables.properties()),
    visibility,
    timeline: await openTimeline(columns, counts, visibility, lastSequence),
    sizes,
    tally: await tallySelection(columns, { from: 0, to: columns.count }, sizes),
    standings: await readStandings(tables, users, boards, policy),
  };
  return new ResidentDataset(stored, holdings, onClose);
}

/** Every event, in order. */
async function readColumns(stored: Dataset): Promise<EventBatch> {
  const count = stored.counts.events;
  const columns = {
    count,
    kind: sharedIntegers(count),
    actor: sharedIntegers(count),
    owner: sharedIntegers(count),
    board: sharedIntegers(count),
    pin: sharedIntegers(count),
    timestampMs: sharedDoubles(count),
    sequence: sharedDoubles(count),
  };
  let at = 0;
  for await (const batch of stored.events(ALL)) {
    columns.kind.set(batch.kind, at);
    columns.actor.set(batch.actor, at);
    columns.owner.set(batch.owner, at);
    columns.board.set(batch.board, at);
    columns.pin.set(batch.pin, at);
    columns.timestampMs.set(batch.timestampMs, at);
    columns.sequence.set(batch.sequence, at);
    at += batch.count;
  }
  if (at !== count) throw new Error(`a version counts ${count} events and delivers ${at}`);
  return columns;
}
