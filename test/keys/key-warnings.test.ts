import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { warningsOf } from '../../src/keys/key-warnings.ts';
import type { KeyDates } from '../../src/keys/keyring.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 5, 1);
const ENDLESS: KeyDates = {
  organization: 'school',
  createdMs: NOW_MS - 1,
  ...{ expiresMs: undefined, revokedMs: undefined, lastUsedMs: undefined },
};

describe('warnings', () => {
  it('are given for the dates of an active key, to the millisecond', () => {
    const created = (days: number) => ({ createdMs: NOW_MS - days * DAY_MS });
    for (const [dates, warnings] of [
      [{}, []],
      [{ expiresMs: NOW_MS + 14 * DAY_MS }, ['expires-soon']],
      [{ expiresMs: NOW_MS + 14 * DAY_MS + 1 }, []],
      [created(90), ['unused']],
      [created(89), []],
      [{ ...created(900), lastUsedMs: NOW_MS - 89 * DAY_MS }, []],
      [{ ...created(900), lastUsedMs: NOW_MS - 90 * DAY_MS }, ['unused']],
      [{ ...created(900), expiresMs: NOW_MS + 1 }, ['expires-soon', 'unused']],
    ] as const) {
      assert.deepEqual(warningsOf({ ...ENDLESS, ...dates }, NOW_MS), warnings, JSON.stringify(dates));
    }
  });

  it('name a key that lives longer than its organization permits', () => {
    const lives = (expiresMs: number | undefined) =>
      warningsOf({ ...ENDLESS, expiresMs }, NOW_MS, 30 * DAY_MS).includes('lives-too-long');
    assert.deepEqual([undefined, NOW_MS + 30 * DAY_MS, NOW_MS + 30 * DAY_MS - 1].map(lives), [
      true,
      true,
      false,
    ]);
  });

  it('are not given for keys that have ended', () => {
    for (const ended of [{ expiresMs: NOW_MS }, { revokedMs: NOW_MS - 1 }]) {
      assert.deepEqual(warningsOf({ ...ENDLESS, createdMs: 0, ...ended }, NOW_MS, 1), []);
    }
  });
});
