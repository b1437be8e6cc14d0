/**
 * The client of Corkboard for programs in TypeScript and JavaScript (`corkboard/client`, decision 55): a typed method
 * for every data route of both variants and of the insights. It uses nothing but what Node, Deno, Bun and browsers have in common.
 */
import {
  type Asking,
  type ListOptions,
  openAsking,
  pathWith,
  type RangeOptions,
  rangeQuery,
} from './asking.ts';
import { type IdInput, idText } from './exact.ts';
import { type InsightsClient, openInsights } from './insights.ts';
import { followLive } from './live.ts';
import type { RetryOptions } from './retrying.ts';
import * as VariantA from './schema-a.ts';
import * as VariantB from './schema-b.ts';
import type * as Insights from './schema-insights.ts';
import { followChanges, type SyncBatch } from './sync.ts';

export type { Instant, ListOptions, RangeOptions } from './asking.ts';
// biome-ignore lint/performance/noBarrelFile: this file is what the package offers, and errors are told apart by their class.
export { AnswerError, CorkboardError, ProblemError } from './errors.ts';
export type { Id, IdInput } from './exact.ts';
export type { InsightEventsOptions, InsightOptions, InsightsClient } from './insights.ts';
export type { Retry, RetryOptions } from './retrying.ts';
export type { SyncBatch, Synced } from './sync.ts';
export type { Insights, VariantA, VariantB };

export interface ClientOptions {
  /** As the operator tells it, up to `/v1`: `https://corkboard.example.org/a`. */
  readonly baseUrl: string;
  readonly key: string;
  /** When and how often to try again. */
  readonly retry?: RetryOptions;
  /** Instead of the one of the platform: for a proxy, or to see what is sent. */
  readonly fetch?: typeof globalThis.fetch;
}

interface ChangesOptions extends RangeOptions {
  /** Which events; all without it. A token belongs to this choice, to the range and to the key. */
  readonly of?: 'pins' | { readonly board: IdInput } | { readonly user: IdInput };
}

export interface LiveOptions extends ChangesOptions {
  /** That of the last batch that was applied, of `sync` or `live`; absent: from now on. */
  readonly token?: string | undefined;
}

export interface SyncOptions extends ChangesOptions {
  /** That of the last batch that was applied; absent: from the beginning. */
  readonly token?: string | undefined;
  /** Changes a batch, from 1 to 10,000; 1,000 by default. */
  readonly pageSize?: number | undefined;
  /** Goes on for ever, and asks again after so long. Absent: ends when it has caught up. */
  readonly pollMs?: number | undefined;
}

type Paths = typeof VariantA.PATHS | typeof VariantB.PATHS;
type List<T> = AsyncGenerator<T, void, undefined>;

/** What both variants offer. Nothing is sent before the first element is asked for. */
export interface ListsClient<E, B, U> {
  /** All interactions of the organization, oldest first. */
  events(options?: ListOptions): List<E>;
  eventsOfBoard(board: IdInput, options?: ListOptions): List<E>;
  /** Interactions with pins, across all boards. */
  eventsOfPins(options?: ListOptions): List<E>;
  /** What a user has done. */
  eventsOfUser(user: IdInput, options?: ListOptions): List<E>;
  /** Ascending by id; a range is about when they were created. */
  boards(options?: ListOptions): List<B>;
  users(options?: ListOptions): List<U>;
  /** What has changed since a token, in batches to apply to a copy. */
  sync(options?: SyncOptions): List<SyncBatch<E>>;
  /** The same as it is published, without an end; a stream that breaks is taken up again. */
  live(options?: LiveOptions): List<SyncBatch<E>>;
}

export type ClientB = ListsClient<VariantB.Event, VariantB.Board, VariantB.User>;

export interface ClientA extends ListsClient<VariantA.Event, VariantA.Board, VariantA.User> {
  /** Points of all users on a board, by e-mail address. */
  pointsOfBoard(board: IdInput, options?: RangeOptions): Promise<VariantA.PointsMap>;
  pointsOfLti(ltiId: string, options?: RangeOptions): Promise<VariantA.PointsMap>;
  pointsOfCourse(courseId: string, options?: RangeOptions): Promise<VariantA.PointsMap>;
  /** Points of a user, one record a board. */
  pointsOfUser(user: IdInput, options?: KeyedOptions): Promise<VariantA.PointsMap>;
  pointsOfLmsUser(property: string, value: string, options?: KeyedOptions): Promise<VariantA.PointsMap>;
}

export interface KeyedOptions extends RangeOptions {
  /**
   * Every record under the id of its board; without it as the organization has it set up (decision
   * 8). Read `board_id` of the records, never their names.
   */
  readonly key?: VariantA.Operations['getPointsOfUser']['query']['key'];
}

/** Throws `TypeError` for a base URL or a key that cannot be used. Sends nothing. */
export function openClient(options: ClientOptions & { readonly variant: 'a' }): ClientA;
export function openClient(options: ClientOptions & { readonly variant: 'b' }): ClientB;
export function openClient(options: ClientOptions & { readonly variant: 'insights' }): InsightsClient;
export function openClient({
  variant,
  ...options
}: ClientOptions & { readonly variant: Interface }): ClientA | ClientB | InsightsClient {
  // Called by this name, as browsers want it: without an object before it.
  const { key, retry = {}, fetch = (...request) => globalThis.fetch(...request) } = options;
  // Refused here, because the message of `fetch` would repeat it.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new TypeError('The key is empty, or has characters that no key has.');
  const asking = openAsking({ baseUrl: readBaseUrl(options.baseUrl, variant), key, fetch }, retry);
  if (variant === 'insights') return openInsights(asking);
  if (variant === 'b') {
    return openLists<VariantB.Event, VariantB.Board, VariantB.User>(asking, VariantB.PATHS, retry);
  }
  const lists = openLists<VariantA.Event, VariantA.Board, VariantA.User>(asking, VariantA.PATHS, retry);
  return { ...lists, ...openPoints(asking) };
}

const NAMES = { a: 'Variant A', b: 'Variant B', insights: 'the insights' } as const;
type Interface = keyof typeof NAMES;

/** A base of another interface is refused: all have `/events` and `/boards`, but their boards and users differ. */
function readBaseUrl(text: string, variant: Interface): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    url.username + url.password + url.search + url.hash !== ''
  ) {
    throw new TypeError(
      'The base URL has to be an address that begins with http:// or https://, without a password, a query or a fragment.',
    );
  }
  const base = url.href.replace(/\/+$/, '');
  const other = Object.keys(NAMES).find((name) => name !== variant && base.endsWith(`/${name}`));
  if (other === undefined) return base;
  throw new TypeError(`The base URL ends in /${other}, which is not ${NAMES[variant]}.`);
}

function openLists<E, B, U>(asking: Asking, paths: Paths, retry: RetryOptions): ListsClient<E, B, U> {
  const ofBoard = (board: IdInput) => pathWith(paths.listEventsOfBoard, { 'board-id': idText(board) });
  const ofUser = (user: IdInput) => pathWith(paths.listEventsOfUser, { 'user-id': idText(user) });
  const list = <T>(path: string, options: ListOptions = {}) =>
    asking.list<T>(path, rangeQuery(options), options.pageSize, options.signal);
  const changed = (options: ChangesOptions) => {
    const { of, signal } = options;
    let path: string = paths.listEvents;
    if (of === 'pins') path = paths.listEventsOfPins;
    else if (of !== undefined) path = 'board' in of ? ofBoard(of.board) : ofUser(of.user);
    return { path, query: rangeQuery(options), signal };
  };
  return {
    events: (options) => list<E>(paths.listEvents, options),
    eventsOfBoard: (board, options) => list(ofBoard(board), options),
    eventsOfPins: (options) => list(paths.listEventsOfPins, options),
    eventsOfUser: (user, options) => list(ofUser(user), options),
    boards: (options) => list(paths.listBoards, options),
    users: (options) => list(paths.listUsers, options),
    sync(options = {}) {
      const { token, pageSize = 1_000, pollMs } = options;
      return followChanges<E>(asking, { ...changed(options), token, pageSize, pollMs });
    },
    live: (options = {}) => followLive<E>(asking, { ...changed(options), token: options.token }, retry),
  };
}

type PointsClient = Omit<ClientA, keyof ListsClient<unknown, unknown, unknown>>;

function openPoints(asking: Asking): PointsClient {
  const ask = (path: string, options: KeyedOptions = {}) =>
    asking.whole<VariantA.PointsMap>(path, { ...rangeQuery(options), key: options.key }, options.signal);
  const { getPointsOfBoard, getPointsOfUser, getPointsOfLti, getPointsOfCourse, getPointsOfLmsUser } =
    VariantA.PATHS;
  return {
    pointsOfBoard: async (board, options) =>
      ask(pathWith(getPointsOfBoard, { boardId: idText(board) }), options),
    pointsOfLti: async (ltiId, options) => ask(pathWith(getPointsOfLti, { ltiId }), options),
    pointsOfCourse: async (courseId, options) => ask(pathWith(getPointsOfCourse, { courseId }), options),
    pointsOfUser: async (user, options) => ask(pathWith(getPointsOfUser, { userId: idText(user) }), options),
    pointsOfLmsUser: async (prop, val, options) => ask(pathWith(getPointsOfLmsUser, { prop, val }), options),
  };
}
