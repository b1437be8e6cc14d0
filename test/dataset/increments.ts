/** Random records in several publications, and their merge into one. */
import fc from 'fast-check';
import { instantArbitrary } from '../model/arbitrary.ts';
import { policyArbitrary } from '../model/policy-arbitrary.ts';
import type { Records } from './small-world.ts';

const USERS = [1n, 2n, 3n, 4n];
const BOARDS = [7n, 8n, 9n];
const PINS = [70n, 71n, 80n];

export interface Step {
  readonly records: Records;
  /** The policy from this step on; absent: unchanged. */
  readonly policy?: string;
}

const eventArbitrary = fc
  .record({
    kind: fc.constantFrom(
      ...['pin.created', 'pin.created', 'pin.commented', 'pin.visited'],
      ...['board.followed', 'board.unfollowed', 'user.followed'],
    ),
    ownerId: fc.constantFrom(...USERS),
    actorId: fc.constantFrom(...USERS),
    boardId: fc.constantFrom(...BOARDS),
    pinId: fc.constantFrom(...PINS),
    timestampMs: instantArbitrary,
  })
  .map(({ kind, pinId, ...event }) => {
    const [type = '', action = ''] = kind.split('.');
    return { type, action, ...event, ...(type === 'pin' ? { pinId } : {}) };
  });

const bodyArbitrary = fc.constantFrom('', 'one', 'one two', 'one\u00a0two\nthree');
const pair = { boardId: fc.constantFrom(...BOARDS), userId: fc.constantFrom(...USERS) };
const created = { createdMs: fc.option(instantArbitrary, { nil: undefined }) };

const laterArbitrary = fc.record({
  users: fc.array(fc.record({ id: fc.constantFrom(...USERS), ...created }), { maxLength: 1 }),
  boards: fc.array(fc.record({ id: fc.constantFrom(...BOARDS), ...created }), { maxLength: 1 }),
  pins: fc.array(fc.record({ id: fc.constantFrom(...PINS), body: bodyArbitrary }), { maxLength: 1 }),
  memberships: fc.array(fc.record(pair), { maxLength: 1 }),
  events: fc
    .tuple(fc.boolean(), fc.array(eventArbitrary, { maxLength: 9 }))
    .map(([some, events]) => (some ? events : [])),
  points: fc.array(fc.record({ ...pair, totalPoints: fc.nat(90), participationScore: fc.nat(9) }), {
    maxLength: 1,
  }),
  adjustments: fc.array(
    fc.record({ ...pair, points: fc.integer({ min: -20, max: 20 }), timestampMs: instantArbitrary }),
    { maxLength: 1 },
  ),
});

/**
 * Steps with random records. Users, boards and pins are added when a record first refers to them.
 * Every event has a unique id, and every adjustment a unique reason.
 */
export const stepsArbitrary: fc.Arbitrary<readonly Step[]> = fc
  .array(
    fc.record({
      later: laterArbitrary,
      policy: fc.option(policyArbitrary(BOARDS), { nil: undefined, freq: 3 }),
    }),
    { minLength: 2, maxLength: 5, size: 'max' },
  )
  .map((steps) => {
    const known = new Set<bigint>();
    let uses = 0;
    const unique = () => {
      uses += 1;
      return uses;
    };
    return steps.map(({ later, policy }): Step => {
      const news = <T extends { id: bigint }>(thing: T) => {
        if (known.has(thing.id)) return [];
        known.add(thing.id);
        return [thing];
      };
      const pairs = [...later.memberships, ...later.points, ...later.adjustments];
      const userIds = [
        ...later.users.map(({ id }) => id),
        ...later.events.flatMap(({ ownerId, actorId }) => [ownerId, actorId]),
        ...pairs.map(({ userId }) => userId),
      ];
      const boardIds = [
        ...later.boards.map(({ id }) => id),
        ...[...later.events, ...pairs].map(({ boardId }) => boardId),
      ];
      const pinIds = [
        ...later.pins.map(({ id }) => id),
        ...later.events.flatMap((event) => ('pinId' in event ? [event.pinId as bigint] : [])),
      ];
      return {
        records: {
          users: [
            ...userIds.flatMap((id) => news({ id, email: `u${id}@x.example`, name: `User ${id}` })),
            ...later.users,
          ],
          boards: [...boardIds.flatMap((id) => news({ id, title: `Board ${id}` })), ...later.boards],
          pins: [...pinIds.flatMap((id) => news({ id, title: `Pin ${id}`, body: 'one two' })), ...later.pins],
          memberships: later.memberships,
          events: later.events.map((event) => ({ id: BigInt(unique()), ...event })),
          points: later.points,
          adjustments: later.adjustments.map((one) => ({ ...one, reason: `${unique()}` })),
        },
        ...(policy === undefined ? {} : { policy: JSON.stringify(policy) }),
      };
    });
  });

/** Merges all steps into one. */
export function joinSteps(steps: readonly Step[]): Step {
  const all = steps.map(({ records }) => records);
  const policy = steps.findLast((step) => step.policy !== undefined)?.policy;
  return { records: joinRecords(all), ...(policy === undefined ? {} : { policy }) };
}

function joinRecords(all: readonly Records[]): Records {
  return {
    users: all.flatMap(({ users = [] }) => users),
    boards: all.flatMap(({ boards = [] }) => boards),
    pins: all.flatMap(({ pins = [] }) => pins),
    memberships: all.flatMap(({ memberships = [] }) => memberships),
    events: all.flatMap(({ events = [] }) => events),
    points: all.flatMap(({ points = [] }) => points),
    adjustments: all.flatMap(({ adjustments = [] }) => adjustments),
  };
}
