/** The responses of the insights: results of `src/insights`, with the field names of the API. */
import { AppError } from '../../domain/app-error.ts';
import { EARLIEST_INSTANT_MS, formatInstant, LATEST_INSTANT_MS } from '../../domain/instant.ts';
import { type Activity, countActivity, countReturning } from '../../insights/activity.ts';
import { findAttention } from '../../insights/attention.ts';
import { countThreads } from '../../insights/count-threads.ts';
import { type Groups, groupsOf, noGroups } from '../../insights/groups.ts';
import { countHoursOfWeek } from '../../insights/heat-map.ts';
import { countInteractions } from '../../insights/interactions.ts';
import { lmsGroupsOf } from '../../insights/lms-groups.ts';
import { summarize } from '../../insights/overview.ts';
import { measureParticipation } from '../../insights/participation.ts';
import { Periods } from '../../insights/periods.ts';
import { rankPins } from '../../insights/pins.ts';
import { rank } from '../../insights/ranking.ts';
import { type Asked, queryOf } from '../../insights/scan.ts';
import { explainLines, sumLedger } from '../../points/explanation.ts';
import { policyOf, readPolicy } from '../../points/policy.ts';
import { jsonAnswer } from '../../render/text/json-body.ts';
import type { RenderedBody } from '../../render/text/rendered-body.ts';
import { isText } from '../../render/text/representations.ts';
import { knownZone, zoneData } from '../../system/zones.ts';
import { findNamed } from '../request/path-resource.ts';
import { type AnyAnswer, type Ask, eventsAsked, eventsOf } from '../request/route.ts';
import { answerTable, INSIGHT_TABLES } from './insight-tables.ts';

const DEFAULT_SERIES = 10;
const DEFAULT_RANKED = 50;
const DEFAULT_EDGES = 200;
const DEFAULT_DAYS = 14;
const HOURS_OF_DAY = 24;
/** Activity as CSV; it is in memory while it is sent. */
const MOST_ACTIVITY_BYTES = 128 * 1024 * 1024;

export async function answerOverview(ask: Ask): Promise<RenderedBody> {
  const asked = await eventsCounted(ask);
  const figures = await overviewFigures(ask, asked);
  const previous = await previousFigures(ask, asked);
  const describe = await ask.rendering.described();
  return await jsonAnswer({
    organization: describe.organization,
    board: asked.board === undefined ? null : describe.board(asked.board),
    user: asked.user === undefined ? null : describe.user(asked.user),
    ...{ ...figures, previous },
  });
}

async function overviewFigures({ dataset }: Ask, asked: Asked) {
  const { firstMs, lastMs, ...figures } = await summarize(dataset, asked);
  return { ...figures, first: instantOrNull(firstMs), last: instantOrNull(lastMs) };
}

/** Those of the range of the same length that ends where the range starts (decision 102). */
async function previousFigures(ask: Ask, asked: Asked) {
  const { start, end, compare } = ask.parameters;
  if (compare === undefined || start === undefined || end === undefined) return undefined;
  const range = { startMs: start - (end - start), endMs: start };
  const figures = await overviewFigures(ask, { ...asked, range });
  return { start: formatBound(range.startMs), end: formatBound(range.endMs), ...figures };
}

/** The same form as the events routes of variant A. */
export async function answerEvents(ask: Ask): Promise<AnyAnswer> {
  const query = queryOf(ask.dataset, await eventsCounted(ask));
  return await eventsOf(ask, { ...query, ...eventsAsked(ask) });
}

/** The points totals of the points routes, a row each (decision 93). */
export async function answerPoints(ask: Ask): Promise<AnyAnswer> {
  const { rendering, scope, parameters, place, representation, admit } = ask;
  const { start, end, limit } = parameters;
  const after = place !== undefined && 'afterPoints' in place ? place.afterPoints : undefined;
  const range = { startMs: start, endMs: end };
  const query = { scope, range, ...(await findNamed(ask)), after, limit };
  return isText(representation)
    ? await rendering.points(query, representation, admit)
    : await rendering.tables.points(query);
}

export async function answerActivity(ask: Ask): Promise<RenderedBody> {
  const { dataset, parameters } = ask;
  const { by } = parameters;
  const asked = await eventsCounted(ask);
  const groups = await groupsAsked(ask, asked);
  const activity = await countActivity(dataset, asked, periodsAsked(ask), groups);
  const describe = await ask.rendering.described();
  // Boards and values without a series of their own share one, unless there are none.
  const shown = by === undefined ? [0] : rankSeries(groups, activity);
  const series = shown.map((place) => {
    const name = groups.names[place];
    return {
      label: typeof name === 'string' ? name : null,
      board: typeof name === 'number' ? describe.board(name) : null,
      events: activity.events[place] ?? new Int32Array(activity.startsMs.length),
    };
  });
  return await answerTable(ask, INSIGHT_TABLES.activity, {
    rows: () => activityRows(activity, series),
    checkBytes: refuseLong,
    whole: () => ({ ...described(ask, activity), by: by ?? null, people: activity.people, series }),
  });
}

async function groupsAsked({ dataset, parameters, split }: Ask, asked: Asked): Promise<Groups> {
  const { by, top = DEFAULT_SERIES } = parameters;
  if (by === undefined) return noGroups(dataset);
  if (by !== 'lms') return await groupsOf(dataset, by, asked, top);
  if (split === undefined) throw new Error('a split by an LMS property without permission');
  return await lmsGroupsOf(dataset, split, asked, top);
}

/** The name of a series is in each of its rows, so 500,000 rows can be of any size. */
function refuseLong(byteLength: number): void {
  if (byteLength <= MOST_ACTIVITY_BYTES) return;
  throw new AppError(
    'range-too-fine',
    'The names of the series are so long that the rows would have more than 128 MiB. ' +
      'Ask for a shorter range, for a longer interval, or for fewer series with "top". JSON has each name once.',
  );
}

interface NamedSeries {
  readonly label: string | null;
  readonly board: object | null;
  readonly events: Int32Array;
}

function* activityRows(
  { startsMs, people }: Activity,
  series: readonly NamedSeries[],
): Generator<object, void> {
  for (const [at, startMs] of startsMs.entries()) {
    const period = formatBound(startMs);
    for (const { label, board, events } of series) {
      yield { period, people: people[at], label, board, events: events[at] };
    }
  }
}

/**
 * Indexes of the groups that have events, most events first, so that the order does not reveal the
 * order in which words were imported. Groups with one for all others keep their own order.
 */
function rankSeries({ names }: Groups, { totals }: Activity): readonly number[] {
  const places = [...names.keys()].filter((place) => totals[place]! > 0);
  if (names.at(-1) === undefined) return places;
  return places.sort(
    (one, other) => totals[other]! - totals[one]! || ((names[one] ?? '') < (names[other] ?? '') ? -1 : 1),
  );
}

export async function answerReturning(ask: Ask): Promise<RenderedBody> {
  const asked = await eventsCounted(ask);
  const { newcomers, returning, ...periods } = await countReturning(ask.dataset, asked, periodsAsked(ask));
  return await answerTable(ask, INSIGHT_TABLES.returning, {
    *rows() {
      for (const [at, startMs] of periods.startsMs.entries()) {
        yield { period: formatBound(startMs), newcomers: newcomers[at], returning: returning[at] };
      }
    },
    whole: () => ({ ...described(ask, periods), newcomers, returning }),
  });
}

export async function answerHeatMap(ask: Ask): Promise<RenderedBody> {
  const { zone = 'UTC' } = ask.parameters;
  const counts = await countHoursOfWeek(ask.dataset, await eventsCounted(ask), zone);
  const hours = Array.from({ length: 7 }, (_, day) =>
    Array.from(counts.subarray(day * HOURS_OF_DAY, (day + 1) * HOURS_OF_DAY)),
  );
  return await answerTable(ask, INSIGHT_TABLES.heatMap, {
    rows: () => hours.flatMap((day, at) => day.map((events, hour) => ({ day: at + 1, hour, events }))),
    whole: () => ({ zone, zoneData: zoneData(), hours }),
  });
}

export async function answerZone({ parameters: { zone = 'UTC' } }: Ask): Promise<RenderedBody> {
  const offsets = knownZone(zone).offsetsBetween(Date.UTC(1970), Date.UTC(2100));
  return await jsonAnswer({
    ...{ zone, zoneData: zoneData() },
    offsets: offsets.map(([fromMs, offsetMs], at) => ({
      start: at === 0 ? null : formatInstant(fromMs),
      seconds: offsetMs / 1000,
    })),
  });
}

/** Boards, or users by their actions; each with the number of different users, or boards. */
export async function answerRanked(ask: Ask, by: 'board' | 'actor'): Promise<RenderedBody> {
  const { order = 'events', top: most = DEFAULT_RANKED } = ask.parameters;
  const ranked = await rank(ask.dataset, await eventsCounted(ask), by, { order, most });
  const { board, user } = await ask.rendering.described();
  const rows = () =>
    ranked.map(({ index, events, others, lastMs }) => ({
      ...(by === 'board' ? { board: board(index) } : { user: user(index) }),
      events,
      [by === 'board' ? 'people' : 'boards']: others,
      last: formatInstant(lastMs),
    }));
  return await answerTable(ask, INSIGHT_TABLES[by === 'board' ? 'boards' : 'users'], { rows, whole: rows });
}

export async function answerPins(ask: Ask, board: number): Promise<RenderedBody> {
  const { top: most = DEFAULT_RANKED } = ask.parameters;
  const { top, pins } = await rankPins(ask.dataset, { ...(await eventsCounted(ask)), board }, most);
  const describe = await ask.rendering.described();
  const describePin = await ask.rendering.describedPins();
  const rows = () =>
    top.map(({ pin, owner, firstMs, lastMs, ...figures }) => ({
      ...{ pin: describePin(pin), owner: describe.user(owner), ...figures },
      ...{ first: formatInstant(firstMs), last: formatInstant(lastMs) },
    }));
  const whole = () => ({ board: describe.board(board), pins, ranked: rows() });
  return await answerTable(ask, INSIGHT_TABLES.pins, { rows, whole });
}

export async function answerParticipation(ask: Ask, board: number): Promise<RenderedBody> {
  const { dataset, scope, parameters } = ask;
  const describe = await ask.rendering.described();
  const policy = policyOf(readPolicy(dataset.policy), describe.board(board).id);
  const atMs = await instantAsked(ask, board);
  const { top: most = DEFAULT_RANKED } = parameters;
  const { atRisk, ...figures } = await measureParticipation(dataset, scope, board, policy, { atMs, most });
  return await jsonAnswer({
    board: describe.board(board),
    goal: figures.goal,
    window_start: instantOrNull(figures.windowStartMs),
    window_end: instantOrNull(figures.windowEndMs),
    at: instantOrNull(atMs),
    people: figures.people,
    reached: figures.reached,
    under_way: figures.underWay,
    not_started: figures.notStarted,
    distribution: figures.distribution,
    median_points: figures.medianPoints,
    elapsed: figures.elapsed ?? null,
    pace_points: figures.pacePoints ?? null,
    at_risk: atRisk.map(({ user, ...points }) => ({ user: describe.user(user), ...inWords(points) })),
    at_risk_people: figures.atRiskCount,
  });
}

export async function answerAttention(ask: Ask, board: number): Promise<RenderedBody> {
  const { dataset, scope, parameters } = ask;
  const { days = DEFAULT_DAYS, top: most = DEFAULT_RANKED } = parameters;
  const atMs = await instantAsked(ask, board);
  const asked = { scope, board, threads: countThreads };
  const found = await findAttention(dataset, asked, { atMs: atMs ?? 0, days, most });
  const describe = await ask.rendering.described();
  const rows = () =>
    found.users.map(({ user, ...one }) => ({
      user: describe.user(user),
      ...{ last: instantOrNull(one.lastMs), inactive_days: one.inactiveDays ?? null },
      ...{ inactive: one.isInactive, behind: one.isBehind, ...inWords(one) },
    }));
  const whole = () => ({
    ...{ board: describe.board(board), at: instantOrNull(atMs), days },
    ...{ people: found.people, median_points: found.medianPoints },
    ...{ inactive_people: found.inactiveCount, behind_people: found.behindCount },
    ...{ attention: rows(), attention_people: found.count },
  });
  return await answerTable(ask, INSIGHT_TABLES.attention, { rows, whole });
}

export async function answerInteractions(ask: Ask, board: number): Promise<RenderedBody> {
  const { top = DEFAULT_EDGES } = ask.parameters;
  const asked = { ...(await eventsCounted(ask)), board };
  const { edges, pairs, events, own } = await countInteractions(ask.dataset, asked, top);
  const describe = await ask.rendering.described();
  const people = new Set(edges.flatMap(({ actor, owner }) => [actor, owner]));
  const rows = () =>
    edges.map(({ actor, owner, events: count }) => ({
      actor: describe.user(actor),
      owner: describe.user(owner),
      events: count,
    }));
  const whole = () => ({
    board: describe.board(board),
    people: [...people].map((person) => describe.user(person)),
    edges: rows().map(({ actor, owner, ...edge }) => ({ actor: actor.id, owner: owner.id, ...edge })),
    pairs,
    events,
    own_events: own,
  });
  return await answerTable(ask, INSIGHT_TABLES.interactions, { rows, whole });
}

/** The lines of `corkboard points explain` that are within the scope (decision 50). */
export async function answerLedger(ask: Ask, board: number, user: number): Promise<RenderedBody> {
  const { dataset, scope } = ask;
  const describe = await ask.rendering.described();
  const ledger = await dataset.ledger({ scope, board, user });
  const policy = policyOf(readPolicy(dataset.policy), describe.board(board).id);
  const { imported, standing, ...sums } = sumLedger(ledger, policy);
  const rows = () => ledgerLines(ledger, policy);
  const whole = () => ({
    board: describe.board(board),
    user: describe.user(user),
    lines: rows(),
    counted_points: sums.countedPoints,
    adjusted_points: sums.adjustedPoints,
    imported: imported === undefined ? null : inWords(imported),
    standing: standing === undefined ? null : inWords(standing),
    summary: sums.summary,
  });
  return await answerTable(ask, INSIGHT_TABLES.ledger, { rows, whole });
}

function* ledgerLines(...explained: Parameters<typeof explainLines>) {
  for (const { runningTotal, ...line } of explainLines(...explained)) {
    yield { ...line, running_total: runningTotal };
  }
}

/** The instant of the request, or else of the last event on the board that the key sees. */
async function instantAsked({ dataset, scope, parameters }: Ask, board: number): Promise<number | undefined> {
  if (parameters.at !== undefined) return parameters.at;
  return (await summarize(dataset, { scope, range: {}, board })).lastMs;
}

/** Throws `not-found` for a board or a user that the key may not see. */
async function eventsCounted(ask: Ask): Promise<Asked> {
  const { start, end, action } = ask.parameters;
  const range = { startMs: start, endMs: end };
  return { scope: ask.scope, range, ...(await findNamed(ask)), action, threads: countThreads };
}

function periodsAsked({ parameters: { interval = 'day', zone = 'UTC' } }: Ask): Periods {
  return new Periods(interval, zone);
}

function described({ parameters }: Ask, { startsMs, endMs }: { startsMs: readonly number[]; endMs: number }) {
  const { interval = 'day', zone = 'UTC' } = parameters;
  const end = startsMs.length === 0 ? null : formatBound(endMs);
  return { interval, zone, zoneData: zoneData(), periods: instants(startsMs), end };
}

function* instants(allMs: readonly number[]): Generator<string> {
  for (const ms of allMs) yield formatBound(ms);
}

/** Periods and ranges may extend beyond the years 1 to 9999, which no instant can say. */
function formatBound(ms: number): string {
  return formatInstant(Math.min(Math.max(ms, EARLIEST_INSTANT_MS), LATEST_INSTANT_MS));
}

function inWords(figures: { readonly totalPoints: number; readonly participationScore: number }) {
  return { total_points: figures.totalPoints, participation_score: figures.participationScore };
}

function instantOrNull(ms: number | undefined): string | null {
  return ms === undefined ? null : formatInstant(ms);
}
