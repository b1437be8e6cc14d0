/** docs/other-formats.md matches the code: its tables are those of the formats. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { PROFILES } from '../../../src/ingest/formats/caliper.ts';
import { CLASS_ROLES } from '../../../src/ingest/formats/caliper-roles.ts';
import { DEEDS } from '../../../src/ingest/formats/discourse.ts';
import { FORMATS } from '../../../src/ingest/formats/formats.ts';
import { MEANINGS } from '../../../src/ingest/formats/moodle-log.ts';
import { ENROLLMENT_ROLES } from '../../../src/ingest/formats/oneroster.ts';
import { INTERACTIONS } from '../../../src/ingest/formats/stack-exchange.ts';
import { DROPPED_VERBS, VERBS } from '../../../src/ingest/formats/xapi-verbs.ts';

const REFERENCE = await readFile(join(import.meta.dirname, '../../../docs/other-formats.md'), 'utf8');

const CALIPER = Object.fromEntries(
  Object.entries(PROFILES).flatMap(([profile, actions]) =>
    Object.entries(actions).map(([action, meaning]) => [`${profile} ${action}`, meaning]),
  ),
);

const sectionOf = (format: string) =>
  REFERENCE.split(/^## /m).find((part) => part.includes(`\`--as ${format}\``)) ?? '';

for (const [format, meanings] of [
  ['moodle-log', MEANINGS],
  ['caliper', { ...CALIPER, ...CLASS_ROLES }],
  ['discourse', DEEDS],
  ['oneroster', ENROLLMENT_ROLES],
  ['stack-exchange', INTERACTIONS],
] as const) {
  it(`the reference lists exactly what ${format} reads`, () => {
    const rows = Object.entries(meanings).map(
      ([word, meaning]) => `| \`${word}\` | ${meaning === null ? 'dropped' : `\`${meaning}\``} |`,
    );
    assert.deepEqual(sectionOf(format).match(/^\| `.*$/gm), rows);
  });
}

it('the reference lists exactly the verbs of xapi', () => {
  const listed = (verbs: readonly string[]) => verbs.map((verb) => `\`${verb}\``).join(', ');
  const rows = Object.entries(VERBS).map(([action, verbs]) => `| \`${action}\` | ${listed(verbs)} |`);
  assert.deepEqual(sectionOf('xapi').match(/^\| (?:`|dropped).*$/gm), [
    ...rows,
    `| dropped | ${listed(DROPPED_VERBS)} |`,
  ]);
});

it('every format has a section', () => {
  for (const name of Object.keys(FORMATS)) assert.match(REFERENCE, new RegExp(`^## .*--as ${name}`, 'm'));
});
