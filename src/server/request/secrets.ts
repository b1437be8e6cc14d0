/**
 * Secrets for one purpose each, derived from the secret of an organization, so that text signed or
 * sealed with one of them reveals nothing about the others; and the two ways to use them.
 */
import { hkdfSync } from 'node:crypto';
import { aessiv } from '@noble/ciphers/aes.js';
import { HmacKey } from '../../system/hmac.ts';

export interface Secrets {
  readonly entityTag: HmacKey;
  readonly syncTag: HmacKey;
  readonly syncRequest: HmacKey;
  /** For AES-SIV, like `sequence`. */
  readonly cursor: Uint8Array;
  readonly sequence: Uint8Array;
  /** The secret of the organization itself, for the pseudonyms of rendering (decision 22). */
  readonly pseudonym: Uint8Array;
}

/** Everything that a cursor or a sync token is bound to, as canonical texts. */
export interface TokenBinding {
  /** The request alone. */
  readonly request: string;
  /** The request, and what the key sees. */
  readonly whole: string;
}

/** Two AES-256 keys. */
const SIV_KEY_BYTES = 64;
/** Characters of base64url: 132 of the 256 bits of the digest. */
const DIGEST_CHARACTERS = 22;

export function deriveSecrets(secret: Uint8Array): Secrets {
  return {
    entityTag: new HmacKey(derive(secret, 'entity tag hmac')),
    syncTag: new HmacKey(derive(secret, 'sync tag hmac')),
    syncRequest: new HmacKey(derive(secret, 'sync request hmac')),
    cursor: derive(secret, 'cursor aes-siv', SIV_KEY_BYTES),
    sequence: derive(secret, 'sequence aes-siv', SIV_KEY_BYTES),
    pseudonym: secret,
  };
}

export function derive(secret: Uint8Array, purpose: string, bytes = 32): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, new Uint8Array(), `corkboard ${purpose}`, bytes));
}

/** The start of the HMAC of the text, in base64url. */
export function keyedDigest(secret: HmacKey, text: string): string {
  return secret.digest(text).slice(0, DIGEST_CHARACTERS);
}

/** AES-SIV (RFC 5297), in base64url: the same text for the same bytes and binding. */
export function seal(plain: Uint8Array, secret: Uint8Array, binding = ''): string {
  return Buffer.from(aessiv(secret, Buffer.from(binding)).encrypt(plain)).toString('base64url');
}

/** Absent for a text that was not sealed with the same secret and binding. */
export function unseal(sealed: string, secret: Uint8Array, binding = ''): Buffer | undefined {
  const bytes = Buffer.from(sealed, 'base64url');
  // A second spelling of the same bytes is refused, too.
  if (bytes.toString('base64url') !== sealed) return undefined;
  try {
    return Buffer.from(aessiv(secret, Buffer.from(binding)).decrypt(bytes));
  } catch {
    return undefined;
  }
}
