/**
 * What is stored about one user: the same files as an export of the organization, with the records
 * that concern the user only. Other users appear as ids.
 */
import type { RecordKind } from '../store/staging.ts';
import type { VersionRows } from '../store/version-rows.ts';
import type { BundleRecord } from './records.ts';

export interface PersonalRecords {
  readonly id: bigint;
  /** Ids of the boards on which the user acts or owns something, or is or was a member. */
  readonly boards: ReadonlySet<bigint>;
}

type ConcernsUser = (record: BundleRecord, about: PersonalRecords) => boolean;

const ofUser: ConcernsUser = ({ user_id }, { id }) => user_id === id;

const CONCERNS: Readonly<Record<RecordKind, ConcernsUser>> = {
  users: (record, { id }) => record['id'] === id,
  boards: (record, { boards }) => boards.has(record['id'] as bigint),
  pins: ({ owner_id }, { id }) => owner_id === id,
  memberships: ofUser,
  events: ({ actor_id, owner_id }, { id }) => actor_id === id || owner_id === id,
  points: ofUser,
  adjustments: ofUser,
};

/** The records of a kind that concern the user, in the batches of `records`. */
export async function* onlyPersonal(
  kind: RecordKind,
  records: AsyncIterable<readonly BundleRecord[]>,
  about: PersonalRecords,
): AsyncGenerator<readonly BundleRecord[]> {
  for await (const batch of records) yield batch.filter((record) => CONCERNS[kind](record, about));
}

/** Absent if the version has no such user. */
export async function findPersonal(original: VersionRows, id: bigint): Promise<PersonalRecords | undefined> {
  const user = await indexOf(original, id);
  if (user === undefined) return undefined;
  const indices = new Set<number>();
  for await (const { count, columns } of original.rows('board_people')) {
    const [boards, people] = columns.map(({ values }) => values);
    for (let row = 0; row < count; row += 1) if (people?.[row] === user) indices.add(Number(boards?.[row]));
  }
  return { id, boards: await idsOf(original, indices) };
}

async function indexOf(original: VersionRows, id: bigint): Promise<number | undefined> {
  for await (const { count, columns } of original.rows('users')) {
    const [indices, ids] = columns.map(({ values }) => values);
    for (let row = 0; row < count; row += 1) if (ids?.[row] === id) return Number(indices?.[row]);
  }
  return undefined;
}

async function idsOf(original: VersionRows, indices: ReadonlySet<number>): Promise<ReadonlySet<bigint>> {
  const found = new Set<bigint>();
  for await (const { count, columns } of original.rows('boards')) {
    const [boards, ids] = columns.map(({ values }) => values);
    for (let row = 0; row < count; row += 1)
      if (indices.has(Number(boards?.[row]))) found.add(ids?.[row] as bigint);
  }
  return found;
}
