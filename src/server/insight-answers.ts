/** The answers of the insights: figures of `src/insights`, in the words of the interface. */
import { formatInstant } from '../dataset/instant.ts';
import { countActivity, countHoursOfWeek, countReturning } from '../insights/activity.ts';
import { groupsOf, noGroups } from '../insights/groups.ts';
import { countInteractions } from '../insights/interactions.ts';
import { summarize } from '../insights/overview.ts';
import { measureParticipation } from '../insights/participation.ts';
import { Periods } from '../insights/periods.ts';
import { rankPins } from '../insights/pins.ts';
import { rank } from '../insights/ranking.ts';
import { type Asked, queryOf } from '../insights/scan.ts';
import { explainLedger } from '../points/explanation.ts';
import { policyOf, readPolicy } from '../points/policy.ts';
import type { Answer } from '../render/answer.ts';
import { type AnyAnswer, type Ask, eventsAsked, eventsOf } from './route.ts';
import { findNamed } from './subject.ts';

const DEFAULT_SERIES = 10;
const DEFAULT_RANKED = 50;
const DEFAULT_EDGES = 200;
const HOURS_OF_DAY = 24;

export async function answerOverview(ask: Ask): Promise<Answer> {
  const asked = await eventsCounted(ask);
  const { firstMs, lastMs, ...figures } = await summarize(ask.dataset, asked);
  const { id, title: name, domain, categoryId } = ask.dataset.organization;
  const describe = await ask.rendering.described();
  return jsonAnswer({
    organization: { id, name, domain, category_id: categoryId },
    board: asked.board === undefined ? null : describe.board(asked.board),
    user: asked.user === undefined ? null : describe.user(asked.user),
    ...{ ...figures, first: instantOrNull(firstMs), last: instantOrNull(lastMs) },
  });
}

/** As the routes of events in variant A give them. */
export async function answerEvents(ask: Ask): Promise<AnyAnswer> {
  const query = queryOf(ask.dataset, await eventsCounted(ask));
  return await eventsOf(ask, { ...query, ...eventsAsked(ask) });
}

export async function answerActivity(ask: Ask): Promise<Answer> {
  const { dataset, parameters } = ask;
  const { by, top = DEFAULT_SERIES } = parameters;
  const asked = await eventsCounted(ask);
  const groups = by === undefined ? noGroups(dataset) : await groupsOf(dataset, by, asked, top);
  const { people, events, ...periods } = await countActivity(dataset, asked, periodsAsked(ask), groups);
  const describe = await ask.rendering.described();
  const series = groups.names.map((name, place) => ({
    label: typeof name === 'string' ? name : null,
    board: typeof name === 'number' ? describe.board(name) : null,
    events: events[place],
  }));
  // The boards that have no series of their own share one, unless there are none.
  const shown = by === undefined ? series : rankSeries(series.filter(({ events = [] }) => sum(events) > 0));
  return jsonAnswer({ ...described(ask, periods), by: by ?? null, people, series: shown });
}

interface Series {
  readonly label: string | null;
  readonly events: readonly number[] | undefined;
}

/** Words with the most events first, so that the order does not tell in which they were imported; boards are so already. */
function rankSeries<S extends Series>(series: readonly S[]): readonly S[] {
  if (series.some(({ label }) => label === null)) return series;
  return series.toSorted(
    (one, other) =>
      sum(other.events ?? []) - sum(one.events ?? []) || ((one.label ?? '') < (other.label ?? '') ? -1 : 1),
  );
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

export async function answerReturning(ask: Ask): Promise<Answer> {
  const asked = await eventsCounted(ask);
  const { newcomers, returning, ...periods } = await countReturning(ask.dataset, asked, periodsAsked(ask));
  return jsonAnswer({ ...described(ask, periods), newcomers, returning });
}

export async function answerHeatMap(ask: Ask): Promise<Answer> {
  const { zone = 'UTC' } = ask.parameters;
  const counts = await countHoursOfWeek(ask.dataset, await eventsCounted(ask), zone);
  const hours = Array.from({ length: 7 }, (_, day) =>
    Array.from(counts.subarray(day * HOURS_OF_DAY, (day + 1) * HOURS_OF_DAY)),
  );
  return jsonAnswer({ zone, hours });
}

export async function answerBoards(ask: Ask): Promise<Answer> {
  const { order = 'events', top: most = DEFAULT_RANKED } = ask.parameters;
  const ranked = await rank(ask.dataset, await eventsCounted(ask), 'board', { order, most });
  const { board } = await ask.rendering.described();
  return jsonAnswer(
    ranked.map(({ index, events, others, lastMs }) => ({
      ...{ board: board(index), events, people: others, last: formatInstant(lastMs) },
    })),
  );
}

export async function answerUsers(ask: Ask): Promise<Answer> {
  const { order = 'events', top: most = DEFAULT_RANKED } = ask.parameters;
  const ranked = await rank(ask.dataset, await eventsCounted(ask), 'actor', { order, most });
  const { user } = await ask.rendering.described();
  return jsonAnswer(
    ranked.map(({ index, events, others, lastMs }) => ({
      ...{ user: user(index), events, boards: others, last: formatInstant(lastMs) },
    })),
  );
}

export async function answerPins(ask: Ask, board: number): Promise<Answer> {
  const { top: most = DEFAULT_RANKED } = ask.parameters;
  const { top, pins } = await rankPins(ask.dataset, { ...(await eventsCounted(ask)), board }, most);
  const describe = await ask.rendering.described();
  const describePin = await ask.rendering.describedPins();
  return jsonAnswer({
    board: describe.board(board),
    pins,
    ranked: top.map(({ pin, owner, firstMs, lastMs, ...figures }) => ({
      ...{ pin: describePin(pin), owner: describe.user(owner), ...figures },
      ...{ first: formatInstant(firstMs), last: formatInstant(lastMs) },
    })),
  });
}

export async function answerParticipation(ask: Ask, board: number): Promise<Answer> {
  const { dataset, scope, parameters } = ask;
  const describe = await ask.rendering.described();
  const policy = policyOf(readPolicy(dataset.policy), describe.board(board).id);
  const { lastMs } = await summarize(dataset, { scope, range: {}, board });
  const atMs = parameters.at ?? lastMs;
  const { top: most = DEFAULT_RANKED } = parameters;
  const { atRisk, ...figures } = await measureParticipation(dataset, scope, board, policy, { atMs, most });
  return jsonAnswer({
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

export async function answerInteractions(ask: Ask, board: number): Promise<Answer> {
  const { top = DEFAULT_EDGES } = ask.parameters;
  const asked = { ...(await eventsCounted(ask)), board };
  const { edges, pairs, events, own } = await countInteractions(ask.dataset, asked, top);
  const describe = await ask.rendering.described();
  const people = new Set(edges.flatMap(({ actor, owner }) => [actor, owner]));
  return jsonAnswer({
    board: describe.board(board),
    people: [...people].map((person) => describe.user(person)),
    edges: edges.map(({ actor, owner, events: count }) => ({
      actor: describe.user(actor).id,
      owner: describe.user(owner).id,
      events: count,
    })),
    pairs,
    events,
    own_events: own,
  });
}

/** The lines of `corkboard points explain`, as far as the scope sees (decision 50). */
export async function answerLedger(ask: Ask, board: number, user: number): Promise<Answer> {
  const { dataset, scope } = ask;
  const describe = await ask.rendering.described();
  const ledger = await dataset.ledger({ scope, board, user });
  const policy = policyOf(readPolicy(dataset.policy), describe.board(board).id);
  const { lines, imported, standing, ...sums } = explainLedger(ledger, policy);
  return jsonAnswer({
    board: describe.board(board),
    user: describe.user(user),
    lines: lines.map(({ runningTotal, ...line }) => ({ ...line, running_total: runningTotal })),
    counted_points: sums.countedPoints,
    adjusted_points: sums.adjustedPoints,
    imported: imported === undefined ? null : inWords(imported),
    standing: standing === undefined ? null : inWords(standing),
    summary: sums.summary,
  });
}

/** Throws `not-found` for a board or a user that the key may not see. */
async function eventsCounted(ask: Ask): Promise<Asked> {
  const { start, end, action } = ask.parameters;
  return { scope: ask.scope, range: { startMs: start, endMs: end }, ...(await findNamed(ask)), action };
}

function periodsAsked({ parameters: { interval = 'day', zone = 'UTC' } }: Ask): Periods {
  return new Periods(interval, zone);
}

function described({ parameters }: Ask, { startsMs, endMs }: { startsMs: readonly number[]; endMs: number }) {
  const { interval = 'day', zone = 'UTC' } = parameters;
  const end = startsMs.length === 0 ? null : formatInstant(endMs);
  return { interval, zone, periods: startsMs.map(formatInstant), end };
}

function inWords(figures: { readonly totalPoints: number; readonly participationScore: number }) {
  return { total_points: figures.totalPoints, participation_score: figures.participationScore };
}

function instantOrNull(ms: number | undefined): string | null {
  return ms === undefined ? null : formatInstant(ms);
}

/** With all digits of large ids. */
function jsonAnswer(value: unknown): Answer {
  const exact = (_: string, member: unknown) =>
    typeof member === 'bigint' ? JSON.rawJSON(String(member)) : member;
  const bytes = Buffer.from(JSON.stringify(value, exact));
  return { byteLength: bytes.length, next: undefined, chunks: () => [bytes] };
}
