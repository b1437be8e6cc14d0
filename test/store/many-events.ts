/** As many events as a test needs, of a few users on a few boards, the same every time. */
import type { Publication, Store } from '../../src/store/store.ts';

const USERS = 50;
const BOARDS = 5;

/** With numbers from `first` on, and with all users and boards. */
export function manyEvents(first: number, count: number) {
  return {
    users: Array.from({ length: USERS }, (_, index) => ({
      ...{ file: 0, line: index + 1, id: BigInt(index + 1) },
      ...{ email: `user${index + 1}@x.example`, name: `User ${index + 1}` },
    })),
    boards: Array.from({ length: BOARDS }, (_, index) => ({
      ...{ file: 0, line: index + 1, id: BigInt(index + 1), title: `Board ${index + 1}` },
    })),
    events: Array.from({ length: count }, (_, index) => {
      const number = first + index;
      return {
        ...{ file: 0, line: index + 1, id: BigInt(number), type: 'board', action: 'followed', ownerId: 1n },
        ...{ actorId: BigInt((number % USERS) + 1), boardId: BigInt((number % BOARDS) + 1) },
        timestampMs: 1_400_000_000_000 + number * 1_000,
      };
    }),
  };
}

export async function stage(
  publication: Publication,
  { users, boards, events }: ReturnType<typeof manyEvents>,
): Promise<void> {
  await publication.stage('users', users);
  await publication.stage('boards', boards);
  await publication.stage('events', events);
  await publication.check(({ field, reason }) => {
    throw new Error(`${field}: ${reason}`);
  });
}

/** Publishes them as one import. Waits for other imports. */
export async function publishEvents(
  store: Store,
  organization: string,
  first: number,
  count: number,
): Promise<void> {
  const publication = await store.beginPublication(organization, { waitMs: 30_000 });
  try {
    await stage(publication, manyEvents(first, count));
    await publication.publish();
  } finally {
    await publication.discard();
  }
}
