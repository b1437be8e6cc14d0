/**
 * Brings a copy up to date (decision 90): the changes of events since the sync token of the copy,
 * and users, boards and points if they have changed, at once and from one version (decision 100).
 */
import { AppError } from '../domain/app-error.ts';
import type { CopyState, CopyTarget, CopyWriting } from './copy-target.ts';
import { eventRow, listRow, valuesOf } from './rows.ts';
import type { SyncSource } from './source.ts';
import {
  BOARDS,
  type CopyList,
  type CopyRow,
  type CopyTable,
  EVENTS,
  keyReader,
  POINTS,
  USERS,
} from './tables.ts';

/** How often a run reads what has been published since its previous round, so that it ends. */
const MOST_ROUNDS = 4;
/** In place of the entity tag of a list that the server lacks. No entity tag is equal to it. */
const MISSING = 'missing';

export interface SyncCounts {
  /** Whether everything was copied: the copy was new, or its token was no longer valid. */
  startedAnew: boolean;
  /** Events that were added or replaced. */
  events: number;
  /** Events that the server has deleted, and users whom it has erased. */
  deletedEvents: number;
  erasedUsers: number;
  /** The size of the list; undefined if it has not changed. */
  users: number | undefined;
  boards: number | undefined;
  /** Also undefined if the server has no points, or they are left out. */
  points: number | undefined;
  /** Whether the tables may show different versions; the next run reads them again. */
  severalVersions: boolean;
}

interface SyncRound {
  readonly source: SyncSource;
  readonly copy: CopyWriting;
  /** Otherwise the round ends as soon as a different version has been published. */
  readonly isLast: boolean;
  readonly counts: SyncCounts;
  readonly tell: (events: number) => void;
}

/**
 * Throws `copy-refused` if the copy belongs to a different server, and the errors of the source and
 * of the target. Then the copy is unchanged, or the next run completes the change of its files.
 */
export async function sync(
  source: SyncSource,
  target: CopyTarget,
  tell: (events: number) => void = () => undefined,
): Promise<SyncCounts> {
  const counts: SyncCounts = {
    ...{ startedAnew: false, events: 0, deletedEvents: 0, erasedUsers: 0 },
    ...{ users: undefined, boards: undefined, points: undefined, severalVersions: false },
  };
  await target.transact(async (copy, before) => {
    checkSource(source, before);
    let state = before;
    for (let round = 1; ; round += 1) {
      const isLast = round === MOST_ROUNDS;
      source.versions.clear();
      state = await applyRound({ source, copy, isLast, counts, tell }, state);
      counts.severalVersions = !isOneVersion(source);
      if (isLast || !counts.severalVersions) return state;
      await source.settle();
    }
  });
  return counts;
}

function isOneVersion({ versions }: SyncSource): boolean {
  return versions.size <= 1;
}

async function applyRound(round: SyncRound, before: CopyState | undefined): Promise<CopyState> {
  return {
    source: round.source.base,
    token: await applyChanges(round, before?.token),
    usersTag: await applyList(round, USERS, before?.usersTag),
    boardsTag: await applyList(round, BOARDS, before?.boardsTag),
    pointsTag: await applyList(round, POINTS, before?.pointsTag),
  };
}

function checkSource({ base }: SyncSource, before: CopyState | undefined): void {
  if (before === undefined || before.source === base) return;
  throw new AppError(
    'copy-refused',
    `The target is a copy of ${before.source}. Use that URL, or a different target.`,
  );
}

/** Returns the sync token after the changes. */
async function applyChanges(
  { source, copy, counts, tell }: SyncRound,
  token: string | undefined,
): Promise<string> {
  let reached = token;
  for await (const batch of source.changes(token)) {
    if (batch.startsAnew) {
      await copy.clear(EVENTS);
      Object.assign(counts, { startedAnew: true, events: 0, deletedEvents: 0, erasedUsers: 0 });
    }
    await copy.remove(EVENTS, 'actor_id', valuesOf('actor_id', batch.forgotten));
    await copy.remove(EVENTS, 'sync_id', valuesOf('sync_id', batch.deleted));
    await copy.put(EVENTS, lastOfEach(EVENTS, batch.events.map(eventRow)));
    counts.events += batch.events.length;
    counts.deletedEvents += batch.deleted.length;
    counts.erasedUsers += batch.forgotten.length;
    tell(counts.events);
    reached = batch.token ?? reached;
  }
  if (reached === undefined) throw new Error('a change set ended without a sync token');
  return reached;
}

/** Returns the entity tag of the list in the copy; undefined if it must be read again. */
async function applyList(
  { source, copy, isLast, counts }: SyncRound,
  table: CopyTable<CopyList>,
  tag: string | undefined,
): Promise<string | undefined> {
  if (!isLast && !isOneVersion(source)) return tag;
  const list = await source.list(table.name, tag === MISSING ? undefined : tag);
  if (list === undefined || (list === 'missing' && tag === MISSING)) return tag;
  await copy.clear(table);
  if (list === 'missing') {
    counts[table.name] = tag === undefined ? undefined : 0;
    return MISSING;
  }
  let count = 0;
  for await (const elements of list.pages) {
    if (!isLast && !isOneVersion(source)) return undefined;
    const rows = elements.map((element) => listRow(table, element));
    await copy.put(table, lastOfEach(table, rows));
    count += rows.length;
  }
  counts[table.name] = count;
  return isOneVersion(source) ? list.tag : undefined;
}

function lastOfEach(table: CopyTable, rows: readonly CopyRow[]): readonly CopyRow[] {
  const keyOf = keyReader(table);
  return [...new Map(rows.map((row) => [keyOf(row), row])).values()];
}
