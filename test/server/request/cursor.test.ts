import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { AppError } from '../../../src/domain/app-error.ts';
import { openCursor, sealCursor, type WalkPlace } from '../../../src/server/request/cursor.ts';
import { deriveSecrets, keyedDigest, seal } from '../../../src/server/request/secrets.ts';
import { openSyncToken, sealSequence, sealSyncToken } from '../../../src/server/request/sync-token.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const PLAIN = { noNullPrototype: true };
const secrets = deriveSecrets(randomBytes(32));
const places: fc.Arbitrary<WalkPlace> = fc.oneof(
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

const bindings = fc.record({ request: fc.string(), whole: fc.string() }, PLAIN);
/** Versions 0.1 and 0.2 bound cursors and tokens to the second text only. */
const WALK = { request: 'request', whole: 'walk' };
const SYNC = { request: 'request', whole: 'sync' };
const OTHER = { request: 'request 2', whole: 'whole 2' };

const withCode = (code: string) => (error: unknown) => error instanceof AppError && error.code === code;
const refused = withCode('cursor-malformed');

/** Issued by version 0.1 under this secret, for the binding `walk`. */
const FORMER = {
  secret: Buffer.alloc(32, 7),
  ofList: 'pKMzOKs0Htz4DEADJxTi0ZxoR-lJsTfFZIaPDAteqoT_HzOO',
  ofEvents: 'V3icZOJBEl2IIlS57T9IElGZ6_HAZCSAP6u0Hvtu3kDwRXpzqdfGdK37_1SLkHvlzlDxfQ',
  syncToken: '-uQwRTaSZAzurUNpiKHwAAphO25muSBI',
};

describe('cursors', () => {
  it('return the position that they were made from, and the same position makes the same cursor', () => {
    fc.assert(
      fc.property(places, bindings, (place, binding) => {
        const cursor = sealCursor(place, binding, secrets);
        assert.match(cursor, /^[A-Za-z0-9_-]{1,200}$/);
        assert.equal(sealCursor(place, binding, secrets), cursor);
        assert.deepEqual(openCursor(cursor, binding, secrets), place);
      }),
    );
  });

  it('are refused if any character is damaged', () => {
    fc.assert(
      fc.property(places, fc.nat(), fc.constantFrom(...ALPHABET), (place, at, character) => {
        const cursor = sealCursor(place, WALK, secrets);
        const index = at % cursor.length;
        const damaged = cursor.slice(0, index) + character + cursor.slice(index + 1);
        if (damaged === cursor) return;
        assert.throws(() => openCursor(damaged, WALK, secrets), refused);
      }),
    );
  });

  it('are refused for a different query or organization', () => {
    const cursor = sealCursor({ afterId: 7n }, WALK, secrets);
    assert.throws(() => openCursor(cursor, OTHER, secrets), refused);
    assert.throws(() => openCursor(cursor, WALK, deriveSecrets(randomBytes(32))), refused);
    for (const odd of ['', 'x', 'abc=', cursor.slice(1), `${cursor}A`, cursor.repeat(2), 'A'.repeat(200)]) {
      assert.throws(() => openCursor(odd, WALK, secrets), refused);
    }
  });

  it('say so if only what the key sees is different, unless they are damaged or of another organization', () => {
    const changed = withCode('cursor-scope-changed');
    const narrowed = { ...WALK, whole: 'narrowed' };
    fc.assert(
      fc.property(places, fc.nat(), fc.constantFrom(...ALPHABET), (place, at, character) => {
        const cursor = sealCursor(place, WALK, secrets);
        assert.throws(() => openCursor(cursor, narrowed, secrets), changed);
        const index = at % cursor.length;
        const damaged = cursor.slice(0, index) + character + cursor.slice(index + 1);
        if (damaged !== cursor) assert.throws(() => openCursor(damaged, narrowed, secrets), refused);
      }),
    );
    const cursor = sealCursor({ afterId: 7n }, WALK, secrets);
    assert.throws(() => openCursor(cursor, { ...WALK, request: 'request 2' }, secrets), refused);
    assert.throws(() => openCursor(cursor, narrowed, deriveSecrets(randomBytes(32))), refused);
  });

  it('of version 0.2 are still valid, only for the same query, scope and organization', () => {
    const plain = Buffer.alloc(8);
    plain.writeBigInt64BE(7n);
    const cursor = seal(plain, secrets.cursor, 'walk');
    assert.deepEqual(openCursor(cursor, WALK, secrets), { afterId: 7n });
    assert.throws(() => openCursor(cursor, { ...WALK, whole: 'narrowed' }, secrets), refused);
  });

  it('have nothing in common for different positions', () => {
    const cursors = [1n, 2n, 3n].map((afterId) => sealCursor({ afterId }, WALK, secrets));
    const starts = new Set(cursors.map((cursor) => cursor.slice(0, 8)));
    assert.equal(starts.size, cursors.length);
    assert.equal(new Set(cursors.map(({ length }) => length)).size, 1);
  });

  it('of version 0.1 are still valid, only for the same query and organization', () => {
    const former = deriveSecrets(FORMER.secret);
    const after = { timestampMs: 1_524_700_000_000, sequence: 12 };
    assert.deepEqual(openCursor(FORMER.ofList, WALK, former), { afterId: 7n });
    assert.deepEqual(openCursor(FORMER.ofEvents, WALK, former), { after, upToSequence: 34 });
    for (const cursor of [FORMER.ofList, FORMER.ofEvents]) {
      assert.throws(() => openCursor(cursor, OTHER, former), refused);
      assert.throws(() => openCursor(cursor, WALK, secrets), refused);
      assert.throws(() => openCursor(`A${cursor.slice(1)}`, WALK, former), refused);
    }
  });
});

describe('sync tokens', () => {
  const refusedToken = withCode('since-invalid');

  it('return the sequence number that they were made from, and the same number makes the same token', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), bindings, (sequence, binding) => {
        const token = sealSyncToken(sealSequence(sequence, secrets), binding, secrets);
        assert.match(token, /^[A-Za-z0-9_-]{1,200}$/);
        assert.equal(sealSyncToken(sealSequence(sequence, secrets), binding, secrets), token);
        assert.equal(openSyncToken(token, binding, secrets), sequence);
      }),
    );
  });

  it('are refused if any character is damaged', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.nat(), fc.constantFrom(...ALPHABET), (sequence, at, character) => {
        const token = sealSyncToken(sealSequence(sequence, secrets), SYNC, secrets);
        const index = at % token.length;
        const damaged = token.slice(0, index) + character + token.slice(index + 1);
        if (damaged === token) return;
        assert.throws(() => openSyncToken(damaged, SYNC, secrets), refusedToken);
      }),
    );
  });

  it('are refused for a different query or organization', () => {
    const token = sealSyncToken(sealSequence(7, secrets), SYNC, secrets);
    assert.throws(() => openSyncToken(token, OTHER, secrets), refusedToken);
    assert.throws(() => openSyncToken(token, SYNC, deriveSecrets(randomBytes(32))), refusedToken);
    for (const odd of ['', 'x', 'start', token.slice(1), `${token}A`, `${token}=`, 'A'.repeat(32)]) {
      assert.throws(() => openSyncToken(odd, SYNC, secrets), refusedToken);
    }
  });

  it('say so if only what the key sees is different, unless they are damaged or of another organization', () => {
    const changed = withCode('since-scope-changed');
    const narrowed = { ...SYNC, whole: 'narrowed' };
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.nat(), fc.constantFrom(...ALPHABET), (sequence, at, character) => {
        const token = sealSyncToken(sealSequence(sequence, secrets), SYNC, secrets);
        assert.throws(() => openSyncToken(token, narrowed, secrets), changed);
        const index = at % token.length;
        const damaged = token.slice(0, index) + character + token.slice(index + 1);
        if (damaged !== token) assert.throws(() => openSyncToken(damaged, narrowed, secrets), refusedToken);
      }),
    );
    const token = sealSyncToken(sealSequence(7, secrets), SYNC, secrets);
    assert.throws(() => openSyncToken(token, { ...SYNC, request: 'request 2' }, secrets), refusedToken);
    assert.throws(() => openSyncToken(token, narrowed, deriveSecrets(randomBytes(32))), refusedToken);
    for (const odd of [token.slice(0, -1), `${token}A`, token.slice(0, 43), token.slice(0, 32)]) {
      assert.throws(() => openSyncToken(odd, narrowed, secrets), refusedToken);
    }
  });

  it('of version 0.2 are as long and still valid, only for the same query, scope and organization', () => {
    const sealed = sealSequence(7, secrets);
    const token = sealed + keyedDigest(secrets.syncTag, `${sealed}\nsync`);
    assert.equal(token.length, sealSyncToken(sealed, SYNC, secrets).length);
    assert.equal(openSyncToken(token, SYNC, secrets), 7);
    assert.throws(() => openSyncToken(token, { ...SYNC, whole: 'narrowed' }, secrets), refusedToken);
  });

  it('of version 0.1 are still valid, only for the same query and organization', () => {
    const former = deriveSecrets(FORMER.secret);
    assert.equal(openSyncToken(FORMER.syncToken, WALK, former), 34);
    assert.throws(() => openSyncToken(FORMER.syncToken, OTHER, former), refusedToken);
    assert.throws(() => openSyncToken(FORMER.syncToken, WALK, secrets), refusedToken);
    assert.throws(() => openSyncToken(`A${FORMER.syncToken.slice(1)}`, WALK, former), refusedToken);
  });
});
