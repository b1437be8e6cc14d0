/**
 * Entity tags (decision 15): known before any data is touched, because a published version never changes. They are
 * keyed digests, so that they tell nothing about what they are made of (decision 12).
 */
import type { KeyObject } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../domain/app-error.ts';
import { isSameRedaction } from '../../domain/redaction.ts';
import type { Scope } from '../../domain/scope.ts';
import type { KeyGrant } from '../../keys/keyring.ts';
import { keyedDigest } from './secrets.ts';

/** To be raised when the same data gets other bytes, so that what clients have kept is not taken for the new form. */
const FORM = 3;

/** `parts` are texts that together settle every byte of an answer; none but the first may hold a line break. */
export function entityTag(parts: readonly string[], secret: KeyObject): string {
  return `"${keyedDigest(secret, `${FORM}\n${parts.join('\n')}`)}"`;
}

/** Whether `If-None-Match` names the tag, weakly or strongly: the client has the answer already. */
export function namesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch === tag) return true;
  return [...ifNoneMatch.matchAll(/(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g)].some(
    ([, named]) => named === tag,
  );
}

/** `*` is satisfied by whatever exists, so that has to be known first. */
export function acceptsNothingNew(ifNoneMatch: string | undefined): boolean {
  return ifNoneMatch?.trim() === '*';
}

/**
 * To be called before a response leaves: `precondition-failed` when `If-Match` names other entity
 * tags than it has. They are compared strongly, and only where the response would otherwise be sent
 * or be 304 (RFC 9110, 13.1.1 and 13.2). `If-Unmodified-Since` has no effect, because nothing has a
 * `Last-Modified`.
 */
export function unmetMatch({ headers }: FastifyRequest, reply: FastifyReply): AppError | undefined {
  const { 'if-match': expected } = headers;
  if (expected === undefined || ![200, 304].includes(reply.statusCode)) return undefined;
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

/**
 * The caching header fields of a 200 or 304 with that tag. Responses to pages of this server, such
 * as the console, are not stored, because other people may use the same machine (decision 65).
 */
export function cachingFields(
  etag: string,
  syncToken: string | undefined,
  { 'sec-fetch-site': site }: IncomingHttpHeaders,
): Record<string, string> {
  const fields = { etag, 'cache-control': site === 'same-origin' ? 'no-store' : 'private, no-cache' };
  return syncToken === undefined ? fields : { ...fields, 'sync-token': syncToken };
}

const scopeTexts = new WeakMap<Scope, string>();

/** The same text for the same scope; kept beside it, because a scope can name many thousands of ids. */
export function scopeText(scope: Scope): string {
  let text = scopeTexts.get(scope);
  if (text === undefined) {
    text = `boards ${idsText(scope.boards)} users ${idsText(scope.users)}`;
    scopeTexts.set(scope, text);
  }
  return text;
}

/** Whether both see the same: a key may have been changed since it was looked up (decision 68). */
export function seesTheSame(one: KeyGrant, other: KeyGrant): boolean {
  return scopeText(one.scope) === scopeText(other.scope) && isSameRedaction(one.redact, other.redact);
}

function idsText(ids: string | readonly bigint[]): string {
  return typeof ids === 'string' ? ids : `[${ids.join()}]`;
}
