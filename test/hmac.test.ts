import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { HmacKey } from '../src/system/hmac.ts';

describe('an HMAC of two hashes', () => {
  it('is that of Node', () => {
    const secrets = fc.uint8Array({ maxLength: 64 });
    // Includes text whose characters V8 stores as one byte each, and halves of surrogate pairs.
    const units = fc.constantFrom('a', 'é', '€', '😀', '\ud800', '\udc00');
    const texts = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 300 }), fc.string({ unit: units }));
    fc.assert(
      fc.property(secrets, texts, (secret, text) => {
        const key = new HmacKey(secret);
        assert.equal(key.digest(text), nodeDigest(secret, text));
        assert.equal(key.digest(text), nodeDigest(secret, text));
      }),
    );
  });

  it('is that of Node for texts of any length', () => {
    const secret = new Uint8Array(32).fill(7);
    const key = new HmacKey(secret);
    for (const length of [1343, 1344, 1345, 4032, 4033, 100_000]) {
      for (const unit of ['a', 'é', '€', '😀', '\ud800']) {
        const text = unit.repeat(length);
        assert.equal(key.digest(text), nodeDigest(secret, text), `${length} times ${unit}`);
      }
    }
    assert.equal(key.digest(''), nodeDigest(secret, ''));
  });

  it('refuses a secret longer than a block', () => {
    assert.throws(() => new HmacKey(new Uint8Array(65)), RangeError);
  });
});

function nodeDigest(secret: Uint8Array, text: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url');
}
