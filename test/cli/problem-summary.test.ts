/** Findings of an import of many files, counted by their kind. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ProblemSummary } from '../../src/cli/terminal/problem-summary.ts';

it('a summary of findings shortens fields and reasons of any length, in linear time', () => {
  const summary = new ProblemSummary();
  const long = 3_000_000;
  const before = performance.now();
  for (const text of [`"${'\\'.repeat(long)}`, `"${'a'.repeat(long)}"`, '1'.repeat(long), '"'.repeat(long)]) {
    summary.add({ file: 'a.csv', line: 2, field: text, reason: 'is unknown' });
    summary.add({ file: 'b.csv', line: 2, field: 'status', reason: text });
  }
  for (let file = 0; file < 20; file += 1) {
    const reason = `must be active, but is "${file}"`;
    summary.add({ file: `${file}.csv`, line: 3, field: 'status', reason });
  }
  assert.ok(performance.now() - before < 2000, 'the time is linear');
  assert.ok(summary.isNeeded);
  const table = summary.render();
  assert.match(table, /^status +must be active, but is … +20 +20 +0\.csv:3$/m);
  assert.ok(table.length < 20_000, `${table.length} characters`);
});
