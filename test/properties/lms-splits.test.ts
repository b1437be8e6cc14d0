/**
 * Activity by an LMS property, compared with a plain count over the events of the same key, and
 * what several responses show together (decision 104).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { NO_REDACTION, type Redaction } from '../../src/domain/redaction.ts';
import { FULL_SCOPE, type Scope } from '../../src/domain/scope.ts';
import { publishRecords, type Records } from '../dataset/small-world.ts';
import { redactionArbitrary } from '../model/arbitrary.ts';
import { assertProblem, assertSuccess, get } from '../model/client.ts';
import { type BothReadings, openBothReadings, urlsInTurn } from '../model/deployment.ts';
import { type Exported, parseExact, placesOf } from '../model/insights-model.ts';
import { runs } from '../model/runs.ts';
import { until } from '../server/stand.ts';

const FEWEST = 10;
const TOPS = [1, 2, 3, 10];
const BOARDS = [1, 2, 3];
const START_MS = Date.UTC(2024, 0, 15);
const DAY_MS = 86_400_000;

const EVENT = { type: 'board', action: 'visited', ownerId: 0n, boardId: 1n, timestampMs: START_MS };

/** A user; without a cohort it has no value. */
interface Student {
  readonly cohort?: string | undefined;
  /** Boards and days of the events. */
  readonly events: readonly { readonly board: number; readonly day: number }[];
}

interface Series {
  readonly label: string | null;
  readonly board: null;
  readonly events: readonly number[];
}

interface Activity {
  readonly by: string;
  readonly periods: readonly string[];
  readonly series: readonly Series[];
}

const studentArbitrary: fc.Arbitrary<Student> = fc.record({
  cohort: fc.oneof(
    { weight: 5, arbitrary: fc.constant('2024 "A", é') },
    { weight: 4, arbitrary: fc.constant('2024 B') },
    { weight: 3, arbitrary: fc.constant('=2023') },
    { weight: 2, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.stringMatching(/^own [a-z]{6}$/) },
  ),
  events: fc.array(fc.record({ board: fc.constantFrom(...BOARDS), day: fc.nat({ max: 90 }) }), {
    maxLength: 6,
  }),
});

const scopeArbitrary: fc.Arbitrary<Scope> = fc.oneof(
  fc.constant(FULL_SCOPE),
  fc.subarray(BOARDS).map((boards): Scope => ({ boards: boards.map(BigInt), users: 'of-boards' })),
  fc
    .uniqueArray(fc.integer({ min: 1, max: 60 }), { minLength: 25, maxLength: 55 })
    // The owner of all events has id 0.
    .map((users): Scope => ({ boards: 'all', users: [0, ...users].map(BigInt) })),
);

const askedArbitrary = fc.record({
  board: fc.option(fc.constantFrom(...BOARDS), { nil: undefined, freq: 2 }),
  action: fc.option(fc.constant('visited'), { nil: undefined, freq: 2 }),
  startMs: fc.option(fc.constant(START_MS + 30 * DAY_MS), { nil: undefined, freq: 2 }),
  interval: fc.constantFrom('week', 'month', 'year'),
});
type Question = typeof askedArbitrary extends fc.Arbitrary<infer T> ? T : never;

describe('activity by an LMS property', () => {
  let deployment: BothReadings;
  let organizations = 0;
  let requests = 0;
  before(async () => {
    deployment = await openBothReadings();
  });
  after(() => deployment.close());

  /** Students with the ids 1, 2 and so on, and a teacher with id 0 who owns everything. */
  async function install(students: readonly Student[]): Promise<string> {
    organizations += 1;
    const organization = `school-${organizations}`;
    await deployment.store.createOrganization(organization, { lmsUserProperties: ['sis_id'] });
    await publishRecords(deployment.store, organization, {
      users: [
        { id: 0n, email: 'teacher@x.example' },
        ...students.map(({ cohort }, at) => ({
          ...{ id: BigInt(at + 1), email: `${at + 1}@x.example` },
          lms: { sis_id: `S${at + 1}`, other: 'x', ...(cohort !== undefined && { cohort }) },
        })),
      ],
      boards: BOARDS.map((id) => ({ id: BigInt(id), title: `Board ${id}` })),
      memberships: [{ boardId: 1n, userId: 0n }],
      events: students.flatMap(({ events }, at) =>
        events.map(({ board, day }) => ({
          ...{ ...EVENT, action: day % 3 === 0 ? 'followed' : 'visited' },
          ...{ actorId: BigInt(at + 1), boardId: BigInt(board), timestampMs: START_MS + day * DAY_MS },
        })),
      ),
    });
    return organization;
  }

  async function load<T>(path: string, key: string): Promise<T> {
    const replies = [];
    for (const url of urlsInTurn(deployment, requests++)) replies.push(await get(url + path, key));
    for (const reply of replies) assertSuccess(reply);
    for (const { text } of replies) assert.equal(text, replies[0]!.text);
    return parseExact(replies[0]!.text) as T;
  }

  const splitPath = (more: Record<string, string> = {}) =>
    `/insights/v1/activity?${new URLSearchParams({ interval: 'month', by: 'lms', property: 'cohort', ...more })}`;

  it('agrees with a plain count, for every scope, filter and redaction, as JSON and as CSV', async () => {
    const property = fc.asyncProperty(
      fc.array(studentArbitrary, { minLength: 60, maxLength: 60 }),
      fc.array(scopeArbitrary, { minLength: 3, maxLength: 3 }),
      fc.array(askedArbitrary, { minLength: 3, maxLength: 3 }),
      redactionArbitrary,
      async (students, scopes, questions, redact) => {
        const organization = await install(students);
        for (const scope of scopes) await checkScope(organization, students, { scope, redact, questions });
      },
    );
    await fc.assert(property, runs(4));
  });

  async function checkScope(
    organization: string,
    students: readonly Student[],
    {
      scope,
      redact,
      questions,
    }: { readonly scope: Scope; readonly redact: Redaction; readonly questions: readonly Question[] },
  ): Promise<void> {
    const make = (redacted: Redaction) =>
      deployment.makeKey(organization, { scope, redact: redacted, lmsSplits: ['cohort'] });
    const [key, redacting] = [await make(NO_REDACTION), await make(redact)];
    const visible = actsOf(await load<readonly Exported[]>('/b/v1/events', key), students);
    for (const { board, action, startMs, interval } of questions) {
      const filter = Object.entries({ board, action, start: startMs, interval })
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => [name, String(value)]);
      if (board !== undefined && scope.boards !== 'all' && !scope.boards.includes(BigInt(board))) {
        const reply = await get(deployment.url + splitPath(Object.fromEntries(filter)), key);
        assertProblem(reply, 404, 'not-found');
        continue;
      }
      const acts = visible.filter(
        ({ event }) =>
          (board === undefined || event.board.id === String(board)) &&
          (action === undefined || event.action === action) &&
          (startMs === undefined || Date.parse(event.timestamp) >= startMs),
      );
      const responses = [];
      for (const top of TOPS) {
        const path = splitPath({ ...Object.fromEntries(filter), top: String(top) });
        const { by, periods, series } = await load<Activity>(path, key);
        assert.equal(by, 'lms');
        assert.deepEqual(series, seriesOf(visible, acts, periods, top), path);
        assert.deepEqual((await load<Activity>(path, redacting)).series, series);
        await checkCsv(`${path}&format=csv`, redacting, { periods, series });
        responses.push({ periods, series });
      }
      assertCover(acts, responses);
    }
  }

  async function checkCsv(path: string, key: string, { periods, series }: Omit<Activity, 'by'>) {
    const csv = await get(deployment.url + path, key);
    assertSuccess(csv, 'text/csv');
    const rows: Record<string, string>[] = parse(csv.text, { columns: true });
    assert.deepEqual(
      rows.map(({ period, label, events }) => [period, label, events]),
      periods.flatMap((period, at) =>
        series.map(({ label, events }) => [period, label ?? '', String(events[at])]),
      ),
    );
  }

  it('shows a value from ten visible users on, and never those by which users are looked up', async () => {
    const student = (cohort?: string): Student => ({ cohort, events: [{ board: 1, day: 1 }] });
    const of = (count: number, cohort?: string) => Array.from({ length: count }, () => student(cohort));
    const organization = await install([...of(9, 'nine'), ...of(10, 'ten'), ...of(12, 'twelve'), ...of(3)]);
    const labels = async (key: string, property = 'cohort') =>
      (await load<Activity>(splitPath({ property }), key)).series.map(({ label, events }) => [
        label,
        events.reduce((sum, count) => sum + count, 0),
      ]);
    const lmsSplits = ['cohort', 'sis_id', 'other', 'missing'];
    const full = await deployment.makeKey(organization, { lmsSplits });
    assert.deepEqual(await labels(full), [
      ['twelve', 12],
      ['ten', 10],
      [null, 12],
    ]);
    // Eleven of "twelve", nine of "ten".
    const users = Array.from({ length: 35 }, (_, id) => BigInt(id)).filter((id) => id !== 10n && id !== 20n);
    const scoped = await deployment.makeKey(organization, {
      scope: { boards: 'all', users },
      lmsSplits,
    });
    assert.deepEqual(await labels(scoped), [
      ['twelve', 11],
      [null, 21],
    ]);
    assert.deepEqual(await labels(full, 'sis_id'), [[null, 34]]);
    assert.deepEqual(await labels(full, 'other'), [['x', 34]]);
    assert.deepEqual(await labels(full, 'missing'), [['', 34]]);
  });

  /** Publishes further records, and waits until both servers show them. */
  async function publishAgain(organization: string, records: Records): Promise<void> {
    const key = await deployment.makeKey(organization);
    const versionAt = async (url: string) =>
      (await get(`${url}/b/v1/users`, key)).headers.get('data-version');
    const before = await versionAt(deployment.url);
    await publishRecords(deployment.store, organization, records);
    for (const url of deployment.urls) await until(async () => (await versionAt(url)) !== before);
  }

  /** The shown series: label and counts. */
  async function shown(organization: string, more: Record<string, string> = {}, scope = FULL_SCOPE) {
    const key = await deployment.makeKey(organization, { scope, lmsSplits: ['cohort'] });
    return (await load<Activity>(splitPath(more), key)).series.map(({ label, events }) => [label, events]);
  }

  const group = (count: number, cohort: string | undefined, ...days: readonly number[]): Student[] =>
    Array.from({ length: count }, () => ({ cohort, events: days.map((day) => ({ board: 1, day })) }));

  it('shows no number about fewer than ten users, nor leaves out so few that others show theirs', async () => {
    // The days are in January and February. Nine of B and one without a value act in the latter.
    const organization = await install([
      ...group(12, 'A', 0, 20),
      ...group(9, 'B', 0, 20),
      ...group(3, 'B', 0),
      ...group(11, undefined, 0),
      ...group(1, undefined, 20),
    ]);
    assert.deepEqual(await shown(organization), [
      ['', [11, 0]],
      ['A', [12, 12]],
      ['B', [12, 0]],
      [null, [0, 10]],
    ]);
    // Of the users of a single board or action, or the user, too few act.
    assert.deepEqual(await shown(organization, { user: '1' }), [[null, [1, 1]]]);
    // Nine of B alone would be the difference to the events of all.
    const withoutLast = { boards: 'all', users: Array.from({ length: 36 }, (_, id) => BigInt(id)) } as const;
    assert.deepEqual(await shown(organization, { start: `${START_MS + 18 * DAY_MS}` }, withoutLast), [
      [null, [21]],
    ]);
  });

  it('does not show the smallest value either if so few have others that they would be known', async () => {
    // Not even in a period in which these few do not act.
    const organization = await install([...group(15, 'A', 0), ...group(11, 'B', 0), ...group(1, 'rare', 20)]);
    for (const top of ['1', '2', '10']) {
      assert.deepEqual(await shown(organization, { top }), [
        ['A', [15, 0]],
        [null, [11, 1]],
      ]);
    }
  });

  it('counts no users who never act, nor those who are erased', async () => {
    const organization = await install([
      ...group(9, 'A', 0),
      ...group(3, 'A'),
      ...group(10, 'B', 0),
      ...group(20, undefined),
    ]);
    assert.deepEqual(await shown(organization), [[null, [19]]]);
    await publishAgain(organization, {
      users: Array.from({ length: 5 }, (_, at) => ({ id: BigInt(at + 30), lms: { cohort: 'A' } })),
      events: [{ ...EVENT, actorId: 30n }],
    });
    assert.deepEqual(await shown(organization), [
      ['A', [10]],
      ['B', [10]],
    ]);
    await publishAgain(organization, { users: [{ id: 30n, forgotten: true }] });
    assert.deepEqual(await shown(organization), [[null, [19]]]);
  });

  it('is refused without a permission, in the same way for all properties, cached responses included', async () => {
    const organization = await install([{ cohort: 'one', events: [{ board: 1, day: 1 }] }]);
    const allowed = await deployment.makeKey(organization, { lmsSplits: ['cohort'] });
    const url = deployment.url + splitPath();
    const etag = (await get(url, allowed)).headers.get('etag') ?? '';
    assertSuccess(await get(url, allowed));
    assert.equal((await get(url, allowed, { 'if-none-match': etag })).status, 304);
    const problems = [];
    for (const lmsSplits of [undefined, ['campus']]) {
      const refused = await deployment.makeKey(organization, lmsSplits && { lmsSplits });
      for (const property of ['cohort', 'sis_id', 'missing']) {
        for (const headers of [{}, { 'if-none-match': etag }, { 'if-none-match': '*' }]) {
          const reply = await get(deployment.url + splitPath({ property }), refused, headers);
          const { instance, request_id, ...told } = Object.fromEntries(
            assertProblem(reply, 403, 'split-not-allowed'),
          );
          problems.push(told);
        }
      }
    }
    for (const problem of problems) assert.deepEqual(problem, problems[0]);
    const entry = await deployment.keyring.find(allowed);
    await deployment.keyring.configure(entry.id, () => ({ lmsSplits: undefined }));
    const later = await get(url, allowed, { 'if-none-match': etag });
    assertProblem(later, 403, 'split-not-allowed');
  });

  it('is refused to a redacting key with two properties, of which one pseudonym could be the only user', async () => {
    const organization = await install([]);
    const redact = { email: false, name: true, id: false };
    const one = await deployment.makeKey(organization, { redact, lmsSplits: ['cohort'] });
    const two = await deployment.makeKey(organization, { redact, lmsSplits: ['cohort', 'campus'] });
    assertSuccess(await get(deployment.url + splitPath(), one));
    for (const property of ['cohort', 'campus']) {
      const reply = await get(deployment.url + splitPath({ property }), two);
      assertProblem(reply, 403, 'split-not-allowed');
    }
  });

  it('requires the name of a property, which no other split accepts', async () => {
    const key = await deployment.makeKey(await install([]), { lmsSplits: ['cohort'] });
    for (const query of ['by=lms', 'property=cohort', 'by=role&property=cohort', 'by=lms&property=']) {
      const reply = await get(`${deployment.url}/insights/v1/activity?${query}`, key);
      assertProblem(reply, 400, 'parameter-malformed');
    }
  });
});

/** An event with the value of its actor, which is empty for none. */
interface Act {
  readonly event: Exported;
  readonly value: string;
}

function actsOf(events: readonly Exported[], students: readonly Student[]): readonly Act[] {
  return events.map((event) => ({ event, value: students[Number(event.actor.id) - 1]?.cohort ?? '' }));
}

function actorsOf(acts: readonly Act[]): number {
  return new Set(acts.map(({ event }) => event.actor.id)).size;
}

function inPeriod(acts: readonly Act[], periods: readonly string[], period: number): readonly Act[] {
  const places = placesOf(
    periods,
    acts.map(({ event }) => event),
  );
  return acts.filter((_, row) => places[row] === period);
}

/** Values with a series, of all events that the key can see: those of most users first. */
function commonValues(visible: readonly Act[]): readonly string[] {
  const usersOf = (value: string) => actorsOf(visible.filter((act) => act.value === value));
  const common = [...new Set(visible.map(({ value }) => value))]
    .filter((value) => usersOf(value) >= FEWEST)
    .sort((one, other) => usersOf(other) - usersOf(one) || (one < other ? -1 : 1));
  const others = actorsOf(visible.filter(({ value }) => !common.includes(value)));
  return others > 0 && others < FEWEST ? common.slice(0, -1) : common;
}

/** The series that the key gets; `acts` are the events that the request selects. */
function seriesOf(
  visible: readonly Act[],
  acts: readonly Act[],
  periods: readonly string[],
  top: number,
): readonly Series[] {
  const named = commonValues(visible).slice(0, top);
  const shownIn = periods.map((_, period) => {
    const inside = inPeriod(acts, periods, period);
    const actors = (value: string) => actorsOf(inside.filter((act) => act.value === value));
    let shown = named.filter((value) => actors(value) >= FEWEST);
    const others = actorsOf(inside.filter(({ value }) => !shown.includes(value)));
    if (others > 0 && others < FEWEST) shown = shown.slice(0, -1);
    const count = (label: string | null) =>
      inside.filter(({ value }) => (shown.includes(value) ? value : null) === label).length;
    return new Map([...named, null].map((label) => [label, count(label)]));
  });
  return [...named, null]
    .map((label) => ({ label, board: null, events: shownIn.map((counts) => counts.get(label) ?? 0) }))
    .filter(({ events }) => events.some((count) => count > 0));
}

/**
 * In each period, an actor who is in no series of any of the responses is one of at least ten,
 * unless none shows a value: then they say no more than the number of all events.
 */
function assertCover(acts: readonly Act[], responses: readonly Omit<Activity, 'by'>[]): void {
  const periods = responses[0]?.periods ?? [];
  for (const [period] of periods.entries()) {
    const inside = inPeriod(acts, periods, period);
    const shown = new Set(
      responses.flatMap(({ series }) =>
        series.flatMap(({ label, events }) => (events[period] ? [label] : [])),
      ),
    );
    for (const label of shown) {
      if (label === null) continue;
      const own = inside.filter(({ value }) => value === label);
      assert.ok(actorsOf(own) >= FEWEST, `${label} has ${actorsOf(own)}`);
    }
    const hidden = actorsOf(inside.filter(({ value }) => !shown.has(value)));
    const isCovered = hidden === 0 || hidden >= FEWEST || [...shown].every((label) => label === null);
    assert.ok(isCovered, `${hidden} share no series`);
  }
}
