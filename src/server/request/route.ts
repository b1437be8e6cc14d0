/**
 * A route of the contract as data: everything needed to match, check, document and handle its
 * requests. The tables are in `variant-a.ts` and `variant-b.ts`.
 */
import type { TSchema } from 'typebox';
import type { Dataset } from '../../dataset/dataset.ts';
import type {
  BoardName,
  EventPosition,
  EventQuery,
  ListKind,
  ListQuery,
  PointsPosition,
  UserName,
} from '../../dataset/query.ts';
import { AppError } from '../../domain/app-error.ts';
import { parseIdentifier } from '../../domain/identifier.ts';
import type { PermittedProperty } from '../../domain/lms-split.ts';
import type { Scope } from '../../domain/scope.ts';
import type { Rendering } from '../../render/rendering.ts';
import type {
  Admit,
  EventsBody,
  ListBody,
  PointsBody,
  RenderedBody,
  UnsizedBody,
  Variant,
} from '../../render/text/rendered-body.ts';
import { isText, type Representation } from '../../render/text/representations.ts';
import type { WalkPlace } from './cursor.ts';
import type { ParameterName, Parameters } from './parameters.ts';
import type { Since } from './parsed-request.ts';

/** A request that has passed every check, and the input for its response. */
export interface Ask {
  /** The dataset of the rendering, as the key sees it. */
  readonly dataset: Dataset;
  readonly rendering: Rendering;
  readonly scope: Scope;
  readonly parameters: Parameters;
  readonly place: WalkPlace | undefined;
  readonly since: Since | undefined;
  /** As of `BoundRequest`; absent for live streams, which send it themselves. */
  readonly syncToken?: string | undefined;
  readonly representation: Representation;
  readonly admit?: Admit | undefined;
  /** The permission for the LMS property of the request; absent without one. */
  readonly split?: PermittedProperty | undefined;
}

export type SizedAnswer = EventsBody | ListBody | PointsBody | RenderedBody;
export type AnyAnswer =
  | SizedAnswer
  | UnsizedBody<EventPosition>
  | UnsizedBody<bigint>
  | UnsizedBody<PointsPosition>;

export interface PathName {
  readonly name: string;
  readonly type: 'identifier' | 'text';
  readonly description: string;
  readonly example: string | number;
}

interface RouteForm {
  readonly operation: string;
  /** Below `/v1`, with `{names}` as spelled in the contract. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly names: readonly PathName[];
  readonly parameters: readonly ParameterName[];
  /** Parameters that are not part of entity tags, because the representation says the same. */
  readonly untagged?: readonly ParameterName[];
  readonly representations: readonly Representation[];
  /** Whether the response names users, so that redacting keys are refused (decision 101). */
  readonly namesUsers?: boolean;
  /** The name under which programs save the body; absent: it is not meant to be a file. */
  readonly fileName?: (text: PathText, parameters: Parameters) => string;
  /** Schema of the JSON representation, or of the whole if there is none. */
  readonly response: TSchema;
  /** Schemas of what the other representations repeat: lines, rows, messages. */
  readonly items?: Readonly<Partial<Record<Representation, TSchema>>>;
  readonly example: unknown;
}

/** The decoded text of a name in the path. */
export type PathText = (name: string) => string;

/**
 * The subject of a route. A board or user outside the scope is refused before the route is called
 * (decision 12).
 */
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

/** The two variants of the contract, and Corkboard's own insights. */
export type Interface = Variant | 'insights';

/** One published form of the interface (decision 1). */
export interface VariantTable {
  readonly variant: Interface;
  readonly title: string;
  readonly version: string;
  readonly routes: readonly Route[];
  /** Paths that are also available without `/v1`. */
  readonly unversioned: readonly string[];
}

/** Throws `identifier-malformed` (decision 3). */
export function identifierNamed(name: string, text: PathText): bigint {
  const identifier = parseIdentifier(text(name));
  if (identifier !== undefined) return identifier;
  throw new AppError(
    'identifier-malformed',
    `The value of ${name} in the path must be an integer of at most 64 bits in decimal digits.`,
  );
}

/** The part of an events query that the parameters of the request give. */
export function eventsAsked(ask: Ask): EventQuery {
  const { start, end, limit } = ask.parameters;
  const place = ask.place !== undefined && 'after' in ask.place ? ask.place : undefined;
  // All pages of a list show what was published when the first page was requested (decision 18).
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

/** The part of a list query that the parameters of the request give. */
function listAsked(ask: Ask): ListQuery {
  const { start, end, limit } = ask.parameters;
  const afterId = ask.place !== undefined && 'afterId' in ask.place ? ask.place.afterId : undefined;
  return { scope: ask.scope, range: { startMs: start, endMs: end }, limit, afterId };
}

/** The events of a query, in the requested representation. `answerList` does the same for lists. */
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
