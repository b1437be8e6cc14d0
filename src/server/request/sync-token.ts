/**
 * Sync tokens (decisions 19, 74): the sequence up to which a client has everything. A token can be
 * neither read nor forged. It is bound to the request, the scope and the redaction for which it was
 * issued. The first part is the sealed sequence, the same for all requests to the same version. The
 * second part is a keyed digest of the first part and of everything that the token is bound to. The
 * digest is several times as fast as sealing.
 */
import { timingSafeEqual } from 'node:crypto';
import { AppError } from '../../domain/app-error.ts';
import { openFormerSyncToken } from './former-tokens.ts';
import { keyedDigest, type Secrets, seal, unseal } from './secrets.ts';

const SEQUENCE_BYTES = 8;
/** Characters of base64url: 24 bytes without padding. */
const SEALED_CHARACTERS = 32;

/** The first part of a token. It can be kept for the last sequence of a version. */
export function sealSequence(sequence: number, secrets: Secrets): string {
  const plain = Buffer.alloc(SEQUENCE_BYTES);
  plain.writeDoubleBE(sequence);
  return seal(plain, secrets.sequence);
}

/** `binding` is the canonical text of everything that the token is bound to. */
export function sealSyncToken(sealed: string, binding: string, secrets: Secrets): string {
  return sealed + keyedDigest(secrets.syncTag, `${sealed}\n${binding}`);
}

/**
 * Throws `since-invalid` for a token that was not sealed for the same request, key and
 * organization.
 */
export function openSyncToken(token: string, binding: string, secrets: Secrets): number {
  const sealed = token.slice(0, SEALED_CHARACTERS);
  const given = Buffer.from(token);
  const expected = Buffer.from(sealSyncToken(sealed, binding, secrets));
  const isSame = given.length === expected.length && timingSafeEqual(given, expected);
  const plain = isSame
    ? unseal(sealed, secrets.sequence)
    : openFormerSyncToken(token, binding, secrets.pseudonym);
  if (plain === undefined) {
    throw new AppError(
      'since-invalid',
      'The sync token is damaged, or from a request with a different route, filter or scope. Start again with since=start and an empty table.',
    );
  }
  return plain.readDoubleBE();
}
