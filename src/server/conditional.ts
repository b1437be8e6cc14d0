/**
 * Entity tags (decision 15): known before any data is touched, because a published version never changes. They are
 * keyed digests, so that they tell nothing about what they are made of (decision 12).
 */
import { createHmac, type KeyObject } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import type { Scope } from '../dataset/scope.ts';

/** To be raised when the same data gets other bytes, so that what clients have kept is not taken for the new form. */
const FORM = 1;

const TAG_BYTES = 16;

/** `parts` are texts that together settle every byte of an answer. */
export function entityTag(parts: readonly string[], secret: KeyObject): string {
  const digest = createHmac('sha256', secret)
    .update(JSON.stringify([FORM, ...parts]))
    .digest();
  return `"${digest.subarray(0, TAG_BYTES).toString('base64url')}"`;
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

export function sendNotModified(reply: FastifyReply, caching: Record<string, string>): FastifyReply {
  return reply.code(304).headers(caching).send();
}

/** The header fields of an answer with that tag, 304 or not. */
export function cachingFields(etag: string): Record<string, string> {
  return { etag, 'cache-control': 'private, no-cache' };
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

function idsText(ids: string | readonly bigint[]): string {
  return typeof ids === 'string' ? ids : `[${ids.join()}]`;
}
