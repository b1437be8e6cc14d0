/**
 * Sync tokens (decisions 19, 74): up to which sequence a client has everything, so that a token can be neither read nor
 * made up, and bound to the question, the scope and the redaction it was given for. The first part is the sequence,
 * sealed: the same for all that ask the same version. The second is a keyed digest of that part and of what the token
 * is bound to, which takes a tenth of the time of sealing.
 */
import { timingSafeEqual } from 'node:crypto';
import { AppError } from '../../domain/app-error.ts';
import { openFormerSyncToken } from './former-tokens.ts';
import { keyedDigest, type Secrets, seal, unseal } from './secrets.ts';

const SEQUENCE_BYTES = 8;
/** Of base64url: 24 bytes without padding. */
const SEALED_CHARACTERS = 32;

/** The first part, which can be kept for the sequence of a version. */
export function sealSequence(sequence: number, secrets: Secrets): string {
  const plain = Buffer.alloc(SEQUENCE_BYTES);
  plain.writeDoubleBE(sequence);
  return seal(plain, secrets.sequence);
}

/** `binding` is the canonical text of everything that the token belongs to. */
export function sealSyncToken(sealed: string, binding: string, secrets: Secrets): string {
  return sealed + keyedDigest(secrets.syncTag, `${sealed}\n${binding}`);
}

/** Throws `since-invalid` for whatever was not sealed for the same question, key and organization. */
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
      'The sync token belongs to a different request or key, or is damaged. Start again with since=start and an empty table.',
    );
  }
  return plain.readDoubleBE();
}
