/**
 * Adds the points totals of changed boards behind the earlier ones, which stay in memory for the
 * versions before.
 */
import { slice } from '../../system/time-slice.ts';
import type { DatasetChanges } from '../changes.ts';
import { append, copyTo, extend, growable } from '../shared-arrays.ts';
import { AwardHistory } from './award-history.ts';
import { runsOfBoards, totalsOfBoards } from './changed-totals.ts';
import { type Edit, inRuns, keptOffsets, keptRows, keptRowsOf, lengthAfter } from './edit.ts';
import type { IdIndex } from './id-index.ts';
import type { PointsIds } from './ordered-totals.ts';
import { orderTotals, PointsIndex, readPolicies, type TotalsHeld } from './points-totals.ts';
import { ListMemory, mergeRows, type RowIndex, replaceLists, rowsOf } from './row-index.ts';
import { countRows, type Sections, sectionOf, withoutGaps } from './sections.ts';

/** When more than this share of the rows is out of date, all are copied together. */
const MOST_OUT_OF_DATE = 1 / 5;
/** As few are not worth it. */
const FEW_OUT_OF_DATE = 4_096;

/** The users and boards, and the policy, of the later version. */
interface Counted {
  readonly users: IdIndex;
  readonly boards: IdIndex;
  readonly policy: string;
}

export async function growPoints(
  before: PointsIndex,
  { pairs }: DatasetChanges,
  { users, boards, policy }: Counted,
): Promise<PointsIndex> {
  const { held } = before;
  const ids = { users, boards };
  if (pairs.board.length === 0) return new PointsIndex({ ...held, ids });
  const changed = Int32Array.from(runsOfBoards(pairs), ({ board }) => board);
  const { standings, earnings } = await totalsOfBoards(held, pairs);
  const added = await orderTotals(standings, earnings, ids);
  const columns = await appendTotals(held, added);
  const sections = await moveSections(held, added.sections, changed, boards.count);
  const boardsByUser = await growBoards(held, { changed, sections, ...columns }, ids);
  const grown = { ids, ...columns, sections, boardsByUser, policyOf: readPolicies(policy, boards) };
  return new PointsIndex(isMostlyInForce(grown) ? grown : await compact(grown));
}

type TotalColumns = Pick<TotalsHeld, 'pairs' | 'imported' | 'earnings'>;

async function appendTotals(held: TotalColumns, added: TotalColumns): Promise<TotalColumns> {
  return {
    pairs: {
      board: await append(held.pairs.board, added.pairs.board),
      user: await append(held.pairs.user, added.pairs.user),
    },
    imported: await append(held.imported, added.imported),
    earnings: await joinHistories(held.earnings, added.earnings),
  };
}

async function joinHistories(before: AwardHistory, added: AwardHistory): Promise<AwardHistory> {
  const [from, to] = [before.parts, added.parts];
  const first = from.offsets.length;
  const offsets = await extend(from.offsets, first + to.offsets.length - 1);
  for (let row = 1; row < to.offsets.length; row++)
    offsets[first + row - 1] = from.sums.length + to.offsets[row]!;
  return new AwardHistory({
    offsets,
    instantOrScore: await append(from.instantOrScore, to.instantOrScore),
    sums: await append(from.sums, to.sums),
  });
}

/** The changed boards have the sections of `added`, behind the earlier rows. */
async function moveSections(
  { pairs: { user }, sections }: TotalsHeld,
  added: Sections,
  changed: Int32Array,
  boards: number,
): Promise<Sections> {
  const [starts, ends] = [new Int32Array(boards), new Int32Array(boards)];
  await copyTo(starts, sections.starts, 0);
  await copyTo(ends, sections.ends, 0);
  for (const board of changed) {
    starts[board] = user.length + added.starts[board]!;
    ends[board] = user.length + added.ends[board]!;
  }
  return { starts, ends };
}

/** `changed`: the boards with new rows. */
interface Grown extends TotalColumns {
  readonly changed: Int32Array;
  readonly sections: Sections;
}

/** Adds the boards on which users have their first points total, and removes the others. */
async function growBoards(
  held: TotalsHeld,
  grown: Grown,
  { users, boards: { ranks } }: PointsIds,
): Promise<RowIndex> {
  const added = new Map<number, number[]>();
  const removed = new Map<number, number[]>();
  // In the order of their ids, in which the boards of a user are.
  for (const board of grown.changed.toSorted((one, other) => ranks[one]! - ranks[other]!)) {
    await compareUsers(held, grown, users, board, { added, removed });
  }
  const lists = new Map<number, Int32Array>();
  const memory = new ListMemory();
  for (const user of new Set([...added.keys(), ...removed.keys()])) {
    if (slice.isOver()) await slice.pass();
    const before = rowsOf(held.boardsByUser, user);
    const gone = removed.get(user);
    const kept = gone === undefined ? before : before.filter((board) => !gone.includes(board));
    const isBehind = (board: number, one: number) => ranks[board]! > ranks[one]!;
    lists.set(user, await mergeRows(kept, added.get(user) ?? [], isBehind, memory));
  }
  return await replaceLists(held.boardsByUser, lists, memory);
}

/** Users compared between two checks of the clock. */
const COMPARED_AT_ONCE = 8_192;

/** Walks the users of a board before and after side by side: both ascend by id. */
async function compareUsers(
  held: TotalsHeld,
  { sections, pairs: { user } }: Grown,
  { ranks }: IdIndex,
  board: number,
  { added, removed }: Readonly<Record<'added' | 'removed', Map<number, number[]>>>,
): Promise<void> {
  const before = sectionOf(held.sections, board);
  const after = sectionOf(sections, board);
  let [earlier, later] = [before.from, after.from];
  for (let steps = 1; earlier < before.to || later < after.to; steps++) {
    const one = earlier < before.to ? ranks[user[earlier]!]! : Number.POSITIVE_INFINITY;
    const other = later < after.to ? ranks[user[later]!]! : Number.POSITIVE_INFINITY;
    if (one < other) addTo(removed, user[earlier]!, board);
    if (other < one) addTo(added, user[later]!, board);
    if (one <= other) earlier += 1;
    if (other <= one) later += 1;
    if (steps % COMPARED_AT_ONCE === 0 && slice.isOver()) await slice.pass();
  }
  if (slice.isOver()) await slice.pass();
}

function addTo(lists: Map<number, number[]>, user: number, board: number): void {
  const list = lists.get(user);
  if (list === undefined) lists.set(user, [board]);
  else list.push(board);
}

function isMostlyInForce({ sections, pairs: { user } }: TotalsHeld): boolean {
  const { length } = user;
  return length - countRows(sections) <= Math.max(FEW_OUT_OF_DATE, MOST_OUT_OF_DATE * length);
}

/** Copies the rows in force together, board by board. */
async function compact(held: TotalsHeld): Promise<TotalsHeld> {
  const { pairs, sections, earnings } = held;
  const edit = await keptRows(sections);
  const { offsets, instantOrScore, sums } = earnings.parts;
  const awards = keptRowsOf(edit, offsets);
  return {
    ...held,
    pairs: {
      board: await editInto(edit, pairs.board, Int32Array),
      user: await editInto(edit, pairs.user, Int32Array),
    },
    imported: await editInto(edit, held.imported, Uint8Array),
    sections: withoutGaps(sections),
    earnings: new AwardHistory({
      offsets: await keptOffsets(edit, offsets),
      instantOrScore: await editInto(awards, instantOrScore, Float64Array),
      sums: await editInto(awards, sums, Float64Array),
    }),
  };
}

async function editInto<C extends Int32Array | Float64Array | Uint8Array>(
  edit: Edit,
  before: C,
  type: Parameters<typeof growable<C>>[0],
): Promise<C> {
  const kept = growable(type, lengthAfter(edit));
  await inRuns(edit, ({ from, to }, at) => kept.set(before.subarray(from, to), at));
  return kept;
}
