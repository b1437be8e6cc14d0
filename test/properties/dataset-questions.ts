/**
 * Queries to datasets, and a comparison of two datasets by their results: columns, tallies, lists,
 * look-ups, points totals and rendered bytes.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Dataset } from '../../src/dataset/dataset.ts';
import type {
  EventQuery,
  ListQuery,
  Occurrences,
  PointsQuery,
  StandingsQuery,
} from '../../src/dataset/query.ts';
import { FULL_SCOPE, type Scope } from '../../src/domain/scope.ts';
import { openRendering, type Rendering } from '../../src/render/rendering.ts';
import type { TextRepresentation } from '../../src/render/text/representations.ts';
import {
  BOARD_IDS,
  instantArbitrary,
  LMS_PROPERTIES,
  rangeArbitrary,
  scopeArbitrary,
  UNKNOWN_ID,
  USER_IDS,
} from '../model/arbitrary.ts';
import { textOf } from '../render/reference.ts';

const REPRESENTATIONS: readonly TextRepresentation[] = ['json', 'ndjson', 'csv'];
const CATEGORIES = ['kind', 'actor', 'owner', 'board', 'pin'] as const;
/** The least id that a record can have. */
const LEAST_ID = -(2n ** 63n);
const COLUMNS = [...CATEGORIES, 'timestampMs', 'sequence'] as const;

// Mostly undefined: a query that matches nothing tests nothing.
const optional = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
const anyScope = fc.oneof(
  fc.constant(FULL_SCOPE),
  fc.constant<Scope>({ boards: 'all', users: 'of-boards' }),
  scopeArbitrary,
  scopeArbitrary,
);
const anyRange = fc.oneof(fc.constant({}), rangeArbitrary);
// Indices slightly beyond the existing ones are queried, too.
const boardIndex = fc.nat(BOARD_IDS.length);
const userIndex = fc.nat(USER_IDS.length);

const eventQuery: fc.Arbitrary<EventQuery> = fc
  .record({
    scope: anyScope,
    range: anyRange,
    pinsOnly: fc.constantFrom(false, false, false, true),
    kinds: optional(fc.uniqueArray(fc.nat(5), { maxLength: 3 })),
    board: optional(boardIndex),
    actor: optional(userIndex),
    after: optional(fc.record({ timestampMs: instantArbitrary, sequence: fc.nat(30) })),
    upToSequence: optional(fc.nat(40)),
    limit: optional(fc.integer({ min: 1, max: 8 })),
  })
  .map(({ board, actor, ...query }) => ({
    ...query,
    ...(board === undefined ? {} : { board }),
    ...(actor === undefined ? {} : { actor }),
  }));

const listQuery: fc.Arbitrary<ListQuery> = fc.record({
  scope: anyScope,
  range: anyRange,
  afterId: optional(fc.constantFrom(...USER_IDS, ...BOARD_IDS, UNKNOWN_ID)),
  limit: optional(fc.integer({ min: 1, max: 4 })),
});

const standingsQuery: fc.Arbitrary<StandingsQuery> = fc.record({
  scope: anyScope,
  range: anyRange,
  of: fc.oneof(
    boardIndex.map((board) => ({ board })),
    userIndex.map((user) => ({ user })),
  ),
});

async function columnsOf(dataset: Dataset, query: EventQuery) {
  const columns = Object.fromEntries(COLUMNS.map((name) => [name, [] as number[]]));
  for await (const batch of dataset.events(query)) {
    assert.ok(batch.count > 0 && batch.count <= 2048, 'batches are bounded, none is empty');
    for (const name of COLUMNS) columns[name]?.push(...batch[name].subarray(0, batch.count));
  }
  return columns;
}

async function tallyOf(dataset: Dataset, { limit: _limit, ...query }: EventQuery) {
  const tally = await dataset.tally(query);
  return { events: tally.events, columns: CATEGORIES.map((name) => sorted(tally[name])) };
}

function sorted({ index, count }: Occurrences): readonly (readonly [number, number | undefined])[] {
  return Array.from(index, (value, place) => [value, count[place]] as const).toSorted(([a], [b]) => a - b);
}

/** Looks up all users and boards by each of their names, and by names that do not exist. */
async function lookUps(dataset: Dataset, scope: Scope): Promise<readonly (number | undefined)[]> {
  const boards = [...BOARD_IDS, UNKNOWN_ID].flatMap((id) => [
    dataset.findBoard(scope, { by: 'id', value: id }),
    ...['', `lti-${id}`, `lti ${id}/ä?`].map((value) => dataset.findBoard(scope, { by: 'lti', value })),
    ...['', `C${id}`, `C ${id}%`].map((value) => dataset.findBoard(scope, { by: 'course', value })),
  ]);
  const users = [...USER_IDS, UNKNOWN_ID].flatMap((id) => [
    dataset.findUser(scope, { by: 'id', value: id }),
    ...[...LMS_PROPERTIES, 'none'].flatMap((property) =>
      ['', `S${id}`, `S${id}/ä %`, `n ${id}`].map((value) =>
        dataset.findUser(scope, { by: 'lms', property, value }),
      ),
    ),
  ]);
  return await Promise.all([...boards, ...users]);
}

const pointsQuery: fc.Arbitrary<PointsQuery> = fc.record({
  scope: anyScope,
  range: anyRange,
  board: optional(boardIndex),
  user: optional(userIndex),
  after: optional(
    fc.record({
      boardId: fc.constantFrom(...BOARD_IDS, UNKNOWN_ID, LEAST_ID),
      userId: optional(fc.constantFrom(...USER_IDS, UNKNOWN_ID, LEAST_ID)),
    }),
  ),
  limit: optional(fc.integer({ min: 1, max: 8 })),
});

export interface Questions {
  readonly events: EventQuery;
  readonly list: ListQuery;
  readonly standings: StandingsQuery;
  readonly points: PointsQuery;
  readonly representation: TextRepresentation;
  readonly variant: 'a' | 'b';
  readonly redacted: boolean;
}

export const questions: fc.Arbitrary<Questions> = fc.record({
  events: eventQuery,
  list: listQuery,
  standings: standingsQuery,
  points: pointsQuery,
  representation: fc.constantFrom(...REPRESENTATIONS),
  variant: fc.constantFrom('a', 'b'),
  redacted: fc.boolean(),
});

async function answersOf(dataset: Dataset, { events, list, standings, points }: Questions) {
  return {
    columns: await columnsOf(dataset, events),
    tally: await tallyOf(dataset, events),
    boards: await dataset.list('boards', list),
    users: await dataset.list('users', list),
    standings: await dataset.standings(standings),
    points: await pointsOf(dataset, points),
  };
}

/** A text for each points total, however they are divided into batches. */
async function pointsOf(dataset: Dataset, query: PointsQuery): Promise<string[]> {
  const rows: string[] = [];
  for await (const { count, user, board, totalPoints, participationScore } of dataset.points(query)) {
    assert.ok(count > 0 && count <= 2_048, `a batch of ${count}`);
    for (let row = 0; row < count; row++) {
      rows.push(`${user[row]} on ${board[row]}: ${totalPoints[row]}, ${participationScore[row]}`);
    }
  }
  return rows;
}

async function textsOf(
  rendering: Rendering,
  { events, list, standings, representation, variant }: Questions,
) {
  const page = await rendering.events(events, representation);
  return {
    next: page.next,
    events: await textOf(page),
    boards: await textOf(await rendering.list('boards', list, variant, representation)),
    users: await textOf(await rendering.list('users', list, variant, representation)),
    standings: await textOf(await rendering.standings(standings, 'board' in standings.of ? 'email' : 'user')),
  };
}

/** Compares each of `others` with `stored`. */
export async function assertSameAnswers(
  stored: Dataset,
  others: readonly Dataset[],
  all: readonly Questions[],
) {
  for (const { list } of all.slice(0, 2)) {
    const expected = await lookUps(stored, list.scope);
    for (const other of others) assert.deepEqual(await lookUps(other, list.scope), expected);
  }
  const ofStored = renderingsOf(stored);
  const ofOthers = others.map((dataset) => ({ dataset, rendering: renderingsOf(dataset) }));
  for (const asked of all) {
    const expected = await answersOf(stored, asked);
    const texts = await textsOf(ofStored(asked.redacted), asked);
    for (const { dataset, rendering } of ofOthers) {
      assert.deepEqual(await answersOf(dataset, asked), expected);
      assert.deepEqual(await textsOf(rendering(asked.redacted), asked), texts);
    }
  }
}

function renderingsOf(dataset: Dataset): (redacted: boolean) => Rendering {
  const open = (redacted: boolean) =>
    openRendering(dataset, { email: redacted, name: redacted, id: redacted, secret: new Uint8Array(32) });
  const [plain, redacted] = [open(false), open(true)];
  return (isRedacted) => (isRedacted ? redacted : plain);
}
