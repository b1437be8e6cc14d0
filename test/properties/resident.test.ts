/** A dataset in memory answers as the store's own does: the same columns, tallies, lists, look-ups, standings, bytes. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { Dataset } from '../../src/dataset/dataset.ts';
import type { EventQuery, ListQuery, Occurrences, StandingsQuery } from '../../src/dataset/query.ts';
import { withResidentDatasets } from '../../src/dataset/resident/store.ts';
import { FULL_SCOPE, type Scope } from '../../src/dataset/scope.ts';
import type { Representation } from '../../src/render/answer.ts';
import { openRendering, type Rendering } from '../../src/render/rendering.ts';
import { openPublished, publishRecords } from '../dataset/small-world.ts';
import {
  BOARD_IDS,
  instantArbitrary,
  LMS_PROPERTIES,
  organizationArbitrary,
  rangeArbitrary,
  scopeArbitrary,
  UNKNOWN_ID,
  USER_IDS,
} from '../model/arbitrary.ts';
import { type Deployment, holdsRecords, installPlan, openDeployment } from '../model/deployment.ts';
import { runs } from '../model/runs.ts';
import { textOf } from '../render/reference.ts';

const REPRESENTATIONS: readonly Representation[] = ['json', 'ndjson', 'csv'];
const CATEGORIES = ['kind', 'actor', 'owner', 'board', 'pin'] as const;
const COLUMNS = [...CATEGORIES, 'timestampMs', 'sequence'] as const;

// Mostly absent: what narrows an answer to nothing tells nothing.
const optional = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
const anyScope = fc.oneof(
  fc.constant(FULL_SCOPE),
  fc.constant<Scope>({ boards: 'all', users: 'of-boards' }),
  scopeArbitrary,
  scopeArbitrary,
);
const anyRange = fc.oneof(fc.constant({}), rangeArbitrary);
// Indices a little beyond what exists are asked for, too.
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

/** Everybody and every board looked up by each of its names, and by what nobody is called. */
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

interface Questions {
  readonly events: EventQuery;
  readonly list: ListQuery;
  readonly standings: StandingsQuery;
  readonly representation: Representation;
  readonly variant: 'a' | 'b';
  readonly redacted: boolean;
}

const questions: fc.Arbitrary<Questions> = fc.record({
  events: eventQuery,
  list: listQuery,
  standings: standingsQuery,
  representation: fc.constantFrom(...REPRESENTATIONS),
  variant: fc.constantFrom('a', 'b'),
  redacted: fc.boolean(),
});

async function answersOf(dataset: Dataset, { events, list, standings }: Questions) {
  return {
    columns: await columnsOf(dataset, events),
    tally: await tallyOf(dataset, events),
    boards: await dataset.listBoards(list),
    users: await dataset.listUsers(list),
    standings: await dataset.standings(standings),
  };
}

async function textsOf(
  rendering: Rendering,
  { events, list, standings, representation, variant }: Questions,
) {
  const page = await rendering.events(events, representation);
  return {
    next: page.next,
    events: await textOf(page),
    boards: await textOf(await rendering.boards(list, variant, representation)),
    users: await textOf(await rendering.users(list, variant, representation)),
    standings: await textOf(await rendering.standings(standings, 'board' in standings.of ? 'email' : 'user')),
  };
}

async function assertSameAnswers(stored: Dataset, resident: Dataset, all: readonly Questions[]) {
  for (const { list } of all.slice(0, 2)) {
    assert.deepEqual(await lookUps(resident, list.scope), await lookUps(stored, list.scope));
  }
  const [ofStored, ofResident] = [renderingsOf(stored), renderingsOf(resident)];
  for (const asked of all) {
    assert.deepEqual(await answersOf(resident, asked), await answersOf(stored, asked));
    const expected = await textsOf(ofStored(asked.redacted), asked);
    assert.deepEqual(await textsOf(ofResident(asked.redacted), asked), expected);
  }
}

function renderingsOf(dataset: Dataset): (redacted: boolean) => Rendering {
  const open = (redacted: boolean) =>
    openRendering(dataset, { email: redacted, name: redacted, secret: new Uint8Array(32) });
  const [plain, redacted] = [open(false), open(true)];
  return (isRedacted) => (isRedacted ? redacted : plain);
}

describe('a resident dataset', () => {
  let deployment: Deployment;
  before(async () => {
    deployment = await openDeployment();
  });
  after(() => deployment.close());

  const openBoth = async (organization: string) => {
    const resident = withResidentDatasets(deployment.store, { limitBytes: Number.POSITIVE_INFINITY });
    const both = {
      stored: await openPublished(deployment.store, organization),
      resident: await openPublished(resident, organization),
    };
    assert.notEqual(both.resident.timeline, undefined);
    return {
      ...both,
      close: async () => {
        await both.stored.close();
        await both.resident.close();
      },
    };
  };

  it('answers any question about any organization as the stored one does', async () => {
    const many = fc.array(questions, { minLength: 24, maxLength: 24 });
    const property = fc.asyncProperty(organizationArbitrary, many, async (plan, all) => {
      fc.pre(plan.bundles.some(holdsRecords));
      const { organization } = await installPlan(deployment, plan);
      const { stored, resident, close } = await openBoth(organization);
      try {
        await assertSameAnswers(stored, resident, all);
      } finally {
        await close();
      }
    });
    await fc.assert(property, runs(8));
  });

  it('answers about more events than it reads at a time as the stored one does', async () => {
    const [users, boards, events] = [300, 200, 70_000];
    const ids = (count: number) =>
      Array.from({ length: count }, (_, index) => BigInt((index * 7) % count) + 1n);
    await deployment.store.createOrganization('large', {});
    await publishRecords(deployment.store, 'large', {
      users: ids(users).map((id) => ({ id, email: `${id}@x.example`, name: `User ${id}` })),
      boards: ids(boards).map((id) => ({ id, title: `Board ${id}` })),
      pins: [{ id: 1n, boardId: 1n, ownerId: 1n, title: 'Pin' }],
      // Every instant is shared by some events, and those that came later are not the later ones.
      events: Array.from({ length: events }, (_, at) => ({
        ...(at % 3 === 0 ? { type: 'pin', pinId: 1n } : { type: 'board' }),
        action: ['visited', 'created', 'followed'][at % 5] ?? 'unfollowed',
        ownerId: BigInt((at * 31) % users) + 1n,
        actorId: BigInt((at * at) % users) + 1n,
        boardId: BigInt((at * 17 + (at % 13)) % boards) + 1n,
        timestampMs: ((at * 7_919) % 20_000) * 1_000,
      })),
    });
    const { stored, resident, close } = await openBoth('large');
    const scopes: readonly Scope[] = [
      FULL_SCOPE,
      { boards: [5n, 9n, 150n], users: 'of-boards' },
      { boards: ids(150), users: 'all' },
      { boards: 'all', users: ids(120) },
      { boards: 'all', users: [2n, 5n, 7n, 17n, 26n] },
    ];
    const ranges = [{}, { startMs: 3_000_000, endMs: 17_000_000 }];
    const common = { representation: 'json', variant: 'a', redacted: true } as const;
    const all = scopes.flatMap((scope) =>
      ranges.flatMap((range): Questions[] => [
        {
          ...common,
          events: { scope, range },
          list: { scope, range },
          standings: { scope, range, of: { board: 4 } },
        },
        {
          ...common,
          events: { scope, range, actor: 1, pinsOnly: true, upToSequence: 60_000 },
          list: { scope, range, limit: 7 },
          standings: { scope, range, of: { user: 1 } },
        },
      ]),
    );
    try {
      await assertSameAnswers(stored, resident, all);
    } finally {
      await close();
    }
  });
});
