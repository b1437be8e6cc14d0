/**
 * Totals of a key and a range, read in each way in which people read them, as numbers by text:
 * `day 2018-03-12 created`, `board 53` and `user 7` count events; `points 53 7` and `score 53 7`
 * are what a user has on a board.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import type { ClientA, InsightsClient } from '../../src/client/client.ts';
import { all } from '../client/odd-server.ts';
import { assertSuccess, get } from '../model/client.ts';
import type { DatabasePlace } from '../sync/copies.ts';

export type Totals = ReadonlyMap<string, number>;

/** Bounds of days in UTC, so that the view of days can be used. */
export interface Range {
  readonly start?: string;
  readonly end?: string;
}

export interface View {
  readonly name: string;
  readonly key: string;
  /** The boards that the key can see; absent: all. */
  readonly boards?: readonly string[];
  readonly range: Range;
}

type Kind = 'day' | 'board' | 'user' | 'points' | 'score';
export const EVENT_TOTALS: readonly Kind[] = ['day', 'board', 'user'];
export const ALL_TOTALS: readonly Kind[] = [...EVENT_TOTALS, 'points', 'score'];
export const INTERVAL = { interval: 'day', by: 'action' } as const;
/** The most elements of a ranking. No board has as many users. */
const TOP = 1_000;

/** Those of some kinds. */
export function only(totals: Totals, kinds: readonly string[]): Totals {
  return new Map([...totals].filter(([name]) => kinds.includes(name.slice(0, name.indexOf(' ')))));
}

/** The first differences, as texts; empty if both are the same. */
export function differences(found: Totals, expected: Totals): readonly string[] {
  const names = new Set([...expected.keys(), ...found.keys()]);
  const different = [...names].filter((name) => found.get(name) !== expected.get(name));
  return different.slice(0, 5).map((name) => `${name}: ${found.get(name)} instead of ${expected.get(name)}`);
}

class Sums extends Map<string, number> {
  add(name: string, value: unknown): this {
    // `Number` of an absent value would be 0.
    const number = value === null || value === '' ? Number.NaN : Number(value);
    if (!Number.isFinite(number)) throw new Error(`${name} is ${value}`);
    return this.set(name, (this.get(name) ?? 0) + number);
  }

  /** An activity lists days without events, too. */
  addDay(day: string, action: unknown, events: unknown): void {
    if (Number(events) !== 0) this.add(`day ${day.slice(0, 10)} ${action}`, events);
  }

  addPoints(row: Readonly<Record<string, unknown>>): void {
    const names = `${row['board_id']} ${row['user_id']}`;
    this.add(`points ${names}`, row['total_points']);
    this.add(`score ${names}`, row['participation_score']);
  }
}

const DEMO = join(import.meta.dirname, '../../demo/events.csv.gz');

/** Events of the demo as its file has them. */
export function totalsOfFile({ boards, range }: View): Totals {
  const sums = new Sums();
  const [startMs, endMs] = [Date.parse(range.start ?? '0001-01-01'), Date.parse(range.end ?? '9999-12-31')];
  const rows: readonly Record<string, string>[] = parse(gunzipSync(readFileSync(DEMO)), { columns: true });
  for (const { timestamp = '', action, board_id = '', actor_id } of rows) {
    const isWithin = Date.parse(timestamp) >= startMs && Date.parse(timestamp) < endMs;
    if (!isWithin || !(boards?.includes(board_id) ?? true)) continue;
    sums.addDay(timestamp, action, 1);
    sums.add(`board ${board_id}`, 1).add(`user ${actor_id}`, 1);
  }
  return sums;
}

type Row = Readonly<Record<string, unknown>>;
// biome-ignore lint/suspicious/noExplicitAny: what comes out is what the tests are about
type Parsed = any;

async function read(url: string, { key, range }: View, path: string, query: object = {}): Promise<string> {
  const words = new URLSearchParams({ ...range, ...query });
  const reply = await get(`${url}${path}?${words}`, key);
  assertSuccess(reply, reply.headers.get('content-type')?.split(';')[0]);
  return reply.text;
}

/** The maps of the points routes, of each board of the list of boards. */
export async function totalsOfPointsMaps(url: string, view: View): Promise<Totals> {
  const sums = new Sums();
  const boards = JSON.parse(await read(url, { ...view, range: {} }, '/a/v1/boards'));
  for (const { id } of boards) {
    const records: Row[] = Object.values(JSON.parse(await read(url, view, `/a/v1/board/${id}/points`)));
    for (const record of records) sums.addPoints(record);
  }
  return sums;
}

export async function totalsOfJson(url: string, view: View): Promise<Totals> {
  const json = async (name: string, query?: object) =>
    JSON.parse(await read(url, view, `/insights/v1/${name}`, query));
  return await totalsOfInsights({
    activity: () => json('activity', INTERVAL),
    boards: () => json('boards', { top: TOP }),
    users: (board) => json('users', { board, top: TOP }),
    points: () => json('points'),
  });
}

/** The insights of the client for programs and the console. */
export async function totalsOfClient(
  client: { readonly insights: InsightsClient; readonly a: ClientA },
  { range }: View,
): Promise<Totals> {
  const { insights, a } = client;
  const totals = await totalsOfInsights({
    activity: () => insights.activity({ ...range, ...INTERVAL }),
    boards: () => insights.rankBoards({ ...range, top: TOP }),
    users: (board) => insights.rankUsers({ ...range, board, top: TOP }),
    points: () => all(insights.points(range)),
  });
  const sums = new Sums(only(totals, EVENT_TOTALS));
  for await (const { id } of a.boards({ pageSize: 10 })) {
    for (const record of Object.values(await a.pointsOfBoard(id, range))) sums.addPoints({ ...record });
  }
  // The same records, by user.
  const users = [...sums.keys()].filter((name) => name.startsWith('user ')).slice(0, 20);
  for (const user of users) {
    for (const { board_id, user_id, total_points } of Object.values(
      await a.pointsOfUser(user.slice(5), { ...range, key: 'board' }),
    )) {
      const name = `points ${board_id} ${user_id}`;
      if (sums.get(name) !== total_points) sums.set(name, Number.NaN);
    }
  }
  return sums;
}

interface InsightReads {
  activity(): Promise<Parsed>;
  boards(): Promise<Parsed>;
  users(board: string): Promise<Parsed>;
  points(): Promise<Parsed>;
}

async function totalsOfInsights({ activity, boards, users, points }: InsightReads): Promise<Totals> {
  const sums = new Sums();
  const { periods, series } = await activity();
  for (const { label, events } of series) {
    for (const [at, period] of periods.entries()) sums.addDay(period, label, events[at]);
  }
  for (const { board, events } of await boards()) {
    sums.add(`board ${board.id}`, events);
    for (const one of await users(board.id)) sums.add(`user ${one.user.id}`, one.events);
  }
  for (const row of await points()) sums.addPoints(row);
  return sums;
}

export async function totalsOfCsv(url: string, view: View): Promise<Totals> {
  const rows = async (name: string, query: object = {}): Promise<readonly Record<string, string>[]> =>
    parse(await read(url, view, `/insights/v1/${name}`, { ...query, format: 'csv' }), { columns: true });
  const sums = new Sums();
  for (const { period = '', label, events } of await rows('activity', INTERVAL)) {
    sums.addDay(period, label, events);
  }
  for (const { board_id: board, events } of await rows('boards', { top: TOP })) {
    sums.add(`board ${board}`, events);
    for (const one of await rows('users', { board, top: TOP }))
      sums.add(`user ${one['user_id']}`, one['events']);
  }
  for (const row of await rows('points')) sums.addPoints(row);
  return sums;
}

/** Queries on the views of a copy; users are in its events only. */
export async function totalsOfCopy(place: DatabasePlace, { range }: View): Promise<Totals> {
  const { start = '0001-01-01', end = '9999-12-31' } = range;
  const days = `day >= '${start.slice(0, 10)}' AND day < '${end.slice(0, 10)}'`;
  const instants = [start, end].map((bound) => `'${bound.slice(0, 10)}T00:00:00.000+00:00'`);
  const sums = new Sums();
  for (const { day, action, events } of await place.query(
    `SELECT day, action, sum(events) AS events FROM activity_daily WHERE ${days} GROUP BY day, action`,
  )) {
    sums.addDay(String(day), action, events);
  }
  for (const { board_id, events } of await place.query(
    `SELECT board_id, sum(events) AS events FROM activity_daily WHERE ${days} GROUP BY board_id`,
  )) {
    sums.add(`board ${board_id}`, events);
  }
  for (const { actor_id, events } of await place.query(
    `SELECT actor_id, count(*) AS events FROM events
     WHERE "timestamp" >= ${instants[0]} AND "timestamp" < ${instants[1]} GROUP BY actor_id`,
  )) {
    sums.add(`user ${actor_id}`, events);
  }
  return sums;
}
