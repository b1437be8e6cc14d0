/**
 * Secrets for one purpose each, derived from the secret of an organization, so that what one of them signs or
 * hides says nothing about another.
 */
import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';

export interface Secrets {
  readonly entityTag: KeyObject;
  readonly cursorSeal: Buffer;
  readonly cursorNonce: Buffer;
  /** The organization's own one, for the pseudonyms of rendering (decision 22). */
  readonly pseudonym: Uint8Array;
}

export function deriveSecrets(secret: Uint8Array): Secrets {
  const derive = (purpose: string) =>
    Buffer.from(hkdfSync('sha256', secret, new Uint8Array(), `corkboard ${purpose}`, 32));
  return {
    // As a key object: taking a secret over costs several times more than a digest with it.
    entityTag: createSecretKey(derive('entity tag')),
    cursorSeal: derive('cursor seal'),
    cursorNonce: derive('cursor nonce'),
    pseudonym: secret,
  };
}
