/**
 * Makes the data of a version in memory from those of an earlier one and the changes since
 * (decision 47). What has not changed is shared. The earlier data stay as they are, for responses
 * that are under way.
 */
import { inSlices } from '../../system/time-slice.ts';
import type { ChangedRecords, DatasetChanges } from '../changes.ts';
import { collectRuns } from '../columns.ts';
import type { Dataset } from '../dataset.ts';
import {
  type EventRows,
  extendEventRows,
  makeEventRows,
  ROW_WORDS,
  setEventRows,
  timestampOf,
} from '../event-rows.ts';
import { firstPlace } from '../first-place.ts';
import type { EventBatch } from '../query.ts';
import { type Boards, makeRecords, type RecordColumns, type RecordTable, type Users } from '../records.ts';
import { sharedFlags, sharedIntegers } from '../shared-arrays.ts';
import { AwardHistory } from './award-history.ts';
import type { Holdings } from './dataset.ts';
import {
  type Edit,
  editColumn,
  editOffsets,
  editTexts,
  inRuns,
  insertionsBefore,
  lengthAfter,
  placesIn,
  replacementsOf,
  rowsOf,
  SEARCHES_AT_ONCE,
  updatesOf,
} from './edit.ts';
import { growTally } from './events.ts';
import { IdIndex } from './id-index.ts';
import { readBoardNames, readUserNames } from './names.ts';
import { indexByUser, orderStandings, PointsIndex } from './points-totals.ts';
import { indexRows, type RowIndex } from './row-index.ts';
import { RowNumbers } from './row-numbers.ts';
import { indexBoardPeople, ScopeMask } from './scope-mask.ts';
import { ResidentTimeline } from './timeline.ts';

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
  const visibility = new ScopeMask(boards, users, await growPeople(before, changes, sizes.boards));
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
  if (indices.length === 0) return before;
  const edit = replacementsOf(before.id.length, indices);
  const columns = [before, added] as readonly Readonly<Record<string, unknown>>[];
  return await makeRecords(table, async (name, kind) => {
    const pair = columns.map((each) => each[name]) as never;
    return await EDIT[kind](edit, ...(pair as [never, never]));
  });
}

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

async function growUserNames(before: Holdings, { hasUsers }: DatasetChanges, stored: Dataset) {
  return hasUsers ? await readUserNames(stored.tables().properties()) : before.userNames;
}

async function growPeople(
  { visibility, sizes }: Holdings,
  { boards, ofBoards }: DatasetChanges,
  count: number,
): Promise<RowIndex> {
  const { offsets, rows } = visibility.boardPeople;
  if (boards.length === 0 && count === sizes.boards) return visibility.boardPeople;
  const added = await indexBoardPeople(await collectRuns(ofBoards.boardPeople()), count);
  const groups = updatesOf(sizes.boards, boards, count);
  const edit = rowsOf(groups, offsets, added.offsets);
  return {
    offsets: await editOffsets(groups, offsets, added.offsets),
    rows: await editIntegers(edit, rows, added.rows),
  };
}

/** The dimensions of the later version, and what its timeline refers to. */
interface Later {
  readonly sizes: Holdings['sizes'];
  readonly visibility: ScopeMask;
  readonly lastSequence: number;
}

async function growTimeline(
  { events, byBoard, byActor }: ResidentTimeline,
  added: EventBatch,
  { sizes, visibility, lastSequence }: Later,
): Promise<ResidentTimeline> {
  // New events are behind those of the same instant, because their sequences are larger.
  const places = await placesIn(
    events.count,
    added.count,
    (place, row) => timestampOf(events, place) > added.timestampMs[row]!,
  );
  const numbers = new RowNumbers(places, events.count);
  return new ResidentTimeline(
    await growEvents(events, added, places),
    await growIndex(byBoard, added.board, sizes.boards, numbers),
    await growIndex(byActor, added.actor, sizes.users, numbers),
    visibility,
    lastSequence,
  );
}

async function growEvents(before: EventRows, batch: EventBatch, places: Int32Array): Promise<EventRows> {
  if (batch.count === 0) return before;
  const areLatest = places[0] === before.count;
  const extended = areLatest ? extendEventRows(before, batch) : undefined;
  if (extended !== undefined) return extended;
  const added = makeEventRows(batch.count);
  setEventRows(added, batch, 0);
  const edit = insertionsBefore(before.count, places);
  const events = makeEventRows(lengthAfter(edit));
  await editColumn(edit, before.words, added.words, events.words, ROW_WORDS);
  return events;
}

/** `values`: those of the new rows. `count`: the number of possible values afterwards. */
async function growIndex(
  { offsets: offsetsBefore, rows: before }: RowIndex,
  values: Int32Array,
  count: number,
  numbers: RowNumbers,
): Promise<RowIndex> {
  const added = await indexRows(values, count);
  const places = new Int32Array(added.rows.length);
  const find = (first: number, end: number) => {
    for (let at = first; at < end; at++) {
      const row = added.rows[at]!;
      const from = offsetsBefore[values[row]!] ?? before.length;
      const to = offsetsBefore[values[row]! + 1] ?? before.length;
      places[at] = firstPlace(from, to, (place) => before[place]! >= numbers.places[row]!);
    }
  };
  await inSlices(0, places.length, find, SEARCHES_AT_ONCE);
  const edit = insertionsBefore(before.length, places);
  const rows = sharedIntegers(lengthAfter(edit));
  await inRuns(edit, ({ isNew, from, to }, at) => {
    if (isNew) for (let place = from; place < to; place++) rows[at++] = numbers.ofNew(added.rows[place]!);
    else numbers.ofEarlier(before.subarray(from, to), rows, at);
  });
  const offsets = sharedIntegers(count + 1);
  await inSlices(0, count + 1, (from, to) => {
    for (let value = from; value < to; value++) {
      offsets[value] = (offsetsBefore[value] ?? before.length) + added.offsets[value]!;
    }
  });
  return { offsets, rows };
}

/** The users and boards, and the policy, of the later version. */
interface Counted {
  readonly users: IdIndex;
  readonly boards: IdIndex;
  readonly policy: string;
}

async function growPoints(
  before: PointsIndex,
  { boards: changed, ofBoards }: DatasetChanges,
  { users, boards, policy }: Counted,
): Promise<PointsIndex> {
  const { held } = before;
  const hasSameGroups =
    boards.count === groupsOf(held.offsets) && users.count === groupsOf(held.byUser.offsets);
  if (changed.length === 0 && hasSameGroups) return before;
  const parts = await collectRuns(ofBoards.standings());
  const { held: added } = await orderStandings(parts, ofBoards.earnings(), users, boards, policy);
  const groups = updatesOf(groupsOf(held.offsets), changed, boards.count);
  const edit = rowsOf(groups, held.offsets, added.offsets);
  const [from, to] = [held.standings, added.standings];
  const standings = {
    count: lengthAfter(edit),
    user: await editIntegers(edit, from.user, to.user),
    board: await editIntegers(edit, from.board, to.board),
    totalPoints: await editDoubles(edit, from.totalPoints, to.totalPoints),
    participationScore: await editDoubles(edit, from.participationScore, to.participationScore),
  };
  return new PointsIndex({
    standings,
    imported: await editFlags(edit, held.imported, added.imported),
    offsets: await editOffsets(groups, held.offsets, added.offsets),
    byUser: await indexByUser(standings, users, boards),
    earnings: await growEarnings(edit, held.earnings, added.earnings),
    policyOf: added.policyOf,
  });
}

function groupsOf(offsets: Int32Array): number {
  return offsets.length - 1;
}

/** `standings`: the edit of the points totals. */
async function growEarnings(
  standings: Edit,
  before: AwardHistory,
  added: AwardHistory,
): Promise<AwardHistory> {
  const [from, to] = [before.parts, added.parts];
  const edit = rowsOf(standings, from.offsets, to.offsets);
  return new AwardHistory({
    offsets: await editOffsets(standings, from.offsets, to.offsets),
    timestampMs: await editDoubles(edit, from.timestampMs, to.timestampMs),
    sums: await editDoubles(edit, from.sums, to.sums),
  });
}
