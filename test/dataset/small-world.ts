/**
 * Records small enough to check by eye, staged directly into a store, for the contract of stores.
 */
import type { Dataset } from '../../src/dataset/dataset.ts';
import type { EventBatch, EventQuery } from '../../src/dataset/query.ts';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import type { RecordKind, RecordOf, StagedProblem } from '../../src/store/staging.ts';
import type { Outcome, Settings, Store } from '../../src/store/store.ts';

type Unplaced<R> = R extends unknown ? Omit<R, 'file' | 'line' | 'raw'> : never;
export type Records = { readonly [K in RecordKind]?: readonly Unplaced<RecordOf[K]>[] };

export const BIG = 9_007_199_254_740_993n;

export const WORLD: Records = {
  users: [
    { id: 5n, email: 'eve@x.example', name: 'Eve van Dam', createdMs: 1_000 },
    {
      id: 1n,
      email: 'ann@x.example',
      firstName: 'Ann',
      lastName: 'Bee',
      role: 'coadmin',
      classRole: 'instructor',
    },
    { id: BIG, email: 'big@x.example', name: 'Big', lms: { sis: 'B-1' } },
    { id: 3n, email: 'una@x.example', name: 'Una Gone' },
    { id: 4n, email: 'mem@x.example', name: 'Member' },
  ],
  boards: [
    { id: 8n, title: 'Eight', category: 'Bookmarks', ltiId: 'lti-8', courseId: 'C 8', createdMs: 5_000 },
    { id: 7n, title: 'Seven', ltiId: 'lti-7' },
    { id: 9n, title: 'Nine' },
  ],
  pins: [{ id: 70n, boardId: 7n, ownerId: 5n, title: 'Pin', body: 'four words are here', tags: ['a', 'b'] }],
  memberships: [{ boardId: 7n, userId: 4n }],
  events: [
    // In order of import, not of time. Eve is an owner on board 7 and never acts there.
    { type: 'pin', action: 'visited', ownerId: 5n, actorId: 1n, boardId: 7n, pinId: 70n, timestampMs: 3_000 },
    { type: 'board', action: 'followed', ownerId: 5n, actorId: 3n, boardId: 7n, timestampMs: 2_000 },
    { type: 'pin', action: 'created', ownerId: 1n, actorId: 1n, boardId: 7n, pinId: 70n, timestampMs: 3_000 },
    { type: 'board', action: 'unfollowed', ownerId: 5n, actorId: 3n, boardId: 7n, timestampMs: 4_000 },
    {
      type: 'pin',
      action: 'commented',
      ownerId: 1n,
      actorId: BIG,
      boardId: 8n,
      pinId: 70n,
      timestampMs: -500,
    },
  ],
  points: [{ userId: 5n, boardId: 8n, totalPoints: 42, participationScore: 7 }],
  adjustments: [{ userId: 1n, boardId: 7n, points: -3, timestampMs: 3_500, reason: 'late' }],
};

/**
 * Publishes records (and settings) as one import. Collects problems and leaves out invalid records.
 */
export async function publishRecords(
  store: Store,
  organization: string,
  records: Records,
  settings: Partial<Settings> = {},
): Promise<Outcome & { problems: StagedProblem[] }> {
  const publication = await store.beginPublication(organization, { waitMs: 0 });
  const problems: StagedProblem[] = [];
  try {
    publication.changeSettings(settings);
    for (const kind of [
      'users',
      'boards',
      'pins',
      'memberships',
      'events',
      'points',
      'adjustments',
    ] as const) {
      await publication.stage(kind, placed<object>(records[kind] ?? []) as never);
    }
    await publication.check((problem) => problems.push(problem));
    return { ...(await publication.publish()), problems };
  } finally {
    await publication.discard();
  }
}

/** As from one file, a record in each line. */
export function placed<R extends object>(records: readonly R[]): (R & { file: number; line: number })[] {
  return records.map((record, index) => ({ file: 0, line: index + 1, ...record }));
}

export async function openPublished(store: Store, organization: string): Promise<Dataset> {
  const dataset = await store.openDataset(organization);
  if (dataset === undefined) throw new Error('nothing is published');
  return dataset;
}

/** Events as strings of the form `type.action actor board timestamp`, in order of the dataset. */
export async function eventsInWords(dataset: Dataset, query: Partial<EventQuery> = {}): Promise<string[]> {
  const users = await idsOf(dataset.records('users'));
  const boards = await idsOf(dataset.records('boards'));
  const words: string[] = [];
  for await (const batch of dataset.events({ scope: FULL_SCOPE, range: {}, ...query })) {
    for (let row = 0; row < batch.count; row += 1) words.push(wordsOf(dataset, batch, row, users, boards));
  }
  return words;
}

function wordsOf(
  dataset: Dataset,
  batch: EventBatch,
  row: number,
  users: bigint[],
  boards: bigint[],
): string {
  const kind = dataset.kinds[batch.kind[row] ?? -1];
  const actor = users[batch.actor[row] ?? -1];
  const board = boards[batch.board[row] ?? -1];
  return `${kind?.type}.${kind?.action} ${actor} ${board} ${batch.timestampMs[row]}`;
}

export async function idsOf(things: AsyncIterable<{ readonly id: BigInt64Array }>): Promise<bigint[]> {
  const ids: bigint[] = [];
  for await (const { id } of things) ids.push(...id);
  return ids;
}
