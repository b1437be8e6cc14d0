/** The insights, compared with a simple count over the exported events of the same key. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import {
  BOARD_IDS,
  organizationArbitrary,
  rangeArbitrary,
  scopeArbitrary,
  USER_IDS,
} from '../model/arbitrary.ts';
import { assertProblem, assertSuccess, get } from '../model/client.ts';
import { type Deployment, installPlan, openDeployment } from '../model/deployment.ts';
import {
  countBy,
  distinctPeople,
  type Exported,
  hoursOf,
  interactionsOf,
  overviewOf,
  parseExact,
  periodsBetween,
  pinsOf,
  placesOf,
  rankingOf,
  returningOf,
} from '../model/insights-model.ts';
import { runs } from '../model/runs.ts';

const ZONES = [
  'UTC',
  'Europe/Vienna',
  'America/New_York',
  'Asia/Kathmandu',
  'Asia/Beirut',
  'Africa/Casablanca',
];

const askedArbitrary = fc.record({
  range: rangeArbitrary,
  board: fc.option(fc.constantFrom(...BOARD_IDS), { nil: undefined, freq: 3 }),
  user: fc.option(fc.constantFrom(...USER_IDS), { nil: undefined, freq: 3 }),
  action: fc.option(fc.constantFrom('visited', 'created', 'commented', 'nothing'), {
    nil: undefined,
    freq: 3,
  }),
  interval: fc.constantFrom('hour', 'day', 'week', 'month', 'quarter', 'year'),
  zone: fc.constantFrom(...ZONES),
  by: fc.constantFrom('action', 'type', 'board', 'role', 'class_role'),
});

interface Named {
  readonly id: string;
}

interface Overview {
  readonly organization: Named;
  readonly board: Named | null;
  readonly user: Named | null;
}

interface RankedPins {
  readonly pins: number;
  readonly ranked: readonly (Omit<Ranked, 'board'> & { readonly pin: Named; readonly owner: Named })[];
}

interface Series {
  readonly label: string | null;
  readonly board: Named | null;
  readonly events: readonly number[];
}

interface Activity {
  readonly periods: readonly string[];
  readonly end: string | null;
  readonly people: readonly number[];
  readonly series: readonly Series[];
}

interface Returning extends Pick<Activity, 'periods'> {
  readonly newcomers: readonly number[];
  readonly returning: readonly number[];
}

interface Ranked {
  readonly board?: Named;
  readonly user?: Named;
  readonly events: number;
  readonly people?: number;
  readonly boards?: number;
  readonly last: string;
}

interface Interactions {
  readonly people: readonly Named[];
  readonly edges: readonly { readonly actor: string; readonly owner: string; readonly events: number }[];
  readonly pairs: number;
  readonly events: number;
  readonly own_events: number;
}

type Asked = typeof askedArbitrary extends fc.Arbitrary<infer T> ? T : never;

describe('insights', () => {
  let deployment: Deployment;
  before(async () => {
    deployment = await openDeployment();
  });
  after(() => deployment.close());

  const load = async <T>(key: string, path: string): Promise<T> => {
    const reply = await get(deployment.url + path, key);
    assertSuccess(reply);
    return parseExact(reply.text) as T;
  };

  it('agree with a count over the exported events, for every scope, filter, range, interval and zone', async () => {
    const property = fc.asyncProperty(
      organizationArbitrary,
      scopeArbitrary,
      fc.array(askedArbitrary, { minLength: 6, maxLength: 6 }),
      async (plan, scope, questions) => {
        const { organization } = await installPlan(deployment, plan);
        const key = await deployment.makeKey(organization, { scope });
        const all = await load<Exported[]>(key, '/b/v1/events');
        const visible = {
          boards: new Set((await load<Named[]>(key, '/b/v1/boards')).map(({ id }) => id)),
          users: new Set((await load<Named[]>(key, '/b/v1/users')).map(({ id }) => id)),
        };
        for (const asked of questions) await checkAll(key, asked, all, visible);
      },
    );
    await fc.assert(property, runs(4));
  });

  async function checkAll(
    key: string,
    asked: Asked,
    all: readonly Exported[],
    visible: { readonly boards: ReadonlySet<string>; readonly users: ReadonlySet<string> },
  ): Promise<void> {
    const { range, board, user, action, interval, zone, by } = asked;
    const filter = new URLSearchParams();
    for (const [name, value] of Object.entries({
      board,
      user,
      action,
      start: range.startMs,
      end: range.endMs,
    })) {
      if (value !== undefined) filter.set(name, String(value));
    }
    const path = (name: string, more = {}) =>
      `/insights/v1/${name}?${new URLSearchParams([...filter, ...Object.entries<string>(more)])}`;
    const hidden =
      (board !== undefined && !visible.boards.has(String(board))) ||
      (user !== undefined && !visible.users.has(String(user)));
    if (hidden) {
      assertProblem(await get(deployment.url + path('overview'), key), 404, 'not-found');
      return;
    }
    const filtered = all.filter(
      (event) =>
        (board === undefined || event.board.id === String(board)) &&
        (user === undefined || event.actor.id === String(user)) &&
        (action === undefined || event.action === action),
    );
    const { startMs = Number.NEGATIVE_INFINITY, endMs = Number.POSITIVE_INFINITY } = range;
    const ms = ({ timestamp }: Exported) => Date.parse(timestamp);
    const events = filtered.filter((event) => ms(event) >= startMs && ms(event) < endMs);

    const {
      organization,
      board: aboutBoard,
      user: aboutUser,
      ...figures
    } = await load<Overview>(key, path('overview'));
    assert.deepEqual(figures, overviewOf(events));
    await checkPrevious(key, path('overview', { compare: 'previous' }), range, filtered);
    assert.deepEqual(
      [aboutBoard?.id, aboutUser?.id],
      [board, user].map((id) => id && String(id)),
    );
    assert.deepEqual(await load(key, path('events')), events);
    if (events[0] !== undefined) assert.equal(organization.id, events[0].organization.id);
    assert.deepEqual(
      (await load<{ hours: number[][] }>(key, path('heat-map', { zone }))).hours,
      hoursOf(zone, events),
    );

    const isRange = range.startMs !== undefined && startMs < endMs;
    const first = isRange ? iso(startMs) : events[0]?.timestamp;
    const last = isRange && range.endMs !== undefined ? iso(endMs - 1) : (events.at(-1)?.timestamp ?? first);
    const { starts, end } =
      first === undefined || last === undefined
        ? { starts: [], end: null }
        : periodsBetween(interval, zone, first, last);
    const activity = await load<Activity>(key, path('activity', { interval, zone, by, top: '1000' }));
    assert.deepEqual([activity.periods, activity.end], [starts, end]);
    assert.deepEqual(activity.people, distinctPeople(starts, events));
    checkSeries(activity.series, starts, events, by);

    const returning = await load<Returning>(key, path('returning', { interval, zone }));
    assert.deepEqual(returning.periods, starts);
    const { newcomers, returning: back } = returningOf(
      starts,
      filtered.filter((event) => ms(event) < startMs),
      events,
    );
    assert.deepEqual([returning.newcomers, returning.returning], [newcomers, back]);

    for (const [name, column, subject, others] of [
      ['boards', 'board', 'board', 'people'],
      ['users', 'actor', 'user', 'boards'],
    ] as const) {
      const ranked = await load<Ranked[]>(key, path(name, { top: '1000' }));
      const flat = ranked.map((entry) => ({
        ...{ id: entry[subject]?.id ?? '', events: entry.events, others: entry[others], last: entry.last },
      }));
      assert.deepEqual(sorted(flat), sorted(rankingOf(events, column)));
      const counts = flat.map((entry) => entry.events);
      assert.deepEqual(
        counts,
        counts.toSorted((one, other) => other - one),
      );
      const recent = await load<Ranked[]>(key, path(name, { order: 'recent', top: '2' }));
      const lasts = rankingOf(events, column).map((entry) => entry.last);
      assert.deepEqual(
        recent.map((entry) => entry.last),
        lasts.sort().reverse().slice(0, 2),
      );
    }
    if (board !== undefined) {
      await checkInteractions(key, asked, events);
      await checkPins(key, asked, events);
    }
  }

  /** The range before has the same length, and ends where the range starts (decision 102). */
  async function checkPrevious(
    key: string,
    path: string,
    { startMs, endMs }: Asked['range'],
    filtered: readonly Exported[],
  ): Promise<void> {
    if (startMs === undefined || endMs === undefined) {
      assertProblem(await get(deployment.url + path, key), 400, 'parameter-malformed');
      return;
    }
    const fromMs = startMs + startMs - endMs;
    const before = filtered.filter(({ timestamp }) => {
      const ms = Date.parse(timestamp);
      return ms >= fromMs && ms < startMs;
    });
    const { previous } = await load<Overview & { readonly previous: object }>(key, path);
    assert.deepEqual(previous, { start: iso(fromMs), end: iso(startMs), ...overviewOf(before) });
  }

  function loadOfBoard<T>(key: string, { board, user, action, range }: Asked, what: string): Promise<T> {
    const query = new URLSearchParams({ top: '1000' });
    for (const [name, value] of Object.entries({ user, action, start: range.startMs, end: range.endMs })) {
      if (value !== undefined) query.set(name, String(value));
    }
    return load(key, `/insights/v1/boards/${board}/${what}?${query}`);
  }

  async function checkPins(key: string, asked: Asked, events: readonly Exported[]): Promise<void> {
    const { pins, ranked } = await loadOfBoard<RankedPins>(key, asked, 'pins');
    const flat = ranked.map(({ pin, owner, ...figures }) => ({ id: pin.id, owner: owner.id, ...figures }));
    assert.deepEqual(sorted(flat), sorted(pinsOf(events)));
    assert.equal(pins, ranked.length);
  }

  async function checkInteractions(key: string, asked: Asked, events: readonly Exported[]): Promise<void> {
    const answer = await loadOfBoard<Interactions>(key, asked, 'interactions');
    const expected = interactionsOf(events);
    const edges = answer.edges.map((edge) => [`${edge.actor} ${edge.owner}`, edge.events]);
    assert.deepEqual(edges.sort(), [...expected.pairs].sort());
    assert.deepEqual(
      [answer.events, answer.own_events, answer.pairs],
      [expected.events, expected.own, edges.length],
    );
    const named = new Set(answer.people.map(({ id }) => id));
    assert.deepEqual(named, new Set(answer.edges.flatMap((edge) => [edge.actor, edge.owner])));
  }
});

function checkSeries(
  series: readonly Series[],
  starts: readonly string[],
  events: readonly Exported[],
  by: Asked['by'],
): void {
  const nameOf = (event: Exported) => {
    if (by === 'board') return event.board.id;
    return by === 'role' || by === 'class_role' ? event.actor[by] : event[by];
  };
  const places = placesOf(starts, events);
  const rows = events.map((event, row) => ({ name: nameOf(event), period: places[row] }));
  const expected = countBy(rows, ({ name, period }) => JSON.stringify([name, period]));
  const found = new Map<string, number>();
  for (const { label, board, events: counts } of series) {
    assert.equal(counts.length, starts.length);
    for (const [period, count] of counts.entries()) {
      if (count > 0) found.set(JSON.stringify([board?.id ?? label, period]), count);
    }
  }
  assert.deepEqual([...found].sort(), [...expected].sort());
}

function sorted<T extends { id: string }>(entries: readonly T[]): readonly T[] {
  return entries.toSorted((one, other) => (one.id < other.id ? -1 : 1));
}

function iso(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '+00:00');
}
