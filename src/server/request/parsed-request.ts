/**
 * The parsed request. First as its text alone determines it, then bound to a version, and to the
 * scope and redaction of the key; this determines every byte of the response. Both are cached,
 * because the same requests come again and again.
 */
import type { IncomingMessage } from 'node:http';
import type { Dataset } from '../../dataset/dataset.ts';
import { AppError } from '../../domain/app-error.ts';
import { isRedacting, isSameRedaction, type Redaction, redactionText } from '../../domain/redaction.ts';
import type { Scope } from '../../domain/scope.ts';
import type { KeyEntry, KeyGrant } from '../../keys/keyring.ts';
import {
  contentTypeOf,
  REPRESENTATIONS,
  type Representation,
  tellsChanges,
} from '../../render/text/representations.ts';
import { zoneData } from '../../system/zones.ts';
import type { RequestTarget } from '../http/target.ts';
import { dataVersion, entityTag, scopeText } from './conditional.ts';
import { openCursor, type WalkPlace } from './cursor.ts';
import { LruCache } from './lru-cache.ts';
import { chooseEncoding, chooseRepresentation, type Encoding } from './negotiation.ts';
import type { ParameterName, Parameters } from './parameters.ts';
import { fileNameOf, type PathResource, readPathResource } from './path-resource.ts';
import { readParameters } from './query.ts';
import type { Interface, Route } from './route.ts';
import type { Secrets, TokenBinding } from './secrets.ts';
import { openSyncToken, sealSequence, sealSyncToken } from './sync-token.ts';

export interface ParsedRequest {
  readonly variant: Interface;
  readonly route: Route;
  readonly target: RequestTarget;
  readonly parameters: Parameters;
  readonly subject: PathResource;
  /** Header fields about the body of a response with data. */
  readonly contentFields: Readonly<Record<string, string>>;
  readonly representation: Representation;
  readonly encoding: Encoding;
  /**
   * The last binding. Nearly always the request comes again from the same key, to the same version.
   */
  lastBound: LastBound | undefined;
}

/**
 * A request to one version, with one scope and one kind of redaction. Thousands are cached, so it
 * contains no text of the scope.
 */
export interface BoundRequest {
  /** The position in the cursor of the request. */
  readonly place: WalkPlace | undefined;
  /** What the client already has, if it requests changes (decision 19). */
  readonly since: Since | undefined;
  /**
   * For a client that has received the whole response, or all pages; absent if the route has no
   * `since`.
   */
  readonly syncToken: string | undefined;
  /** Identifies the response: it is the same for the same bytes only. */
  readonly etag: string;
  /**
   * Identifies what the key sees of the version: it is the same for all responses that can be
   * combined (decision 100).
   */
  readonly dataVersion: string;
}

/** The sequence up to which the client has everything; absent: it has nothing yet. */
export interface Since {
  readonly sequence: number | undefined;
}

interface LastBound extends BoundRequest {
  readonly by: BoundRequests;
  readonly scope: Scope;
  readonly redact: Redaction;
}

/**
 * Up to twice as many are cached. They take 24 MB, or about 40 MB if clients send the longest texts
 * that are cached.
 */
const KEPT_QUESTIONS = 8192;

const questions = new LruCache<ParsedRequest>(KEPT_QUESTIONS);

/**
 * Throws `parameter-unknown`, `-repeated`, `-malformed`, `range-reversed`, `identifier-malformed`
 * or `not-acceptable`.
 */
export function readRequest(
  variant: Interface,
  route: Route,
  target: RequestTarget,
  request: IncomingMessage,
): ParsedRequest {
  // The text contains everything that is read below. None of its parts can contain a line break or
  // a zero byte, so two different requests never give the same text.
  const { accept = '\0', 'accept-encoding': acceptEncoding = '\0' } = request.headers;
  const text = `${variant} ${route.path}\n${target.text}\n${accept}\n${acceptEncoding}`;
  return questions.take(text, () => {
    const parameters = readParameters(target.query, route.parameters);
    const subject = readPathResource(route, target.path);
    const chosen = chooseRepresentation(request, parameters.format, representationsOf(route, parameters));
    const representation = parameters.excel === undefined ? chosen : forExcel(chosen);
    const encoding = REPRESENTATIONS[representation].isEncodable ? chooseEncoding(request) : 'identity';
    if (representation === 'event-stream') refuseForStream(parameters);
    const contentFields = describeContent(representation, fileNameOf(route, target.path, parameters));
    const parsed = { variant, route, target, parameters, subject, representation, encoding, contentFields };
    return { ...parsed, lastBound: undefined };
  });
}

/** File names consist of letters, digits and hyphens. */
function describeContent(representation: Representation, fileName: string | undefined) {
  return {
    ...{ 'content-type': contentTypeOf(representation), 'accept-ranges': 'bytes' },
    ...(fileName !== undefined && { 'content-disposition': `attachment; filename="${fileName}"` }),
  };
}

/** Binds requests to one version of an organization's data. */
export class BoundRequests {
  readonly #version: Pick<Dataset, 'version' | 'lastSequence'>;
  readonly #secrets: Secrets;
  #sealed: string | undefined;

  constructor(version: Pick<Dataset, 'version' | 'lastSequence'>, secrets: Secrets) {
    // Requests that are kept must not keep the whole version.
    this.#version = { version: version.version, lastSequence: version.lastSequence };
    this.#secrets = secrets;
  }

  /** Throws the errors of `openCursor` and `openSyncToken`. */
  bind(question: ParsedRequest, key: KeyEntry): BoundRequest {
    const { scope, redact } = key;
    const last = question.lastBound;
    // A changed scope is a different object, so the last binding belongs to exactly this scope
    // (decision 12).
    if (last?.by === this && last.scope === scope && isSameRedaction(last.redact, redact)) return last;
    const { version, lastSequence } = this.#version;
    const selected = selectionOf(question, scope);
    const walk = walkBinding(selected, question, key);
    const place = openCursor(question.parameters.cursor, walk, this.#secrets);
    // The pages of a list show what was published when the first one was requested, and no more
    // than the oldest version among those that they were read from: servers may have different
    // versions.
    const begun = place !== undefined && 'upToSequence' in place ? place.upToSequence : lastSequence;
    const seen = Math.min(begun, lastSequence);
    question.lastBound = {
      ...{ by: this, scope, redact },
      place,
      ...this.#bindSync(question, syncBinding(selected, redact), seen),
      etag: entityTag(
        [version, walk.whole, formText(question, key), ...rulesOf(question)],
        this.#secrets.entityTag,
      ),
      dataVersion: dataVersion(version, key, this.#secrets.entityTag),
    };
    return question.lastBound;
  }

  /**
   * The sequence up to which the client has everything, according to a token. Throws the errors of
   * `openSyncToken`.
   */
  sequenceOf(question: ParsedRequest, key: KeyEntry, token: string): number {
    const binding = syncBinding(selectionOf(question, key.scope), key.redact);
    return openSyncToken(token, binding, this.#secrets);
  }

  #bindSync(
    { route, parameters }: ParsedRequest,
    binding: TokenBinding,
    seen: number,
  ): Pick<BoundRequest, 'since' | 'syncToken'> {
    if (!route.parameters.includes('since')) return { since: undefined, syncToken: undefined };
    return {
      since: sinceOf(parameters.since, binding, this.#secrets),
      syncToken: sealSyncToken(this.#seal(seen), binding, this.#secrets),
    };
  }

  /** Seals a sequence. It is nearly always the last one of the version, which is kept. */
  #seal(sequence: number): string {
    if (sequence !== this.#version.lastSequence) return sealSequence(sequence, this.#secrets);
    this.#sealed ??= sealSequence(sequence, this.#secrets);
    return this.#sealed;
  }
}

function refuseForStream({ limit, cursor, token }: Parameters): void {
  if (limit !== undefined || cursor !== undefined)
    throw new AppError('parameter-malformed', 'A stream has no pages. Leave out "limit" and "cursor".');
  if (token !== undefined)
    throw new AppError(
      'parameter-malformed',
      'A stream sends a message with the sync token after all changes. Leave out "token".',
    );
}

/** Refuses other formats, in which the parameter would silently have no effect. */
function forExcel(chosen: Representation): Representation {
  if (chosen === 'csv') return 'excel';
  throw new AppError(
    'parameter-malformed',
    'The parameter "excel" is about CSV. Send "format=csv" or the header "Accept: text/csv" with it.',
  );
}

/** With `since`, only representations in which an event carries its `sync_id`. */
function representationsOf({ representations }: Route, { since }: Parameters): readonly Representation[] {
  if (since === undefined) return representations;
  return representations.filter(tellsChanges);
}

function sinceOf(since: string | undefined, binding: TokenBinding, secrets: Secrets): Since | undefined {
  if (since === undefined) return undefined;
  return { sequence: since === 'start' ? undefined : openSyncToken(since, binding, secrets) };
}

/** The filter of the request: alone, and with what the key sees. All bindings begin with it. */
function selectionOf(question: ParsedRequest, scope: Scope): TokenBinding {
  const filter = filterOf(question);
  return {
    request: JSON.stringify(filter),
    whole: JSON.stringify([...filter, scopeText(scope)]),
  };
}

/** What all pages of a list have in common; their cursors are bound to it. */
export function walkOf(question: ParsedRequest, key: KeyGrant): TokenBinding {
  return walkBinding(selectionOf(question, key.scope), question, key);
}

/** The text `whole` is different for a redacting key. */
function walkBinding(
  { request, whole }: TokenBinding,
  { parameters: { since = '' } }: ParsedRequest,
  { redact }: KeyGrant,
): TokenBinding {
  const ofRedaction = isRedacting(redact) ? ` ${redactionText(redact)}` : '';
  return { request: `${request} ${since}`, whole: `${whole} ${since}${ofRedaction}` };
}

/** What all responses of a sync have in common; its sync tokens are bound to it. */
function syncBinding({ request, whole }: TokenBinding, redact: Redaction): TokenBinding {
  // Names derived from an address are redacted together with it, but were not in earlier versions
  // of Corkboard. A client that may have kept such names starts again.
  const form = redact.email && !redact.name ? ' 2' : '';
  const ofRedaction = `${redact.email} ${redact.name}${form}${redact.id ? ' id' : ''}`;
  return { request, whole: `${whole} ${ofRedaction}` };
}

function filterOf({ variant, route, subject, parameters }: ParsedRequest): readonly unknown[] {
  const { start = null, end = null, board, user, action } = parameters;
  const filter = [board, user, action].map((value) => (value === undefined ? null : String(value)));
  return [variant, route.path, subject.text, start, end, filter];
}

/** Without these, tags are those of versions that did not have the parameters. */
const ADDED: ReadonlySet<ParameterName> = new Set(['token', 'compare', 'property']);

/** The parameters that tags are made of. */
function tagParameters({ parameters, untagged = [] }: Route): readonly ParameterName[] {
  return parameters.filter((parameter) => !untagged.includes(parameter));
}

/** Everything else that determines the bytes of a response from one version. */
function formText({ route, parameters, representation, encoding }: ParsedRequest, key: KeyEntry): string {
  const counts = (parameter: ParameterName) => !ADDED.has(parameter) || parameters[parameter] !== undefined;
  const given = tagParameters(route)
    .filter(counts)
    .map((parameter) => plainValue(parameters[parameter]));
  // Earlier versions of Corkboard wrote no byte order mark.
  const form = representation === 'excel' ? 'excel 2' : representation;
  return JSON.stringify([given, redactionText(key.redact), form, encoding]);
}

/** JSON has no integers of 64 bits and no absent values in lists. */
function plainValue(value: Parameters[ParameterName]) {
  return typeof value === 'bigint' ? String(value) : (value ?? null);
}

/** Responses with periods, or with weeks of a policy, depend on the time zone rules, too. */
function rulesOf({ route }: ParsedRequest): readonly string[] {
  const isZoned = route.parameters.includes('zone') || route.operation === 'getLedger';
  return isZoned ? [zoneData()] : [];
}
