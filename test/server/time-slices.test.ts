/** Requests that process many rows yield to the event loop once per few thousand rows. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Dataset } from '../../src/dataset/dataset.ts';
import type { PointsQuery } from '../../src/dataset/query.ts';
import { FULL_SCOPE, type Scope } from '../../src/domain/scope.ts';
import { openRendering, type Rendering } from '../../src/render/rendering.ts';
import type { Parameters } from '../../src/server/request/parameters.ts';
import type { AnyAnswer, Ask } from '../../src/server/request/route.ts';
import {
  answerActivity,
  answerAttention,
  answerHeatMap,
  answerInteractions,
  answerLedger,
  answerOverview,
  answerParticipation,
  answerPins,
  answerRanked,
  answerReturning,
} from '../../src/server/routes/insight-responses.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import { withResidentDatasets } from '../../src/store/resident-store.ts';
import type { Store } from '../../src/store/store.ts';
import { TURNS_BETWEEN } from '../../src/system/time-slice.ts';
import { openPublished, publishRecords, type Records } from '../dataset/small-world.ts';
import { PlainDataset } from '../render/plain-dataset.ts';
import { NO_REDACTION, worldOf } from '../render/worlds.ts';
import { withTimeRunning } from '../running-time.ts';

const USERS = 40_000;
const EVENTS = 40_000;
/** The least number of clock checks while all rows are processed. */
const LOOKS = EVENTS / 10_000;
const START_MS = Date.UTC(2024, 0, 1);
const BOARD = 0;
const USER = 0;

/** One board. The first user acts in every second event, every other user at most once. */
function recordsOf(): Records {
  const users = Array.from({ length: USERS }, (_, user) => ({
    id: BigInt(user + 1),
    email: `user${user}@x.example`,
    name: `User ${user}`,
  }));
  const events = Array.from({ length: EVENTS }, (_, event) => ({
    type: 'pin',
    action: 'commented',
    ownerId: BigInt(1 + ((event * 7) % USERS)),
    actorId: event % 2 === 0 ? 1n : BigInt(event + 1),
    boardId: 1n,
    pinId: BigInt(1 + (event % 3)),
    timestampMs: START_MS + event * 60_000,
  }));
  const pins = [1n, 2n, 3n].map((id) => ({ id, boardId: 1n, ownerId: 1n, title: 'Pin', body: '' }));
  return { users, boards: [{ id: 1n, title: 'One' }], pins, events };
}

describe('a request that processes many rows', () => {
  let folder: string;
  let store: Store;
  let dataset: Dataset;
  let rendering: Rendering;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corkboard-slices-'));
    store = withResidentDatasets(await openFolderStore(folder), { limitBytes: Number.POSITIVE_INFINITY });
    await store.createOrganization('acme', {});
    await publishRecords(store, 'acme', recordsOf());
    dataset = await openPublished(store, 'acme');
    rendering = openRendering(dataset, NO_REDACTION);
    // Reads from the disk come first, because they would count as turns of the event loop.
    await rendering.described();
    await rendering.describedPins();
    await rendering.standings({ scope: FULL_SCOPE, range: {}, of: { board: BOARD } }, 'email');
    const ledger = await dataset.ledger({ scope: FULL_SCOPE, board: BOARD, user: USER });
    dataset.ledger = async () => ledger;
  });
  after(async () => {
    await dataset.close();
    await store.close();
    await rm(folder, { recursive: true });
  });

  const ask = (parameters: Parameters): Ask => ({
    ...{ dataset, rendering, scope: FULL_SCOPE, parameters },
    ...{ place: undefined, since: undefined, representation: 'json' },
  });
  const insights: Record<string, () => Promise<AnyAnswer>> = {
    overview: () => answerOverview(ask({})),
    activity: () => answerActivity(ask({ interval: 'hour' })),
    'activity by board': () => answerActivity(ask({ interval: 'hour', by: 'board' })),
    'periods without events': () =>
      answerActivity(ask({ start: START_MS - 9_000 * 3_600_000, end: START_MS, interval: 'hour' })),
    returning: () => answerReturning(ask({ interval: 'hour' })),
    'heat map': () => answerHeatMap(ask({})),
    'ranked boards': () => answerRanked(ask({}), 'board'),
    'ranked users': () => answerRanked(ask({ order: 'recent' }), 'actor'),
    pins: () => answerPins(ask({}), BOARD),
    interactions: () => answerInteractions(ask({}), BOARD),
    participation: () => answerParticipation(ask({}), BOARD),
    attention: () => answerAttention(ask({}), BOARD),
    ledger: () => answerLedger(ask({}), BOARD, USER),
  };
  for (const [name, answer] of Object.entries(insights)) {
    it(`yields to the event loop: ${name}`, async () => {
      const { turns } = await withTimeRunning(answer);
      assert.ok(turns >= LOOKS, `${turns} turns`);
    });
  }

  it('yields to the event loop: lists, points and the evaluation of a scope', async () => {
    const everybody = { scope: FULL_SCOPE, range: { startMs: START_MS } };
    const scope: Scope = { boards: 'all', users: Array.from({ length: 10_000 }, (_, user) => BigInt(user)) };
    const works: Record<string, () => Promise<unknown>> = {
      list: () => rendering.list('users', everybody, 'a', 'json'),
      points: () => rendering.standings({ ...everybody, of: { board: BOARD } }, 'email'),
      scope: async () => dataset.prepare?.(scope),
    };
    for (const [name, work] of Object.entries(works)) {
      // Reads from the disk come first.
      if (name !== 'scope') await work();
      const { turns } = await withTimeRunning(work);
      assert.ok(turns >= LOOKS, `${name}: ${turns} turns`);
    }
    assert.equal(dataset.prepare?.(scope), undefined, 'it is evaluated once');
  });
});

describe('the rows of points of many boards with few users', () => {
  const BOARDS = 40_000;
  /** Each pause takes several turns. */
  const TURNS = (TURNS_BETWEEN * BOARDS) / 10_000;
  let folder: string;
  let store: Store;
  let dataset: Dataset;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corkboard-slices-'));
    store = withResidentDatasets(await openFolderStore(folder), { limitBytes: Number.POSITIVE_INFINITY });
    await store.createOrganization('acme', {});
    const boards = Array.from({ length: BOARDS }, (_, at) => ({ id: BigInt(at + 1), title: `Board ${at}` }));
    await publishRecords(store, 'acme', {
      users: [1n, 2n].map((id) => ({ id, email: `user${id}@x.example`, name: `User ${id}` })),
      boards,
      memberships: boards.flatMap(({ id }) => [
        { boardId: id, userId: 1n },
        ...(id === BigInt(BOARDS) ? [{ boardId: id, userId: 2n }] : []),
      ]),
    });
    dataset = await openPublished(store, 'acme');
  });
  after(async () => {
    await dataset.close();
    await store.close();
    await rm(folder, { recursive: true });
  });

  const everything = { scope: FULL_SCOPE, range: {} };
  const ofOne = { ...everything, scope: { boards: 'all', users: [2n] } as Scope };
  const redacting = { ...NO_REDACTION, id: true };
  const works: readonly (readonly [string, typeof redacting, PointsQuery, number])[] = [
    ['all of them', NO_REDACTION, everything, BOARDS + 1],
    ['a range', NO_REDACTION, { ...everything, range: { startMs: START_MS } }, BOARDS + 1],
    ['a key that sees one user on one board', NO_REDACTION, ofOne, 1],
    ['a key that redacts ids', redacting, everything, BOARDS + 1],
  ];
  for (const [name, redaction, query, rows] of works) {
    it(`are measured and written in time slices: ${name}`, async () => {
      // Reads from the disk come first. A new rendering has not measured the response.
      await dataset.prepare?.(query.scope);
      await openRendering(dataset, redaction).points({ ...query, limit: 1 }, 'csv');
      const rendering = openRendering(dataset, redaction);
      await rendering.described();
      const measuring = await withTimeRunning(() => rendering.points(query, 'csv'));
      assert.equal(measuring.result.rows, rows);
      assert.ok(measuring.turns >= TURNS, `${measuring.turns} turns`);
      if (rows === 1) return;
      const writing = await withTimeRunning(async () => {
        for await (const chunk of measuring.result.chunks()) assert.ok(chunk.length > 0);
      });
      assert.ok(writing.turns >= TURNS, `${writing.turns} turns`);
    });
  }

  it('are none, and nothing is read, if the range is empty', async () => {
    const range = { startMs: START_MS, endMs: START_MS };
    const rendering = openRendering(dataset, NO_REDACTION);
    await rendering.described();
    const { result, turns } = await withTimeRunning(() => rendering.points({ ...everything, range }, 'csv'));
    assert.equal(result.rows, 0);
    assert.equal(turns, 0);
  });
});

it('making the pseudonyms of many users yields to the event loop', async () => {
  const world = worldOf(0);
  const people = Array.from({ length: 8_192 }, (_, id) => ({ ...world.people[0]!, id: BigInt(id) }));
  const redaction = { email: true, name: true, id: false, secret: new Uint8Array(32) };
  const rendering = openRendering(new PlainDataset({ ...world, people }, 2_048), redaction);
  const { turns } = await withTimeRunning(() => rendering.described());
  assert.ok(turns >= people.length / 100, `${turns} turns`);
});
