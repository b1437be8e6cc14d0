/** The contract of keyrings, as one suite that runs over each kind of storage. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { crc32 } from 'node:zlib';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { type KeyGrant, type Keyring, statusOf } from '../../src/keys/keyring.ts';
import { until } from '../server/stand.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export const GRANT: KeyGrant = {
  organization: 'school',
  label: 'dashboard',
  scope: FULL_SCOPE,
  redact: { email: false, name: false, id: false },
};

/** Separate storage for keys, initially empty. */
export interface KeyPlace {
  /** Opens a keyring over these keys, as each process does. It uses no clock except `now`. */
  open(now: () => number): Keyring;
  /** All stored data, as text. */
  contents(): Promise<string>;
  remove(): Promise<void>;
}

export interface KindOfKeyring {
  /** How long a different process may use its cached state of a key, in milliseconds. */
  readonly noticeMs: number;
  place(): Promise<KeyPlace>;
}

export const refused = (code: string) => ({ name: 'AppError', code });

export function testKeyring(kind: KindOfKeyring): void {
  let place: KeyPlace;
  let keyring: Keyring;
  let nowMs: number;
  const now = () => nowMs;

  beforeEach(async () => {
    place = await kind.place();
    nowMs = Date.UTC(2026, 0, 1);
    keyring = place.open(now);
  });

  afterEach(async () => {
    await keyring.close();
    await place.remove();
  });

  describe('a new key', () => {
    it('is found with everything that it grants, also after a restart', async () => {
      const grant: KeyGrant = {
        organization: 'school',
        label: 'Ärger & "Daten"',
        scope: { boards: [-1n, 2n ** 63n - 1n], users: 'of-boards' },
        ...{ redact: { email: true, name: false, id: true }, allowLmsLookup: true },
        rateLimit: { requests: 100, perSeconds: 60 },
        networks: ['10.0.0.0/8', '2001:db8::/32'],
        lmsSplits: ['cohort', 'campus'],
      };
      const { key, entry } = await keyring.create(grant, nowMs + HOUR_MS);
      await keyring.close();
      keyring = place.open(now);
      const found = await keyring.find(key);
      assert.deepEqual(found, entry);
      assert.deepEqual(found, {
        ...grant,
        id: key.split('_')[1],
        createdMs: nowMs,
        expiresMs: nowMs + HOUR_MS,
        revokedMs: undefined,
        lastUsedMs: undefined,
        rotatedTo: undefined,
      });
    });

    it('can see nothing, a list, or everything', async () => {
      for (const scope of [
        { boards: [], users: [] },
        { boards: [3n], users: [4n, 5n] },
        FULL_SCOPE,
      ] as const) {
        const { key } = await keyring.create({ ...GRANT, scope }, undefined);
        assert.deepEqual((await keyring.find(key)).scope, scope);
      }
    });

    it('has the same scope object every time, so that results derived from it can be cached', async () => {
      const { key } = await keyring.create({ ...GRANT, scope: { boards: [1n], users: 'all' } }, undefined);
      assert.equal((await keyring.find(key)).scope, (await keyring.find(key)).scope);
    });

    it('is stored neither whole nor in part', async () => {
      const { key, entry } = await keyring.create(GRANT, undefined);
      const secret = key.split('_')[2] ?? '';
      const kept = await place.contents();
      assert.ok(kept.includes(entry.id) && !kept.includes(secret));
    });
  });

  describe('an unknown key', () => {
    it('is refused with the same error for no key, an unknown id, a wrong secret and a wrong checksum', async () => {
      const { key } = await keyring.create(GRANT, undefined);
      const withChecksum = (body: string) => `${body}_${crc32(body).toString(16).padStart(8, '0')}`;
      const [prefix, id, secret = ''] = key.split('_');
      const otherSecret = (secret.startsWith('a') ? 'b' : 'a') + secret.slice(1);
      const wrong = [
        '',
        'Bearer',
        withChecksum(`${prefix}_abcdefghijkl_${secret}`),
        withChecksum(`${prefix}_${id}_${otherSecret}`),
        `${key.slice(0, -8)}${key.at(-8) === '0' ? '1' : '0'}${key.slice(-7)}`,
      ];
      for (const text of wrong) await assert.rejects(keyring.find(text), refused('key-unknown'), text);
      await assert.doesNotReject(keyring.find(key));
    });
  });

  describe('a cached key', () => {
    it('does not admit a different key with the same id', async () => {
      const { key } = await keyring.create(GRANT, undefined);
      await keyring.find(key);
      const [, id, secret = ''] = key.split('_');
      const body = `cork_${id}_${secret.startsWith('a') ? 'b' : 'a'}${secret.slice(1)}`;
      const forged = `${body}_${crc32(body).toString(16).padStart(8, '0')}`;
      await assert.rejects(keyring.find(forged), refused('key-unknown'));
      await assert.rejects(keyring.find(key.toUpperCase()), refused('key-unknown'));
      assert.ok(await keyring.find(key));
    });

    it('shows the changes of other processes', async () => {
      const { key, entry } = await keyring.create(GRANT, undefined);
      const server = place.open(now);
      const found = await server.find(key);
      assert.equal(await server.find(key), found);
      const { entry: successor } = await keyring.rotate(entry.id, HOUR_MS);
      nowMs += kind.noticeMs;
      assert.equal((await server.find(key)).rotatedTo, successor.id);
      assert.equal((await server.find(key)).scope, found.scope);
      await server.close();
    });
  });

  describe('expiry', () => {
    it('refuses a key from that exact millisecond on', async () => {
      const { key } = await keyring.create(GRANT, nowMs + 1000);
      nowMs += 999;
      assert.equal(statusOf(await keyring.find(key), nowMs), 'active');
      nowMs += 1;
      await assert.rejects(keyring.find(key), refused('key-expired'));
    });

    it('refuses a cached key after an overlap', async () => {
      const { key, entry } = await keyring.create(GRANT, undefined);
      await keyring.find(key);
      await keyring.rotate(entry.id, 1000);
      await keyring.find(key);
      nowMs += 1000;
      await assert.rejects(keyring.find(key), refused('key-expired'));
    });

    it('can be in the past', async () => {
      const { key } = await keyring.create(GRANT, nowMs - 1);
      await assert.rejects(keyring.find(key), refused('key-expired'));
    });
  });

  describe('revocation', () => {
    it('takes effect on the next look-up in other processes, once they have had time to notice', async () => {
      const { key, entry } = await keyring.create(GRANT, undefined);
      const server = place.open(now);
      await server.find(key);
      await keyring.revoke(entry.id);
      nowMs += kind.noticeMs;
      await assert.rejects(server.find(key), refused('key-revoked'));
      await server.close();
    });

    it('takes effect on the next look-up of a cached key in the same process', async () => {
      const { key, entry } = await keyring.create(GRANT, undefined);
      await keyring.find(key);
      await keyring.revoke(entry.id);
      await assert.rejects(keyring.find(key), refused('key-revoked'));
    });

    it('takes effect on each of many concurrent look-ups that begin after it', async () => {
      const { key, entry } = await keyring.create(GRANT, undefined);
      const server = place.open(now);
      const before = Array.from({ length: 10 }, () => server.find(key));
      await Promise.all(before);
      const during = server.find(key).catch(() => undefined);
      await keyring.revoke(entry.id);
      nowMs += kind.noticeMs;
      const after = Array.from({ length: 10 }, () => server.find(key));
      await Promise.all(after.map((found) => assert.rejects(found, refused('key-revoked'))));
      await during;
      await server.close();
    });

    it('keeps its first time, and takes precedence over expiry', async () => {
      const { key, entry } = await keyring.create(GRANT, nowMs + HOUR_MS);
      const { revokedMs } = await keyring.revoke(entry.id);
      nowMs += 2 * HOUR_MS;
      assert.equal((await keyring.revoke(entry.id)).revokedMs, revokedMs);
      await assert.rejects(keyring.find(key), refused('key-revoked'));
    });

    it('is refused for an unknown id, and its error contains no key', async () => {
      await assert.rejects(keyring.revoke('abcdefghijkl'), {
        code: 'key-id-unknown',
        message: /abcdefghijkl/,
      });
      const { key } = await keyring.create(GRANT, undefined);
      await assert.rejects(keyring.revoke(key), (error: Error) => !error.message.includes('cork_'));
    });
  });

  describe('rotation', () => {
    it('gives a new key the same grant, and both keys work during the overlap', async () => {
      const grant: KeyGrant = {
        ...GRANT,
        scope: { boards: [7n], users: [8n] },
        redact: { email: true, name: true, id: false },
        rateLimit: { requests: 5, perSeconds: 1 },
      };
      const old = await keyring.create(grant, undefined);
      const successor = await keyring.rotate(old.entry.id, HOUR_MS);
      const { id, ...granted } = successor.entry;
      const { id: oldId, ...grantedBefore } = old.entry;
      assert.deepEqual(granted, grantedBefore);
      assert.notEqual(id, oldId);
      assert.equal((await keyring.find(old.key)).rotatedTo, id);
      nowMs += HOUR_MS;
      await assert.rejects(keyring.find(old.key), refused('key-expired'));
      await assert.doesNotReject(keyring.find(successor.key));
    });

    it('never extends the life of the old key', async () => {
      const old = await keyring.create(GRANT, nowMs + MINUTE_MS);
      await keyring.rotate(old.entry.id, HOUR_MS);
      assert.equal((await keyring.find(old.key)).expiresMs, nowMs + MINUTE_MS);
    });

    it('gives the new key the same lifetime again, also if the old key is in its overlap', async () => {
      const old = await keyring.create(GRANT, nowMs + 10 * HOUR_MS);
      nowMs += 9 * HOUR_MS;
      const successor = await keyring.rotate(old.entry.id, MINUTE_MS);
      assert.equal(successor.entry.expiresMs, nowMs + 10 * HOUR_MS);
      const again = await keyring.rotate(old.entry.id, 2 * HOUR_MS);
      assert.equal(again.entry.expiresMs, nowMs + 10 * HOUR_MS);
      assert.equal((await keyring.find(old.key)).expiresMs, nowMs + MINUTE_MS);
      assert.equal((await keyring.find(old.key)).rotatedTo, again.entry.id);
    });

    it('gives the new key the requested expiry, or none', async () => {
      const old = await keyring.create(GRANT, nowMs + HOUR_MS);
      const longer = await keyring.rotate(old.entry.id, 0, nowMs + 2 * HOUR_MS);
      assert.equal(longer.entry.expiresMs, nowMs + 2 * HOUR_MS);
      const endless = await keyring.rotate(longer.entry.id, 0, 'never');
      assert.equal(endless.entry.expiresMs, undefined);
      assert.equal((await keyring.rotate(endless.entry.id, 0)).entry.expiresMs, undefined);
    });

    it('gives an expired key a successor, and leaves it expired', async () => {
      const old = await keyring.create(GRANT, nowMs + HOUR_MS);
      nowMs += 2 * HOUR_MS;
      const successor = await keyring.rotate(old.entry.id, HOUR_MS);
      assert.equal((await keyring.find(successor.key)).expiresMs, nowMs + HOUR_MS);
      await assert.rejects(keyring.find(old.key), refused('key-expired'));
    });

    it('ends the old key at once without an overlap', async () => {
      const old = await keyring.create(GRANT, undefined);
      await keyring.rotate(old.entry.id, 0);
      await assert.rejects(keyring.find(old.key), refused('key-expired'));
    });

    it('is refused for revoked and unknown keys, and creates no key', async () => {
      const revoked = await keyring.create(GRANT, undefined);
      await keyring.revoke(revoked.entry.id);
      await assert.rejects(keyring.rotate(revoked.entry.id, 0), refused('key-revoked'));
      await assert.rejects(keyring.rotate('abcdefghijkl', 0), refused('key-id-unknown'));
      assert.equal((await keyring.list()).length, 1);
    });
  });

  describe('a change', () => {
    const GRANTED = {
      label: 'changed',
      scope: { boards: [-1n, 2n ** 63n - 1n], users: [3n] },
      redact: { email: true, name: false, id: true },
      allowLmsLookup: true,
      lmsSplits: ['cohort'],
      rateLimit: { requests: 5, perSeconds: 60 },
    } as const;

    it('gives the same secret a different grant, in other processes once they have had time to notice', async () => {
      const { key, entry } = await keyring.create(GRANT, undefined);
      const server = place.open(now);
      const before = await server.find(key);
      const changed = await keyring.configure(entry.id, () => ({ ...GRANTED, expiry: nowMs + HOUR_MS }));
      assert.deepEqual(changed, { ...entry, ...GRANTED, expiresMs: nowMs + HOUR_MS });
      assert.deepEqual(await keyring.find(key), changed);
      nowMs += kind.noticeMs;
      const found = await server.find(key);
      assert.deepEqual(found, changed);
      assert.notEqual(found.scope, before.scope);
      assert.equal((await server.find(key)).scope, found.scope);
      await server.close();
    });

    it('keeps values that it does not name, including the end of an overlap', async () => {
      const { entry } = await keyring.create({ ...GRANT, ...GRANTED }, nowMs + 10 * HOUR_MS);
      const { entry: successor } = await keyring.rotate(entry.id, HOUR_MS);
      const before = (await keyring.list()).find(({ id }) => id === entry.id);
      const renamed = await keyring.configure(entry.id, () => ({ label: 'old' }));
      assert.deepEqual(renamed, { ...before, label: 'old' });
      const extended = await keyring.configure(entry.id, () => ({ expiry: 'never' }));
      assert.equal(extended.expiresMs, nowMs + HOUR_MS);
      assert.equal(extended.rotatedTo, successor.id);
    });

    it('is computed from the current key, and can remove a rate limit and an expiry', async () => {
      const { entry } = await keyring.create({ ...GRANT, ...GRANTED }, nowMs + HOUR_MS);
      const changed = await keyring.configure(entry.id, (old) => {
        assert.deepEqual(old, entry);
        return { rateLimit: undefined, expiry: 'never' };
      });
      assert.deepEqual([changed.rateLimit, changed.expiresMs], [undefined, undefined]);
    });

    it('reactivates an expired key, but is refused for revoked and unknown keys', async () => {
      const { key, entry } = await keyring.create(GRANT, nowMs);
      await assert.rejects(keyring.find(key), refused('key-expired'));
      await keyring.configure(entry.id, () => ({ expiry: nowMs + HOUR_MS }));
      assert.equal((await keyring.find(key)).expiresMs, nowMs + HOUR_MS);
      await keyring.revoke(entry.id);
      const change = () => ({ label: 'new' });
      await assert.rejects(keyring.configure(entry.id, change), refused('key-revoked'));
      await assert.rejects(keyring.configure('abcdefghijkl', change), refused('key-id-unknown'));
      assert.equal((await keyring.list())[0]?.label, 'dashboard');
    });
  });

  describe('the longest life', () => {
    const refusedLife = refused('key-life-refused');

    it('is the life of a key without a chosen one, and the limit of a chosen one', async () => {
      const { entry } = await keyring.create(GRANT, undefined, HOUR_MS);
      assert.equal(entry.expiresMs, nowMs + HOUR_MS);
      for (const expiry of [nowMs - 1, nowMs + 1, nowMs + HOUR_MS]) {
        assert.equal((await keyring.create(GRANT, expiry, HOUR_MS)).entry.expiresMs, expiry);
      }
      for (const expiry of [nowMs + HOUR_MS + 1, 'never'] as const) {
        await assert.rejects(keyring.create(GRANT, expiry, HOUR_MS), refusedLife);
      }
      assert.equal((await keyring.create(GRANT, 'never')).entry.expiresMs, undefined);
      assert.equal((await keyring.list()).length, 5, 'refused keys are not stored');
    });

    it('shortens the lifetime that a rotation takes over, and refuses a longer one', async () => {
      const { entry: endless } = await keyring.create(GRANT, undefined);
      const { entry: short } = await keyring.create(GRANT, nowMs + MINUTE_MS);
      for (const expiry of [nowMs + HOUR_MS + 1, 'never'] as const) {
        await assert.rejects(keyring.rotate(endless.id, 0, expiry, HOUR_MS), refusedLife);
      }
      assert.equal((await keyring.list())[0]?.rotatedTo, undefined, 'nothing has changed');
      const endOf = async (id: string) => (await keyring.rotate(id, 0, undefined, HOUR_MS)).entry.expiresMs;
      assert.equal(await endOf(endless.id), nowMs + HOUR_MS);
      assert.equal(await endOf(short.id), nowMs + MINUTE_MS);
    });
  });

  describe('the entry of an id', () => {
    it('is found whether the key is in force or not, but not for an unknown id', async () => {
      const { entry } = await keyring.create(GRANT, undefined);
      assert.deepEqual(await keyring.entry(entry.id), entry);
      const revoked = await keyring.revoke(entry.id);
      assert.deepEqual(await keyring.entry(entry.id), revoked);
      await assert.rejects(keyring.entry('aaaaaaaaaaaa'), refused('key-id-unknown'));
    });
  });

  describe('the list', () => {
    it('contains the keys of all organizations or of one, oldest first', async () => {
      const first = await keyring.create(GRANT, undefined);
      nowMs += 1;
      const second = await keyring.create({ ...GRANT, organization: 'club' }, undefined);
      nowMs += 1;
      const third = await keyring.create(GRANT, undefined);
      const idsOf = async (organization?: string) => (await keyring.list(organization)).map(({ id }) => id);
      assert.deepEqual(await idsOf(), [first.entry.id, second.entry.id, third.entry.id]);
      assert.deepEqual(await idsOf('school'), [first.entry.id, third.entry.id]);
      assert.deepEqual(await idsOf('unknown'), []);
    });
  });

  describe('the dates of all keys', () => {
    it('are those of the entries', async () => {
      const { entry } = await keyring.create(GRANT, nowMs + HOUR_MS);
      await keyring.rotate(entry.id, MINUTE_MS);
      const { entry: other } = await keyring.create({ ...GRANT, organization: 'club' }, undefined);
      await keyring.revoke(other.id);
      const entries = await keyring.list();
      assert.deepEqual(
        await keyring.dates(),
        entries.map(({ organization, createdMs, expiresMs, revokedMs, lastUsedMs }) => {
          return { organization, createdMs, expiresMs, revokedMs, lastUsedMs };
        }),
      );
    });
  });

  describe('the last use', () => {
    const isNoted = (ms: number) => until(async () => (await keyring.list())[0]?.lastUsedMs === ms);

    it('is written at most once a minute', async () => {
      const { key } = await keyring.create(GRANT, undefined);
      keyring.recordUse(await keyring.find(key));
      await isNoted(nowMs);
      nowMs += MINUTE_MS - 1;
      keyring.recordUse(await keyring.find(key));
      await isNoted(nowMs - MINUTE_MS + 1);
      nowMs += 1;
      keyring.recordUse(await keyring.find(key));
      await isNoted(nowMs);
    });
  });
}
