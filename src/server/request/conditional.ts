/**
 * Entity tags (decision 15). They are known before any data is touched, because a published version
 * never changes. They are keyed digests, so that they reveal nothing about their input (decision
 * 12).
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../domain/app-error.ts';
import { isSameRedaction, redactionText } from '../../domain/redaction.ts';
import type { Scope } from '../../domain/scope.ts';
import { type KeyGrant, lmsSplitsOf, mayLookUpPeople, maySeeLmsIds } from '../../keys/keyring.ts';
import type { HmacKey } from '../../system/hmac.ts';
import { keyedDigest } from './secrets.ts';

/**
 * Must be incremented when the same data gets different bytes, so that responses kept by clients
 * are not taken for the new form.
 */
const FORM = 3;

/**
 * `parts` are texts that together determine every byte of a response. Only the first one may
 * contain a line break.
 */
export function entityTag(parts: readonly string[], secret: HmacKey): string {
  return `"${keyedDigest(secret, `${FORM}\n${parts.join('\n')}`)}"`;
}

/** The value of `Data-Version` (decision 100). Different from every entity tag. */
export function dataVersion(version: string, { scope, redact }: KeyGrant, secret: HmacKey): string {
  return keyedDigest(secret, `version ${version} ${scopeText(scope)} ${redactionText(redact)}`);
}

/**
 * Whether `If-None-Match` names the tag, weakly or strongly: the client already has the response.
 */
export function namesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch === tag) return true;
  return [...ifNoneMatch.matchAll(/(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g)].some(
    ([, named]) => named === tag,
  );
}

/** `*` matches everything that exists, so the existence must be known first. */
export function acceptsNothingNew(ifNoneMatch: string | undefined): boolean {
  return ifNoneMatch?.trim() === '*';
}

/**
 * Must be called before a response is sent. Returns `precondition-failed` when `If-Match` does not
 * name its entity tag. Tags are compared strongly, and only if the response would otherwise be a
 * 200, 206 or 304 (RFC 9110, 13.1.1 and 13.2). `If-Unmodified-Since` has no effect, because no
 * response has a `Last-Modified`.
 */
export function unmetMatch({ headers }: FastifyRequest, reply: FastifyReply): AppError | undefined {
  const { 'if-match': expected } = headers;
  if (expected === undefined || ![200, 206, 304].includes(reply.statusCode)) return undefined;
  if (expected.trim() === '*' || namesTagStrongly(expected, reply.getHeader('etag'))) return undefined;
  return new AppError(
    'precondition-failed',
    'The header "If-Match" does not name the entity tag of this response. Leave it out, or send the present tag.',
  );
}

function namesTagStrongly(ifMatch: string, tag: unknown): boolean {
  return [...ifMatch.matchAll(/(W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g)].some(
    ([, weak, named]) => weak === undefined && named === tag,
  );
}

export function sendNotModified(reply: FastifyReply, caching: Record<string, string>): FastifyReply {
  return reply.code(304).headers(caching).send();
}

interface ShownTags {
  readonly etag: string;
  readonly dataVersion: string;
  readonly syncToken: string | undefined;
}

/**
 * The header fields of a 200 or 304 about what it shows. Responses to pages of this server, such
 * as the console, are not stored, because several people may use the same machine (decision 65).
 */
export function cachingFields(
  { etag, dataVersion: version, syncToken }: ShownTags,
  { 'sec-fetch-site': site }: IncomingHttpHeaders,
): Record<string, string> {
  const control = site === 'same-origin' ? 'no-store' : 'private, no-cache';
  const fields = { etag, 'cache-control': control, 'data-version': version };
  return syncToken === undefined ? fields : { ...fields, 'sync-token': syncToken };
}

const scopeTexts = new WeakMap<Scope, string>();

/**
 * The same text for the same scope. It is cached per scope object, because a scope can contain many
 * thousands of ids.
 */
export function scopeText(scope: Scope): string {
  let text = scopeTexts.get(scope);
  if (text === undefined) {
    text = `boards ${idsText(scope.boards)} users ${idsText(scope.users)}`;
    scopeTexts.set(scope, text);
  }
  return text;
}

/**
 * Whether both see the same data and may request the same: a key may have changed since it was
 * looked up (decision 68).
 */
export function seesTheSame(one: KeyGrant, other: KeyGrant): boolean {
  return (
    scopeText(one.scope) === scopeText(other.scope) &&
    isSameRedaction(one.redact, other.redact) &&
    mayLookUpPeople(one) === mayLookUpPeople(other) &&
    maySeeLmsIds(one) === maySeeLmsIds(other) &&
    lmsSplitsOf(one).join() === lmsSplitsOf(other).join()
  );
}

function idsText(ids: string | readonly bigint[]): string {
  return typeof ids === 'string' ? ids : `[${ids.join()}]`;
}
