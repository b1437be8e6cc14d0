/**
 * What a route of the contract is, as data: enough to match, check, document and answer it. The tables are in
 * `variant-a.ts` and `variant-b.ts`.
 */
import type { TSchema } from 'typebox';
import type { Dataset } from '../../dataset/dataset.ts';
import type {
  BoardName,
  EventPosition,
  EventQuery,
  ListKind,
  ListQuery,
  UserName,
} from '../../dataset/query.ts';
import { AppError } from '../../domain/app-error.ts';
import { parseIdentifier } from '../../domain/identifier.ts';
import type { Scope } from '../../domain/scope.ts';
import type { Rendering } from '../../render/rendering.ts';
import type {
  Admit,
  Answer,
  EventsAnswer,
  ListAnswer,
  UnsizedAnswer,
  Variant,
} from '../../render/text/answer.ts';
import { isText, type Representation } from '../../render/text/representations.ts';
import type { WalkPlace } from './cursor.ts';
import type { ParameterName, Parameters } from './parameters.ts';
import type { Since } from './question.ts';

/** A question that has passed every check, and what is needed to answer it. */
export interface Ask {
  /** As the key sees it: that of the rendering. */
  readonly dataset: Dataset;
  readonly rendering: Rendering;
  readonly scope: Scope;
  readonly parameters: Parameters;
  readonly place: WalkPlace | undefined;
  readonly since: Since | undefined;
  readonly representation: Representation;
  readonly admit?: Admit | undefined;
}

export type SizedAnswer = EventsAnswer | ListAnswer | Answer;
export type AnyAnswer = SizedAnswer | UnsizedAnswer<EventPosition> | UnsizedAnswer<bigint>;

export interface PathName {
  readonly name: string;
  readonly type: 'identifier' | 'text';
  readonly description: string;
  readonly example: string | number;
}

interface RouteForm {
  readonly operation: string;
  /** Below `/v1`, with `{names}` as the contract spells them. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly names: readonly PathName[];
  readonly parameters: readonly ParameterName[];
  readonly representations: readonly Representation[];
  /** Of the JSON representation; the others carry the same. */
  readonly response: TSchema;
  readonly example: unknown;
}

/** The decoded text of a name in the path. */
export type PathText = (name: string) => string;

/** What a route is about; a board or a user outside the scope is refused before the route is asked (decision 12). */
type RouteSubject =
  | { readonly of: 'organization'; answer(ask: Ask): Promise<AnyAnswer> }
  | {
      readonly of: 'board';
      name(text: PathText): BoardName;
      answer(ask: Ask, board: number): Promise<AnyAnswer>;
    }
  | {
      readonly of: 'user';
      name(text: PathText): UserName;
      answer(ask: Ask, user: number): Promise<AnyAnswer>;
    }
  | {
      readonly of: 'user of board';
      name(text: PathText): readonly [BoardName, UserName];
      answer(ask: Ask, board: number, user: number): Promise<AnyAnswer>;
    };

export type Route = RouteForm & RouteSubject;

/** The two variants of the contract, and what Corkboard adds beside them. */
export type Interface = Variant | 'insights';

/** One published form of the interface (decision 1). */
export interface VariantTable {
  readonly variant: Interface;
  readonly title: string;
  readonly version: string;
  readonly routes: readonly Route[];
  /** Paths that answer without `/v1` too. */
  readonly unversioned: readonly string[];
}

/** Throws `identifier-malformed` (decision 3). */
export function identifierNamed(name: string, text: PathText): bigint {
  const identifier = parseIdentifier(text(name));
  if (identifier !== undefined) return identifier;
  throw new AppError(
    'identifier-malformed',
    `The path has to carry an integer of at most 64 bits in decimal digits as ${name}.`,
  );
}

/** The part of a question about events that its parameters give. */
export function eventsAsked(ask: Ask): EventQuery {
  const { start, end, limit } = ask.parameters;
  const place = ask.place !== undefined && 'after' in ask.place ? ask.place : undefined;
  // A walk through pages sees what was published when it began, no more (decision 18).
  const { lastSequence } = ask.dataset;
  const upToSequence =
    limit === undefined ? undefined : Math.min(place?.upToSequence ?? lastSequence, lastSequence);
  return {
    scope: ask.scope,
    range: { startMs: start, endMs: end },
    limit,
    after: place?.after,
    upToSequence,
  };
}

/** The part of a question about a list that its parameters give. */
function listAsked(ask: Ask): ListQuery {
  const { start, end, limit } = ask.parameters;
  const afterId = ask.place !== undefined && 'afterId' in ask.place ? ask.place.afterId : undefined;
  return { scope: ask.scope, range: { startMs: start, endMs: end }, limit, afterId };
}

/** The events of a question, in the representation that is asked for; `answerList` alike. */
export function eventsOf({ rendering, representation, admit }: Ask, query: EventQuery): Promise<AnyAnswer> {
  return isText(representation)
    ? rendering.events(query, representation, admit)
    : rendering.tables.events(query);
}

export function answerList(ask: Ask, of: ListKind, variant: Variant): Promise<AnyAnswer> {
  const { rendering, representation } = ask;
  const query = listAsked(ask);
  return isText(representation)
    ? rendering.list(of, query, variant, representation)
    : rendering.tables.list(of, query, variant);
}
