/** The fuzzers work: a few cases of each target pass, and a fault of a target is found. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { readText } from '../../bench/memory.ts';
import { AppError } from '../../src/domain/app-error.ts';
import { makeFolder } from '../ingest/temporary-folder.ts';
import { Findings, readFinding } from './findings.ts';
import { mutateJson } from './mutations/json.ts';
import { type RunnerMessage, randomOf, runCases } from './runner.ts';
import { Sandbox } from './sandbox.ts';
import { type Found, runSession } from './session.ts';
import { complaintsOf, sortOf } from './target.ts';
import { TARGETS } from './targets.ts';

/** Enough to reach every step of a target. */
const CASES = 8;
const FOR_MS = 300_000;
const SEED = 5;

describe('a few cases of the target', () => {
  for (const { name } of TARGETS) {
    it(`${name} pass`, async (t) => {
      const progressFile = join(await makeFolder(t), 'progress');
      const told: RunnerMessage[] = [];
      const order = { target: name, seed: SEED, from: 0, cases: CASES, forMs: FOR_MS, progressFile };
      const { cases } = await runCases(order, (message) => told.push(message));
      assert.deepEqual(told, []);
      assert.equal(cases, CASES);
    });
  }
});

describe('a session', () => {
  it('runs all cases in a separate process, and reports the time and memory', async () => {
    const found: Found[] = [];
    const onFound = (one: Found) => found.push(one);
    const figures = await runSession({ target: 'csv', seed: SEED, cases: CASES, forMs: FOR_MS, onFound });
    assert.deepEqual(found.map(sortOf), []);
    assert.equal(figures.cases, CASES);
    assert.ok(figures.peakBytes > 0);
  });
});

describe('the sandbox', () => {
  it('finds files that were written, changed or removed outside the work folder, and restores them', () => {
    using sandbox = new Sandbox();
    assert.deepEqual(sandbox.check(), []);
    writeFileSync(join(sandbox.work, 'inside'), '');
    assert.deepEqual(sandbox.check(), []);
    writeFileSync(join(sandbox.work, '../canary/owned.json'), 'changed');
    writeFileSync(join(sandbox.work, '../../new'), '');
    mkdirSync(join(tmpdir(), 'corkboard-aB3xY9'));
    const found = sandbox.check().map(({ kind, what }) => `${kind}: ${what}`);
    assert.deepEqual(found.sort(), [
      'escaped file: one/two/three/four/canary/owned.json was written',
      'escaped file: one/two/three/new was written',
      'temporary file left: corkboard-…',
    ]);
    assert.deepEqual(sandbox.check(), []);
    assert.equal(
      readText(join(dirname(sandbox.work), 'canary/owned.json')),
      '{"canary":"canary/owned.json"}',
    );
  });
});

describe('an error that a case throws', () => {
  it('is a finding unless it is an expected error', () => {
    assert.deepEqual(complaintsOf(new AppError('import-refused', 'Correct the records.')), []);
    const [bug] = complaintsOf(new TypeError('x is not a function'));
    assert.match(bug?.what ?? '', /^TypeError: x is not a function \(test\/fuzz\/fuzz\.test\.ts:\d+\)$/);
    assert.equal(complaintsOf('text').length, 1);
  });
});

describe('findings', () => {
  it('are grouped by kind of failure and can be read again from their files', async (t) => {
    const folder = await makeFolder(t);
    const findings = new Findings(folder);
    const found: Found = {
      ...{ target: 'csv', seed: 1, number: 2, one: { files: {} } },
      ...{ kind: 'exception', what: 'TypeError: "a" of 17' },
    };
    assert.equal(findings.add(found), true);
    assert.equal(findings.add({ ...found, number: 3, what: 'TypeError: "b" of 4' }), false);
    assert.equal(findings.sorts, 1);
    assert.deepEqual(readFinding(join(folder, 'csv-1-2-exception.json')), found);
  });
});

describe('a mutation of JSON', () => {
  it('is the same for the same seed and number, and keeps every digit of unchanged numbers', () => {
    const text = '{"id":9223372036854775807,"tags":["a",{"b":1.0}],"title":"t"}';
    const of = (number: number) => mutateJson(randomOf('ndjson', SEED, number), text);
    const numbers = Array.from({ length: 200 }, (_, number) => number);
    assert.deepEqual(numbers.map(of), numbers.map(of));
    assert.ok(new Set(numbers.map(of)).size > 50);
    assert.ok(numbers.filter((number) => of(number)?.includes('"id":9223372036854775807')).length > 50);
  });
});
