import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readLimits } from '../../../src/cli/terminal/options.ts';
import {
  isLimitName,
  LIMIT_NAMES,
  LIMITS,
  type LimitName,
  renderDefault,
  renderValue,
  resolveLimits,
} from '../../../src/server/limits/limits.ts';

const FREE = { memory: 8e9, disk: 100e9 };

describe('the limits', () => {
  it('are documented in docs/operations.md with the values of the table', () => {
    const text = readFileSync(join(import.meta.dirname, '../../../docs/operations.md'), 'utf8');
    const documented = text.split('\n').filter((line) => {
      const [, name = ''] = /^\| `([a-z-]+)` \|/.exec(line) ?? [];
      return isLimitName(name);
    });
    const expected = LIMIT_NAMES.map(
      (name) => `| \`${name}\` | ${renderDefault(name)} | ${LIMITS[name].help} |`,
    );
    assert.deepEqual(
      documented,
      expected,
      'Bring docs/operations.md and src/server/limits/limits.ts into line.',
    );
  });

  it('depend on the machine and the number of processes by default', () => {
    const one = resolveLimits({}, 1, FREE);
    assert.equal(one['response-memory'], 2e9);
    assert.equal(one['response-memory-per-key'], 0.5e9);
    assert.equal(one['parquet-disk'], 50e9);
    const four = resolveLimits({}, 4, FREE);
    assert.equal(four['response-memory'], 0.5e9);
    assert.equal(four['parquet-disk-per-organization'], 6.25e9);
    assert.equal(resolveLimits({}, 8, { memory: 1e8, disk: 0 })['response-memory'], 96e6);
  });

  it('that are given are applied, also to the limits derived from them', () => {
    const limits = resolveLimits({ 'response-memory': 400e6, streams: 0 }, 4, FREE);
    assert.equal(limits['response-memory-per-organization'], 200e6);
    assert.equal(limits['response-memory-per-key'], 100e6);
    assert.equal(limits.streams, 0);
    assert.equal(limits['streams-per-key'], 1_024);
  });

  it('of an organization leave room for others, and those of a key are no larger', () => {
    const limits = resolveLimits({}, 1, FREE);
    for (const name of LIMIT_NAMES) {
      const ofOrganization = `${name}-per-organization`;
      const ofKey = `${name}-per-key`;
      if (isLimitName(ofOrganization)) assert.ok(limits[ofOrganization] <= limits[name] / 2, ofOrganization);
      if (isLimitName(ofOrganization) && isLimitName(ofKey)) {
        assert.ok(limits[ofKey] <= limits[ofOrganization], ofKey);
      }
    }
  });

  it('are parsed in the form in which defaults are written', () => {
    const limits = resolveLimits({}, 1, FREE);
    for (const name of LIMIT_NAMES) {
      const { unit } = LIMITS[name];
      const text = renderValue(unit, limits[name]);
      assert.deepEqual(readLimits(`${name}=${text}`), { [name]: limits[name] }, text);
    }
  });
});

describe('--limit', () => {
  it('takes several limits, separated by spaces or in several options; the last value of a name applies', () => {
    const first = readLimits(' responses=8  response-memory=64k\tkeep-alive-without-key=2m ');
    assert.deepEqual(first, { responses: 8, 'response-memory': 64_000, 'keep-alive-without-key': 120_000 });
    const both: Partial<Record<LimitName, number>> = readLimits('responses=9', first);
    assert.equal(both.responses, 9);
    assert.equal(both['response-memory'], 64_000);
    assert.deepEqual(readLimits(''), {});
  });

  it('refuses unknown names and invalid values, and suggests the nearest name', () => {
    for (const [text, message] of [
      ['response', /name and a value/],
      ['respones=8', /did you mean responses/],
      ['responses=', /number/],
      ['responses=-1', /number/],
      ['responses=1k', /number/],
      ['response-memory=5', /size/],
      ['keep-alive-without-key=5', /duration/],
      ['nothing-of-the-kind=5', /--help/],
    ] as const) {
      assert.throws(() => readLimits(text), message, text);
    }
  });
});
