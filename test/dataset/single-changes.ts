/** A small world, followed by publications that each make a single change, on a separate board. */

import type { Step } from './increments.ts';
import type { Records } from './small-world.ts';

const DAY_MS = 86_400_000;
const BOARDS = [10n, 11n, 12n, 13n, 14n, 15n, 16n, 17n];
const LATER_BOARD = 18n;

let events = 0n;
function event(boardId: bigint, action: string, actorId: bigint, timestampMs: number, pinId?: bigint) {
  events += 1n;
  const fields = { id: events, action, ownerId: 9n, actorId, boardId, timestampMs };
  return pinId === undefined ? { ...fields, type: 'board' } : { ...fields, type: 'pin', pinId };
}

const POLICY = JSON.stringify({
  rules: [
    { on: 'pin.created', to: 'actor', points: 10, minWords: 2 },
    { on: 'pin.commented', to: 'owner', points: 5 },
  ],
  weeklyMaximum: 15,
  boards: { [String(LATER_BOARD)]: { goal: 20 } },
});

const FIRST: Records = {
  users: [1n, 2n, 3n, 9n].map((id) => ({ id, email: `u${id}@x.example`, name: `User ${id}` })),
  boards: BOARDS.map((id) => ({ id, title: `Board ${id}` })),
  pins: [
    { id: 70n, title: 'Long', body: 'one two' },
    { id: 71n, title: 'Short', body: 'one' },
  ],
  events: [
    event(10n, 'created', 1n, 5 * DAY_MS, 70n),
    event(11n, 'created', 1n, 5 * DAY_MS, 71n),
    ...[6, 7, 8].map((day) => event(12n, 'created', 1n, day * DAY_MS, 70n)),
    event(13n, 'unfollowed', 1n, 100),
    event(13n, 'followed', 2n, 100),
    event(13n, 'unfollowed', 3n, 100),
    event(14n, 'unfollowed', 1n, 100),
    event(15n, 'created', 1n, 5 * DAY_MS, 70n),
    event(16n, 'visited', 2n, 5 * DAY_MS),
    event(17n, 'commented', 1n, 5 * DAY_MS, 70n),
  ],
};

const ALONE: readonly Records[] = [
  // An adjustment.
  { adjustments: [{ userId: 1n, boardId: 10n, points: 7, timestampMs: 3, reason: 'alone' }] },
  // The word count of a pin.
  { pins: [{ id: 71n, body: 'one two three' }] },
  // A late event in a week whose maximum was reached after it.
  { events: [event(12n, 'created', 1n, 5 * DAY_MS, 70n)] },
  // A late follow that is older than an unfollow; an unfollow of the latest follow; activity after
  // an unfollow.
  { events: [event(13n, 'followed', 1n, 50)] },
  { events: [event(13n, 'unfollowed', 2n, 150)] },
  { events: [event(13n, 'visited', 3n, 150)] },
  // A membership, then points totals, of users who left or were active; then different totals.
  { memberships: [{ userId: 1n, boardId: 14n }] },
  { points: [{ userId: 1n, boardId: 15n, totalPoints: 80, participationScore: 8 }] },
  { points: [{ userId: 1n, boardId: 15n, totalPoints: 90, participationScore: 8 }] },
  { points: [{ userId: 3n, boardId: 15n, totalPoints: 1, participationScore: 1 }] },
  // An event earlier than the first one; a creation time.
  { events: [event(16n, 'visited', 2n, 4 * DAY_MS)] },
  { boards: [{ id: 16n, createdMs: 77 }], users: [{ id: 3n, createdMs: 78 }] },
  // An owner without activity becomes active; a second comment pays the owner; no new users.
  { events: [event(17n, 'visited', 9n, 6 * DAY_MS)] },
  { events: [event(17n, 'commented', 1n, 6 * DAY_MS, 70n)] },
  // The pin of a different user pays its owner; then the owner leaves without any other activity.
  { events: [event(14n, 'commented', 2n, 6 * DAY_MS, 70n)] },
  { events: [event(14n, 'unfollowed', 9n, 7 * DAY_MS)] },
  // An adjustment for a user without relation to the board; one for a user who left.
  { adjustments: [{ userId: 3n, boardId: 10n, points: 2, timestampMs: 4, reason: 'alone' }] },
  { adjustments: [{ userId: 3n, boardId: 13n, points: 2, timestampMs: 4, reason: 'after leaving' }] },
  // A board that the policy named before the board existed.
  { boards: [{ id: LATER_BOARD, title: 'Later' }], events: [] },
  { events: [event(LATER_BOARD, 'created', 1n, 6 * DAY_MS, 70n)] },
];

export const SINGLE_CHANGES: readonly Step[] = [
  { records: FIRST, policy: POLICY },
  ...ALONE.map((records) => ({ records })),
];
