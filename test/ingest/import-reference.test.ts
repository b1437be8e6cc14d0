/**
 * docs/import.md matches the code: its tables of fields are those of the schema, and its examples
 * are valid.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { SCHEMA } from '../../src/ingest/fields/schema.ts';
import { importBundle } from '../../src/ingest/import.ts';
import { RECORD_KINDS } from '../../src/store/staging.ts';
import { openRecordingStore } from './recording-store.ts';
import { makeFolder } from './temporary-folder.ts';

const REFERENCE = await readFile(join(import.meta.dirname, '../../docs/import.md'), 'utf8');

for (const kind of RECORD_KINDS) {
  test(`the reference lists exactly the fields of ${kind}`, () => {
    const section = REFERENCE.split(/^##+ /m).find((part) => part.startsWith(`${kind}\n`)) ?? '';
    const rows = Object.entries(SCHEMA[kind]).map(
      ([name, { field, required, note }]) =>
        `| \`${name}\` | ${field.type} | ${required ? 'yes' : ''} | ${note} |`,
    );
    assert.deepEqual(section.match(/^\| `.*$/gm), rows);
  });
}

test('the types of all fields are explained', () => {
  const types = RECORD_KINDS.flatMap((kind) => Object.values(SCHEMA[kind]).map(({ field }) => field.type));
  const explained = new Set(REFERENCE.match(/(?<=^\| )[a-z-]+(?= \|)/gm));
  for (const type of new Set(types)) {
    assert.ok(explained.has(type.replace(/^long |, 0 or more$/g, '')), type);
  }
});

test('the examples of the reference make a valid bundle', async (t) => {
  const examples = [...REFERENCE.matchAll(/^```\w+ (\S+)\n(.*?)^```$/gms)].map(([, name, content]) => [
    name,
    content,
  ]);
  const folder = await makeFolder(t, Object.fromEntries(examples));
  const store = openRecordingStore();
  const report = await importBundle({ store, organization: 'school', paths: [folder] });
  assert.deepEqual(report.problems, []);
  assert.deepEqual(new Set(report.files.map(({ kind }) => kind)), new Set(RECORD_KINDS));
  assert.equal(report.records, 13);
});
