/** Insights (decision 50): a method for every operation, derived from the table of paths. */
import { type Asking, type Instant, instantText, type ListOptions, pathWith } from './asking.ts';
import { type IdInput, idText } from './exact.ts';
import * as Insights from './schema-insights.ts';
import type { Query } from './sending.ts';

type Operations = Insights.Operations;
type Figure = Exclude<keyof Operations, 'findEvents' | 'listPoints' | 'getGradebook'>;

/** `getHeatMap` is the method `heatMap`. */
type MethodOf<O extends string> = O extends `get${infer Name}` ? Uncapitalize<Name> : O;

type Given<N, Value> = N extends 'board' | 'user'
  ? IdInput
  : N extends 'start' | 'end' | 'at'
    ? Instant
    : Value;

/** Without those that select other representations: the client reads JSON. */
type ParametersOf<Q> = {
  readonly [N in Exclude<keyof Q, 'format' | 'excel'>]?: Given<N, Q[N]> | undefined;
};
/** Names in the path: `board-id` in the path is the option `board`. */
type NamesOf<O> = O extends { readonly names: infer N }
  ? { readonly [K in keyof N as K extends `${infer Name}-id` ? Name : K]: IdInput }
  : unknown;

/** Options of one operation: the names in its path, its parameters, and `signal`. */
export type InsightOptions<O extends keyof Operations> = NamesOf<Operations[O]> &
  ParametersOf<Operations[O]['query']> & { readonly signal?: AbortSignal | undefined };

type InsightRequest<O extends Figure> =
  object extends NamesOf<Operations[O]> ? [options?: InsightOptions<O>] : [options: InsightOptions<O>];

type Figures = {
  readonly [O in Figure as MethodOf<O>]: (...asked: InsightRequest<O>) => Promise<Operations[O]['answer']>;
};

export interface InsightEventsOptions extends ListOptions {
  readonly board?: IdInput | undefined;
  /** The actor. */
  readonly user?: IdInput | undefined;
  readonly action?: string | undefined;
}

export interface InsightPointsOptions extends ListOptions {
  readonly board?: IdInput | undefined;
  readonly user?: IdInput | undefined;
}

export interface InsightsClient extends Figures {
  /** The points of users on boards, ascending by board id, then user id. */
  points(options?: InsightPointsOptions): AsyncGenerator<Insights.PointsRow, void, undefined>;
  /** The points of a board as the file that a gradebook imports. */
  gradebook(options: InsightOptions<'getGradebook'>): Promise<string>;
  /** The events that the insights count, oldest first. */
  events(options?: InsightEventsOptions): AsyncGenerator<Insights.Event, void, undefined>;
}

type Options = Readonly<Record<string, unknown>> & { readonly signal?: AbortSignal | undefined };

export function openInsights(asking: Asking): InsightsClient {
  const { findEvents, listPoints, getGradebook, ...paths } = Insights.PATHS;
  const figures = Object.entries(paths).map(([operation, path]) => [
    methodOf(operation),
    async ({ signal, ...options }: Options = {}) =>
      await asking.whole(...pathAndQueryOf(path, options), signal),
  ]);
  return {
    // Each method has the type of its operation.
    ...(Object.fromEntries(figures) as unknown as Figures),
    points: ({ signal, pageSize, ...options } = {}) =>
      asking.list(listPoints, insightQuery(options), pageSize, signal),
    gradebook: async ({ signal, ...options }) =>
      await asking.csv(...pathAndQueryOf(getGradebook, options), signal),
    events: ({ signal, pageSize, ...options } = {}) =>
      asking.list(findEvents, insightQuery(options), pageSize, signal),
  };
}

/** The path with the names that are options, and all other options as parameters. */
function pathAndQueryOf(
  path: string,
  options: Readonly<Record<string, unknown>>,
): readonly [path: string, query: Query] {
  const names = [...path.matchAll(/\{((\w+)-id)\}/g)];
  const query = { ...options };
  const ids: Record<string, string> = {};
  for (const [, name = '', option = ''] of names) {
    ids[name] = idText(options[option] as IdInput);
    delete query[option];
  }
  return [pathWith(path, ids), insightQuery(query)];
}

function methodOf(operation: string): string {
  return operation.replace(/^get(.)/, (_, first: string) => first.toLowerCase());
}

/** Converts parameters to text: identifiers, instants and all other values. */
export function insightQuery(options: object): Query {
  const text = ([name, value]: [string, unknown]) => {
    if (value === undefined) return [name, undefined];
    const isId = name === 'board' || name === 'user';
    return [name, isId ? idText(value as IdInput) : instantText(value as Instant)];
  };
  return Object.fromEntries(Object.entries(options).map(text));
}
