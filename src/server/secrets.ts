/**
 * Secrets for one purpose each, derived from the secret of an organization, so that what one of them signs or
 * hides says nothing about another.
 */
import { hkdfSync } from 'node:crypto';

export interface Secrets {
  /** As text, always of the same length: what it is put before is hashed as text. */
  readonly entityTag: string;
  readonly cursorSeal: Buffer;
  readonly cursorNonce: Buffer;
  readonly syncToken: Buffer;
  /** As `entityTag`. */
  readonly syncTag: string;
  /** The organization's own one, for the pseudonyms of rendering (decision 22). */
  readonly pseudonym: Uint8Array;
}

export function deriveSecrets(secret: Uint8Array): Secrets {
  const derive = (purpose: string) =>
    Buffer.from(hkdfSync('sha256', secret, new Uint8Array(), `corkboard ${purpose}`, 32));
  return {
    entityTag: derive('entity tag').toString('base64url'),
    cursorSeal: derive('cursor seal'),
    cursorNonce: derive('cursor nonce'),
    syncToken: derive('sync token'),
    syncTag: derive('sync tag').toString('base64url'),
    pseudonym: secret,
  };
}
