/** Points totals in the order of pseudonyms, compared with a sort of all rows. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { collectRuns } from '../../../src/dataset/columns.ts';
import type { Standings } from '../../../src/dataset/query.ts';
import { boardInOrder, inPseudonymOrder } from '../../../src/render/redaction/points-order.ts';
import { withTimeRunning } from '../../running-time.ts';

const USERS = 6_000;
const ROWS_AT_ONCE = 2_048;
/** A permutation of all users, because 7 and 6,000 have no common divisor. */
const PLACES = Int32Array.from({ length: USERS }, (_, user) => (user * 7 + 11) % USERS);
const BY_PLACE = new Int32Array(USERS);
for (const [user, place] of PLACES.entries()) BY_PLACE[place] = user;
const ORDER = { byPlace: BY_PLACE, places: PLACES };

interface Row {
  readonly board: number;
  readonly user: number;
}

/** Boards with the first users, in the given numbers; their indices do not ascend. */
function rowsOf(usersOfBoards: readonly number[]): Row[] {
  return usersOfBoards.flatMap((users, at) =>
    Array.from({ length: users }, (_, user) => ({ board: usersOfBoards.length - at, user })),
  );
}

function columnsOf(rows: readonly Row[]): Standings {
  return {
    count: rows.length,
    user: Int32Array.from(rows, ({ user }) => user),
    board: Int32Array.from(rows, ({ board }) => board),
    totalPoints: Float64Array.from(rows, ({ user, board }) => user * 1_000 + board),
    participationScore: Float64Array.from(rows, ({ user }) => user / 2),
  };
}

async function* batchesOf(rows: readonly Row[], size: number): AsyncGenerator<Standings, void> {
  for (let from = 0; from < rows.length; from += size) yield columnsOf(rows.slice(from, from + size));
}

/** The boards stay in their order. */
function sorted(rows: readonly Row[]): Row[] {
  return rows.toSorted((one, other) => other.board - one.board || PLACES[one.user]! - PLACES[other.user]!);
}

const usersOfBoard = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 4 }) },
  { weight: 1, arbitrary: fc.constantFrom(ROWS_AT_ONCE, ROWS_AT_ONCE + 1, USERS) },
);

it('the rows of boards of every size are in order, however they are divided into batches', async () => {
  const boards = fc.array(usersOfBoard, { maxLength: 12 });
  const size = fc.constantFrom(1, 3, 700, ROWS_AT_ONCE);
  const property = fc.asyncProperty(boards, size, async (usersOfBoards, rowsOfBatch) => {
    const rows = rowsOf(usersOfBoards);
    const batches = await collectRuns(inPseudonymOrder(batchesOf(rows, rowsOfBatch), ORDER));
    assert.ok(batches.every(({ count }) => count > 0 && count <= ROWS_AT_ONCE));
    const expected = columnsOf(sorted(rows));
    for (const column of ['user', 'board', 'totalPoints', 'participationScore'] as const) {
      assert.deepEqual(
        batches.flatMap((batch) => [...batch[column]]),
        [...expected[column]],
      );
    }
  });
  await fc.assert(property, { numRuns: 30 });
});

it('the rows of one board are in order', async () => {
  for (const users of [0, 1, 50, ROWS_AT_ONCE + 1]) {
    const rows = rowsOf([users]);
    assert.deepEqual(await boardInOrder(columnsOf(rows), ORDER), columnsOf(sorted(rows)));
  }
});

it('ordering many small boards yields to the event loop, and does not go through all users for each', async () => {
  const boards = 20_000;
  const rows = rowsOf(Array.from({ length: boards }, () => 1));
  let looks = 0;
  const watched = new Proxy(BY_PLACE, {
    get: (target, name) => {
      looks += 1;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const { turns } = await withTimeRunning(() =>
    collectRuns(inPseudonymOrder(batchesOf(rows, ROWS_AT_ONCE), { byPlace: watched, places: PLACES })),
  );
  assert.ok(turns >= boards / ROWS_AT_ONCE, `${turns} turns`);
  assert.equal(looks, 0);
});
