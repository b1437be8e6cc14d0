/**
 * Makes the data of a version in memory from those of an earlier one and the changes since
 * (decision 47). What has not changed is shared. The earlier data stay as they are, for responses
 * that are under way.
 */
import { inSlices, slice } from '../../system/time-slice.ts';
import type { ChangedPairs, ChangedRecords, DatasetChanges } from '../changes.ts';
import type { Dataset } from '../dataset.ts';
import { addEventRows, type EventRows, makeEventRows, ROW_WORDS, timestampOf } from '../event-rows.ts';
import type { EventBatch } from '../query.ts';
import { type Boards, makeRecords, type RecordColumns, type RecordTable, type Users } from '../records.ts';
import { rangesOf, rowAt } from '../row-runs.ts';
import { append, copyTo, sharedFlags, sharedIntegers } from '../shared-arrays.ts';
import type { TextColumn } from '../text-column.ts';
import { runsOfBoards } from './changed-totals.ts';
import type { Holdings } from './dataset.ts';
import {
  type Edit,
  editColumn,
  editTexts,
  insertionsBefore,
  lengthAfter,
  placesIn,
  replacementsOf,
} from './edit.ts';
import { growTally } from './events.ts';
import { growPoints } from './grow-points.ts';
import { IdIndex } from './id-index.ts';
import { readBoardNames, UserNames } from './names.ts';
import { addRows, ListMemory, type RowIndex, replaceLists, rowsOf } from './row-index.ts';
import { ScopeMask } from './scope-mask.ts';
import { openTimeline, ResidentTimeline } from './timeline.ts';

/** `stored` is the later version. Throws if the changes are not all that it has. */
export async function growHoldings(
  before: Holdings,
  changes: DatasetChanges,
  stored: Dataset,
): Promise<Holdings> {
  const { counts, kinds, policy, lastSequence } = stored;
  const sizes = { ...counts, kinds: kinds.length };
  const records = {
    users: await growRecords('users', before.records.users, changes.records.users),
    boards: await growRecords('boards', before.records.boards, changes.records.boards),
    pins: await growRecords('pins', before.records.pins, changes.records.pins),
  };
  const users = isUnchanged(changes.records.users)
    ? before.users
    : await growIds(before.users, records.users);
  const boards = isUnchanged(changes.records.boards)
    ? before.boards
    : await growIds(before.boards, records.boards);
  const visibility = new ScopeMask(boards, users, await growPeople(before, changes.pairs));
  return {
    records,
    users,
    boards,
    boardNames: isUnchanged(changes.records.boards)
      ? before.boardNames
      : await readBoardNames(records.boards),
    userNames: await growUserNames(before, changes, stored),
    visibility,
    timeline: await growTimeline(before.timeline, changes.events, { sizes, visibility, lastSequence }),
    sizes,
    tally: await growTally(before.tally, changes.events, sizes),
    standings: await growPoints(before.standings, changes, { users, boards, policy }),
  };
}

/** Whether the changes are all that the later version has. */
export function isComplete(before: Holdings, { events, records }: DatasetChanges, after: Dataset): boolean {
  const grown = (table: RecordTable) =>
    before.sizes[table] + records[table].indices.filter((index) => index >= before.sizes[table]).length;
  return (
    before.timeline.events.count + events.count === after.counts.events &&
    grown('users') === after.counts.users &&
    grown('boards') === after.counts.boards &&
    grown('pins') === after.counts.pins
  );
}

function isUnchanged({ indices }: ChangedRecords<RecordTable>): boolean {
  return indices.length === 0;
}

async function growRecords<T extends RecordTable>(
  table: T,
  before: RecordColumns<T>,
  { indices, records: added }: ChangedRecords<T>,
): Promise<RecordColumns<T>> {
  const [first] = indices;
  if (first === undefined) return before;
  const edit = first < before.id.length ? replacementsOf(before.id.length, indices) : undefined;
  const columns = [before, added] as readonly Readonly<Record<string, unknown>>[];
  return await makeRecords(table, async (name, kind) => {
    const pair = columns.map((each) => each[name]) as unknown as [never, never];
    return await (edit === undefined ? APPEND[kind](...pair) : EDIT[kind](edit, ...pair));
  });
}

/** For new records alone: nothing is copied as long as the memory has room. */
const APPEND = {
  id: append<BigInt64Array>,
  text: (before: TextColumn, added: TextColumn) => before.append(added),
  list: (before: TextColumn, added: TextColumn) => before.append(added),
  instant: append<Float64Array>,
  flag: append<Uint8Array>,
} as const;

const EDIT = {
  id: (edit: Edit, before: BigInt64Array, added: BigInt64Array) =>
    editColumn(edit, before, added, new BigInt64Array(new SharedArrayBuffer(8 * lengthAfter(edit)))),
  text: editTexts,
  list: editTexts,
  instant: editDoubles,
  flag: editFlags,
} as const;

async function editFlags(edit: Edit, before: Uint8Array, added: Uint8Array): Promise<Uint8Array> {
  return await editColumn(edit, before, added, sharedFlags(lengthAfter(edit)));
}

async function editDoubles(edit: Edit, before: Float64Array, added: Float64Array): Promise<Float64Array> {
  return await editColumn(edit, before, added, new Float64Array(lengthAfter(edit)));
}

async function editIntegers(edit: Edit, before: Int32Array, added: Int32Array): Promise<Int32Array> {
  return await editColumn(edit, before, added, sharedIntegers(lengthAfter(edit)));
}

/** New records have the indices behind the earlier ones. */
async function growIds({ byId }: IdIndex, records: Users | Boards): Promise<IdIndex> {
  const { id } = records;
  const ids = id.slice(byId.length).sort();
  const places = await placesIn(byId.length, ids.length, (place, row) => id[byId[place]!]! > ids[row]!);
  const indices = new Map<bigint, number>();
  for (let index = byId.length; index < id.length; index++) indices.set(id[index]!, index);
  const added = Int32Array.from(ids, (one) => indices.get(one)!);
  return await IdIndex.of(records, await editIntegers(insertionsBefore(byId.length, places), byId, added));
}

/** Names that have not been read need the earlier version, which is closed first. */
async function growUserNames({ userNames }: Holdings, { hasUsers }: DatasetChanges, stored: Dataset) {
  return hasUsers || !userNames.areRead ? await UserNames.of(stored) : userNames;
}

async function growPeople({ visibility: { boardPeople } }: Holdings, pairs: ChangedPairs): Promise<RowIndex> {
  const lists = new Map<number, Int32Array>();
  const memory = new ListMemory();
  for (const { board, from, to } of runsOfBoards(pairs)) {
    if (slice.isOver()) await slice.pass();
    const before = rowsOf(boardPeople, board);
    const come = new Set(pairs.user.subarray(from, to).filter((_, at) => pairs.onBoard[from + at] === 1));
    await inSlices(0, before.length, (first, end) => {
      for (let place = first; place < end && come.size > 0; place++) come.delete(before[place]!);
    });
    if (come.size === 0) continue;
    const list = memory.take(before.length + come.size);
    await copyTo(list, before, 0);
    list.set([...come], before.length);
    lists.set(board, list);
  }
  return lists.size === 0 ? boardPeople : await replaceLists(boardPeople, lists, memory);
}

/**
 * When the runs of rows have fewer rows than this on average, and there are more than a few, the
 * rows are put in order: reading all of them would take noticeably longer.
 */
const LEAST_RUN_ROWS = 256;
const FEW_RUNS = 64;

/** The dimensions of the later version, and what its timeline refers to. */
interface Later {
  readonly sizes: Holdings['sizes'];
  readonly visibility: ScopeMask;
  readonly lastSequence: number;
}

async function growTimeline(
  { events: before, byBoard, byActor }: ResidentTimeline,
  added: EventBatch,
  { sizes, visibility, lastSequence }: Later,
): Promise<ResidentTimeline> {
  // New events are behind those of the same instant, because their sequences are larger.
  const isBehind = (row: number, timestampMs: number) => timestampOf(before, row) > timestampMs;
  const places = await placesIn(before.count, added.count, (position, row) =>
    isBehind(rowAt(before.runs, position), added.timestampMs[row]!),
  );
  const events = await addEventRows(before, added, places);
  if (events.runs.starts.length > Math.max(FEW_RUNS, events.count / LEAST_RUN_ROWS))
    return await openTimeline(await inOrder(events), sizes, visibility, lastSequence);
  const add = (index: RowIndex, values: Int32Array) =>
    addRows(index, before.count, values, (row, one) => isBehind(row, added.timestampMs[one - before.count]!));
  return new ResidentTimeline(
    events,
    await add(byBoard, added.board),
    await add(byActor, added.actor),
    visibility,
    lastSequence,
  );
}

/** Copies the rows in the order of the timeline. */
async function inOrder({ runs, count, words }: EventRows): Promise<EventRows> {
  const ordered = makeEventRows(count);
  for (const { from, to, shift } of rangesOf(runs, 0, count)) {
    const rows = words.subarray((from + shift) * ROW_WORDS, (to + shift) * ROW_WORDS);
    await copyTo(ordered.words, rows, from * ROW_WORDS);
    if (slice.isOver()) await slice.pass();
  }
  return ordered;
}
