/**
 * Sync tokens (decisions 19, 74, 84): the sequence up to which a client has everything. A token can
 * be neither read nor forged. It has three parts:
 *
 * - the sealed sequence, the same for all requests to the same version;
 * - a keyed digest of it, of the request and of what the key sees;
 * - a keyed digest of both parts and of the request, which distinguishes a token of the same
 *   request for a different scope from a damaged one.
 *
 * A digest is several times as fast as sealing.
 */
import { timingSafeEqual } from 'node:crypto';
import { AppError } from '../../domain/app-error.ts';
import { openFormerSyncToken } from './former-tokens.ts';
import { keyedDigest, type Secrets, seal, type TokenBinding, unseal } from './secrets.ts';

const SEQUENCE_BYTES = 8;
/** Characters of base64url: 24 bytes without padding. */
const SEALED_CHARACTERS = 32;
/** 66 bits in each of the two digests. */
const DIGEST_CHARACTERS = 11;

/** The first part of a token. It can be kept for the last sequence of a version. */
export function sealSequence(sequence: number, secrets: Secrets): string {
  const plain = Buffer.alloc(SEQUENCE_BYTES);
  plain.writeDoubleBE(sequence);
  return seal(plain, secrets.sequence);
}

export function sealSyncToken(sealed: string, binding: TokenBinding, secrets: Secrets): string {
  const start = sealed + wholeDigest(sealed, binding, secrets).slice(0, DIGEST_CHARACTERS);
  return start + requestDigest(start, binding, secrets);
}

/**
 * Throws `since-scope-changed` for a token that was sealed for the same request and organization,
 * but for a different scope or redaction, and `since-invalid` for any other text.
 */
export function openSyncToken(token: string, binding: TokenBinding, secrets: Secrets): number {
  const sealed = token.slice(0, SEALED_CHARACTERS);
  const isSame = isSameText(token, sealSyncToken(sealed, binding, secrets));
  const plain =
    isSame || isOfVersion02(token, sealed, binding, secrets)
      ? unseal(sealed, secrets.sequence)
      : openFormerSyncToken(token, binding.whole, secrets.pseudonym);
  if (plain !== undefined) return plain.readDoubleBE();
  const start = token.slice(0, SEALED_CHARACTERS + DIGEST_CHARACTERS);
  if (isSameText(token, start + requestDigest(start, binding, secrets))) {
    throw new AppError(
      'since-scope-changed',
      'The sync token was issued for a different scope or redaction: what the key sees has changed, or the token is that of a different key. Start again with since=start and an empty table.',
    );
  }
  throw new AppError(
    'since-invalid',
    'The sync token is damaged, or from a request with a different route, filter or scope. Start again with since=start and an empty table.',
  );
}

/** Version 0.2 issued tokens with one long digest of the request and of what the key sees. */
function isOfVersion02(token: string, sealed: string, binding: TokenBinding, secrets: Secrets): boolean {
  return isSameText(token, sealed + wholeDigest(sealed, binding, secrets));
}

function wholeDigest(sealed: string, { whole }: TokenBinding, { syncTag }: Secrets): string {
  return keyedDigest(syncTag, `${sealed}\n${whole}`);
}

function requestDigest(start: string, { request }: TokenBinding, { syncRequest }: Secrets): string {
  return keyedDigest(syncRequest, `${start}\n${request}`).slice(0, DIGEST_CHARACTERS);
}

/** In constant time, so that the duration reveals nothing about the expected text. */
function isSameText(text: string, expected: string): boolean {
  const [given, wanted] = [Buffer.from(text), Buffer.from(expected)];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}
