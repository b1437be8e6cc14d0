/**
 * The client of Corkboard for programs in TypeScript and JavaScript (`corkboard-client`,
 * decision 55): a typed method for every data route of both variants and of the insights. It uses
 * only features that Node, Deno, Bun and browsers share.
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
export type {
  InsightEventsOptions,
  InsightOptions,
  InsightPointsOptions,
  InsightsClient,
} from './insights.ts';
export type { Retry, RetryOptions } from './retrying.ts';
export type { SyncBatch, Synced } from './sync.ts';
export type { Insights, VariantA, VariantB };

export interface ClientOptions {
  /** The address of a variant up to `/v1`, like `https://corkboard.example.org/a`. */
  readonly baseUrl: string;
  readonly key: string;
  /** When and how often to retry. */
  readonly retry?: RetryOptions;
  /** Replaces the `fetch` of the platform, for a proxy or to inspect requests. */
  readonly fetch?: typeof globalThis.fetch;
}

interface ChangesOptions extends RangeOptions {
  /** Selects events; absent: all. A sync token is valid only for this selection, range and key. */
  readonly of?: 'pins' | { readonly board: IdInput } | { readonly user: IdInput };
}

export interface LiveOptions extends ChangesOptions {
  /**
   * The sync token of the last applied batch, of `sync` or `live`. If absent, the stream starts
   * now.
   */
  readonly token?: string | undefined;
}

export interface SyncOptions extends ChangesOptions {
  /** The sync token of the last applied batch; absent: from the beginning. */
  readonly token?: string | undefined;
  /** Changes per batch, from 1 to 10,000; 1,000 by default. */
  readonly pageSize?: number | undefined;
  /**
   * Polls without an end, with this pause in milliseconds. If absent, the iteration ends when it
   * has caught up.
   */
  readonly pollMs?: number | undefined;
}

type Paths = typeof VariantA.PATHS | typeof VariantB.PATHS;
type List<T> = AsyncGenerator<T, void, undefined>;

/** The lists of both variants. A method sends nothing before its first element is requested. */
export interface ListsClient<E, B, U> {
  /** All events of the organization, oldest first. */
  events(options?: ListOptions): List<E>;
  eventsOfBoard(board: IdInput, options?: ListOptions): List<E>;
  /** Events about pins, across all boards. */
  eventsOfPins(options?: ListOptions): List<E>;
  /** Events whose actor is the user. */
  eventsOfUser(user: IdInput, options?: ListOptions): List<E>;
  /** Ascending by id. A range selects by creation time. */
  boards(options?: ListOptions): List<B>;
  users(options?: ListOptions): List<U>;
  /** The changes since a sync token, in batches to apply to a copy. */
  sync(options?: SyncOptions): List<SyncBatch<E>>;
  /** Like `sync`, but as soon as changes are published, without an end. Reconnects by itself. */
  live(options?: LiveOptions): List<SyncBatch<E>>;
}

export type ClientB = ListsClient<VariantB.Event, VariantB.Board, VariantB.User>;

export interface ClientA extends ListsClient<VariantA.Event, VariantA.Board, VariantA.User> {
  /** Points of all users on a board, keyed by e-mail address. */
  pointsOfBoard(board: IdInput, options?: RangeOptions): Promise<VariantA.PointsMap>;
  pointsOfLti(ltiId: string, options?: RangeOptions): Promise<VariantA.PointsMap>;
  pointsOfCourse(courseId: string, options?: RangeOptions): Promise<VariantA.PointsMap>;
  /** Points of a user, one record per board. */
  pointsOfUser(user: IdInput, options?: KeyedOptions): Promise<VariantA.PointsMap>;
  pointsOfLmsUser(property: string, value: string, options?: KeyedOptions): Promise<VariantA.PointsMap>;
}

export interface KeyedOptions extends RangeOptions {
  /**
   * Keys every record by the id of its board. If absent, the setting of the organization decides
   * (decision 8). Identify records by their `board_id`, never by their keys.
   */
  readonly key?: VariantA.Operations['getPointsOfUser']['query']['key'];
}

/** Throws `TypeError` for an unusable base URL or key. Sends nothing. */
export function openClient(options: ClientOptions & { readonly variant: 'a' }): ClientA;
export function openClient(options: ClientOptions & { readonly variant: 'b' }): ClientB;
export function openClient(options: ClientOptions & { readonly variant: 'insights' }): InsightsClient;
export function openClient({
  variant,
  ...options
}: ClientOptions & { readonly variant: ClientInterface }): ClientA | ClientB | InsightsClient {
  // Browsers require that `fetch` is called as a method of `globalThis`, not of a different object.
  const { key, retry = {}, fetch = (...request) => globalThis.fetch(...request) } = options;
  // Checked here, because the error message of `fetch` would contain the key.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new TypeError('The key is empty or contains characters that no key contains.');
  const asking = openAsking({ baseUrl: readBaseUrl(options.baseUrl, variant), key, fetch }, retry);
  if (variant === 'insights') return openInsights(asking);
  if (variant === 'b') {
    return openLists<VariantB.Event, VariantB.Board, VariantB.User>(asking, VariantB.PATHS, retry);
  }
  const lists = openLists<VariantA.Event, VariantA.Board, VariantA.User>(asking, VariantA.PATHS, retry);
  return { ...lists, ...openPoints(asking) };
}

const NAMES = { a: 'Variant A', b: 'Variant B', insights: 'the insights' } as const;
type ClientInterface = keyof typeof NAMES;

/**
 * Rejects the base URL of a different interface: all have `/events` and `/boards`, but their boards
 * and users differ.
 */
function readBaseUrl(text: string, variant: ClientInterface): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    url.username + url.password + url.search + url.hash !== ''
  ) {
    throw new TypeError(
      'The base URL must begin with http:// or https:// and must not contain a password, a query or a fragment.',
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
