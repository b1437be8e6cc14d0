/** No word of a public emitter becomes an action that is in no table without being reported. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PROFILES } from '../../../src/ingest/formats/caliper.ts';
import { VERBS } from '../../../src/ingest/formats/xapi-verbs.ts';
import { lines } from '../imported-files.ts';
import { makeFolder } from '../temporary-folder.ts';
import { VOCABULARIES } from './emitters.ts';
import { importRecorded } from './real-files.ts';

/** The actions in the tables of docs/other-formats.md, for which the operator can write rules. */
const LISTED = new Set([
  ...Object.keys(VERBS),
  ...Object.values(PROFILES).flatMap((actions) => Object.values(actions)),
]);

for (const { emitter, format, words, prefix, recordOf } of VOCABULARIES) {
  const all = words.trim().split(/\s+/);

  it(`${format.name} of ${emitter}: each word is an event of the table, reported or dropped`, async (t) => {
    for (const word of all) {
      const folder = await makeFolder(t, { 'all.ndjson': lines([recordOf(`${prefix}${word}`)]) });
      const { report } = await importRecorded({ paths: [folder], foreign: { format, options: {} } });
      assert.deepEqual(report.problems, [], word);
      const { events = {}, dropped = [], unlisted = {} } = report.translated ?? {};
      const actions = Object.keys(events).map((kind) => kind.split('.')[1] ?? '');
      assert.equal(actions.length + dropped.length, 1, word);
      const isListed = actions.every((action) => LISTED.has(action));
      assert.ok(isListed || Object.keys(unlisted).length === 1, `${word}: ${actions.join()}`);
      assert.ok(dropped.every(({ reason }) => reason !== ''));
    }
  });

  it(`${format.name} of ${emitter}: a mapping leaves no word unreported`, async (t) => {
    const folder = await makeFolder(t, {
      'all.ndjson': lines(all.map((word) => recordOf(`${prefix}${word}`))),
    });
    const { report } = await importRecorded({ paths: [folder], foreign: { format, options: {} } });
    const reported = Object.keys(report.translated?.unlisted ?? {}).map((word) =>
      word.replace(/^.*Event /, ''),
    );
    const mapping = Object.fromEntries(reported.map((word) => [word, 'liked']));
    const mapped = await importRecorded({ paths: [folder], foreign: { format, options: { mapping } } });
    assert.equal(mapped.report.translated?.unlisted, undefined);
    assert.equal(
      mapped.report.translated?.events['pin.liked'] ?? 0,
      (report.translated?.events['pin.liked'] ?? 0) + reported.length,
    );
  });
}
