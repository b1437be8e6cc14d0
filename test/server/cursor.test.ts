import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { AppError } from '../../src/app-error.ts';
import { openCursor, type Place, sealCursor } from '../../src/server/cursor.ts';
import { deriveSecrets } from '../../src/server/secrets.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const PLAIN = { noNullPrototype: true };
const secrets = deriveSecrets(randomBytes(32));
const places: fc.Arbitrary<Place> = fc.oneof(
  fc.record({ afterId: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }) }, PLAIN),
  fc.record(
    {
      after: fc.record(
        { timestampMs: fc.integer({ min: -1e14, max: 1e15 }), sequence: fc.maxSafeNat() },
        PLAIN,
      ),
      upToSequence: fc.maxSafeNat(),
    },
    PLAIN,
  ),
);

const refused = (error: unknown) => error instanceof AppError && error.code === 'cursor-malformed';

describe('cursors', () => {
  it('bring back the place that was put in, and the same place makes the same cursor', () => {
    fc.assert(
      fc.property(places, fc.string(), (place, binding) => {
        const cursor = sealCursor(place, binding, secrets);
        assert.match(cursor, /^[A-Za-z0-9_-]{1,200}$/);
        assert.equal(sealCursor(place, binding, secrets), cursor);
        assert.deepEqual(openCursor(cursor, binding, secrets), place);
      }),
    );
  });

  it('are refused when damaged in any character', () => {
    fc.assert(
      fc.property(places, fc.nat(), fc.constantFrom(...ALPHABET), (place, at, character) => {
        const cursor = sealCursor(place, 'walk', secrets);
        const index = at % cursor.length;
        const damaged = cursor.slice(0, index) + character + cursor.slice(index + 1);
        if (damaged === cursor) return;
        assert.throws(() => openCursor(damaged, 'walk', secrets), refused);
      }),
    );
  });

  it('are refused for another question and in another organization', () => {
    const cursor = sealCursor({ afterId: 7n }, 'walk', secrets);
    assert.throws(() => openCursor(cursor, 'walk 2', secrets), refused);
    assert.throws(() => openCursor(cursor, 'walk', deriveSecrets(randomBytes(32))), refused);
    for (const odd of ['', 'x', 'abc=', cursor.slice(1), `${cursor}A`, cursor.repeat(2), 'A'.repeat(200)]) {
      assert.throws(() => openCursor(odd, 'walk', secrets), refused);
    }
  });

  it('of places that differ have nothing in common', () => {
    const cursors = [1n, 2n, 3n].map((afterId) => sealCursor({ afterId }, 'walk', secrets));
    const starts = new Set(cursors.map((cursor) => cursor.slice(0, 8)));
    assert.equal(starts.size, cursors.length);
    assert.equal(new Set(cursors.map(({ length }) => length)).size, 1);
  });
});
