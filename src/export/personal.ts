/**
 * What is stored about one user: the same files as an export of the organization, with the records
 * that concern the user only. Other users appear as ids.
 */
import type { RecordKind } from '../store/staging.ts';
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

/**
 * The records of a kind that concern the user, in the batches of `records`, without what others
 * wrote.
 */
export async function* onlyPersonal(
  kind: RecordKind,
  records: AsyncIterable<readonly BundleRecord[]>,
  about: PersonalRecords,
): AsyncGenerator<readonly BundleRecord[]> {
  for await (const batch of records) {
    const own = batch.filter((record) => CONCERNS[kind](record, about));
    yield kind === 'events' ? own.map((event) => withoutOthersText(event, about)) : own;
  }
}

function withoutOthersText(event: BundleRecord, { id }: PersonalRecords): BundleRecord {
  const { body: _body, ...others } = event;
  return event['actor_id'] === id ? event : others;
}
