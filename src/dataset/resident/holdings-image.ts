/** Converts the data of a version in memory to its image, and back. */

import type { Dataset } from '../dataset.ts';
import { type EventRows, eventRowsOf } from '../event-rows.ts';
import {
  type Image,
  type ImageArray,
  type ImagePieces,
  ImageReader,
  imageBytes,
  textArrays,
} from '../image.ts';
import type { EventTally } from '../query.ts';
import { makeRecords, RECORDS, type RecordColumns, type RecordTable } from '../records.ts';
import { TextColumn } from '../text-column.ts';
import { AwardHistory } from './award-history.ts';
import type { Holdings } from './dataset.ts';
import { IdIndex } from './id-index.ts';
import { readBoardNames, UserNames } from './names.ts';
import type { PointsIds } from './ordered-totals.ts';
import { PointsIndex, readPolicies } from './points-totals.ts';
import type { RowIndex } from './row-index.ts';
import { ScopeMask } from './scope-mask.ts';
import { ResidentTimeline } from './timeline.ts';

type NamedArrays = readonly (readonly [string, ImageArray | readonly ImageArray[]])[];

const TALLIED = ['kind', 'actor', 'owner', 'board', 'pin'] as const;

/** Names of LMS are left out: they are few, and texts in maps. */
export function imageOf(holdings: Holdings): ImagePieces {
  const { records, users, boards, visibility, timeline, tally, standings } = holdings;
  const { held } = standings;
  const arrays: NamedArrays = [
    ...(Object.keys(RECORDS) as RecordTable[]).flatMap((table) => recordArrays(table, records[table])),
    ['users by id', users.byId],
    ['boards by id', boards.byId],
    ...indexArrays('board people', visibility.boardPeople),
    ['events', timeline.events.words],
    ['event runs', timeline.events.runs.rows],
    ['event runs starts', timeline.events.runs.starts],
    ...indexArrays('events by board', timeline.byBoard),
    ...indexArrays('events by actor', timeline.byActor),
    ...TALLIED.flatMap((column) => [
      [`tally ${column}`, tally[column].index] as const,
      [`tally ${column} counts`, tally[column].count] as const,
    ]),
    ['points user', held.pairs.user],
    ['points board', held.pairs.board],
    ['points imported', held.imported],
    ['points of boards starts', held.sections.starts],
    ['points of boards ends', held.sections.ends],
    ...indexArrays('boards with points by user', held.boardsByUser),
    ['awards offsets', held.earnings.parts.offsets],
    ['awards instants or scores', held.earnings.parts.instantOrScore],
    ['awards sums', held.earnings.parts.sums],
  ];
  return new Map(arrays);
}

/** The memory that the data of a version takes, without the names of boards and users in an LMS. */
export function heldBytes(held: Holdings): number {
  return imageBytes(imageOf(held));
}

/** Throws if the image lacks something. `stored` is the version of the image. */
export async function holdingsOf(image: Image, stored: Dataset): Promise<Holdings> {
  const reader = new ImageReader(image);
  const records = {
    users: await recordsOf(reader, 'users'),
    boards: await recordsOf(reader, 'boards'),
    pins: await recordsOf(reader, 'pins'),
  };
  const users = await IdIndex.of(records.users, reader.integers('users by id'));
  const boards = await IdIndex.of(records.boards, reader.integers('boards by id'));
  const visibility = new ScopeMask(boards, users, indexOf(reader, 'board people'));
  const runs = { starts: reader.integers('event runs starts'), rows: reader.integers('event runs') };
  const events = eventRowsOf(reader.integers('events'), runs);
  if (events.count !== stored.counts.events) throw new Error('an image has events of a different version');
  return {
    records,
    users,
    boards,
    boardNames: await readBoardNames(records.boards),
    // Reading them would open the file of the version.
    userNames: stored.isOpen === false ? UserNames.later(stored) : await UserNames.of(stored),
    visibility,
    timeline: new ResidentTimeline(
      events,
      indexOf(reader, 'events by board'),
      indexOf(reader, 'events by actor'),
      visibility,
      stored.lastSequence,
    ),
    sizes: { ...stored.counts, kinds: stored.kinds.length },
    tally: tallyOf(reader, events),
    standings: pointsOf(reader, stored.policy, { users, boards }),
  };
}

function recordArrays<T extends RecordTable>(table: T, records: RecordColumns<T>) {
  return Object.entries<TextColumn | ImageArray>(records).flatMap(([name, column]) =>
    column instanceof TextColumn
      ? textArrays(`${table} ${name}`, column)
      : [[`${table} ${name}`, column] as const],
  );
}

async function recordsOf<T extends RecordTable>(reader: ImageReader, table: T): Promise<RecordColumns<T>> {
  const read = {
    id: (name: string) => reader.bigints(name),
    text: (name: string) => reader.texts(name, false),
    list: (name: string) => reader.texts(name, true),
    instant: (name: string) => reader.doubles(name),
    flag: (name: string) => reader.flags(name),
  };
  return await makeRecords(table, async (name, kind) => read[kind](`${table} ${name}`));
}

function indexArrays(name: string, { offsets, rows, replaced }: RowIndex): NamedArrays {
  const lists = [...replaced.values()];
  return [
    [`${name} offsets`, offsets],
    [`${name} rows`, rows],
    [`${name} replaced`, Int32Array.from(replaced.keys())],
    [`${name} replaced lengths`, Int32Array.from(lists, ({ length }) => length)],
    [`${name} replaced rows`, [new Int32Array(0), ...lists]],
  ];
}

function indexOf(reader: ImageReader, name: string): RowIndex {
  const values = reader.integers(`${name} replaced`);
  const lengths = reader.integers(`${name} replaced lengths`);
  const lists = reader.integers(`${name} replaced rows`);
  const replaced = new Map<number, Int32Array>();
  let at = 0;
  for (const [place, value] of values.entries()) {
    replaced.set(value, lists.subarray(at, at + lengths[place]!));
    at += lengths[place]!;
  }
  const [offsets, rows] = [reader.integers(`${name} offsets`), reader.integers(`${name} rows`)];
  return { offsets, rows, replaced, taken: lists.length };
}

function tallyOf(reader: ImageReader, { count }: EventRows): EventTally {
  const occurrences = (column: (typeof TALLIED)[number]) => ({
    index: reader.integers(`tally ${column}`),
    count: reader.doubles(`tally ${column} counts`),
  });
  return {
    events: count,
    kind: occurrences('kind'),
    actor: occurrences('actor'),
    owner: occurrences('owner'),
    board: occurrences('board'),
    pin: occurrences('pin'),
  };
}

function pointsOf(reader: ImageReader, policy: string, ids: PointsIds): PointsIndex {
  return new PointsIndex({
    ids,
    pairs: { user: reader.integers('points user'), board: reader.integers('points board') },
    imported: reader.flags('points imported'),
    sections: {
      starts: reader.integers('points of boards starts'),
      ends: reader.integers('points of boards ends'),
    },
    boardsByUser: indexOf(reader, 'boards with points by user'),
    earnings: new AwardHistory({
      offsets: reader.integers('awards offsets'),
      instantOrScore: reader.doubles('awards instants or scores'),
      sums: reader.doubles('awards sums'),
    }),
    policyOf: readPolicies(policy, ids.boards),
  });
}
