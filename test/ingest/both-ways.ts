/**
 * Reads files with the fast path and with the careful path; keeping rejects disables the fast path.
 * Both must give the same records at the same lines, or the same problems.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { importBundle } from '../../src/ingest/import.ts';
import { openRecordingStore } from './recording-store.ts';
import { makeFolder } from './temporary-folder.ts';

/** Instants in the form that the fast paths read. */
export const instantArbitrary = fc
  .date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31'), noInvalidDate: true })
  .chain((date) => fc.constantFrom('Z', '+00:00').map((utc) => date.toISOString().replace('Z', utc)));

/**
 * The records that an import of the file stages while it is valid, and the problems that it finds.
 */
async function outcomeOf(t: TestContext, name: string, content: string | Uint8Array, isQuick: boolean) {
  const folder = await makeFolder(t, { [name]: content });
  const store = openRecordingStore({ school: 70n });
  const skipInvalid = isQuick ? undefined : join(folder, 'rejects');
  const report = await importBundle({ store, organization: 'school', paths: [folder], skipInvalid });
  const problems = report.problems.map(({ line, field, reason }) => ({ line, field, reason }));
  const staged = store.staged.map(({ kind, record }) => ({ kind, record: { ...record, raw: undefined } }));
  return { problems, records: report.records, staged: problems.length === 0 ? staged : [] };
}

/** Imports the file with both paths, compares the outcomes, and returns that of the fast path. */
export async function assertSame(t: TestContext, name: string, content: string | Uint8Array) {
  const [quick, careful] = [
    await outcomeOf(t, name, content, true),
    await outcomeOf(t, name, content, false),
  ];
  const said = (outcome: typeof quick) => ({
    ...outcome,
    staged: outcome.staged.map(({ kind, record }) => [
      kind,
      Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)),
    ]),
  });
  assert.deepEqual(said(quick), said(careful));
  return quick;
}
