/** A statement of the Experience API, for tests to change, and the import of several. */
import type { TestContext } from 'node:test';
import type { FormatOptions } from '../../../src/ingest/formats/format.ts';
import { xapi } from '../../../src/ingest/formats/xapi.ts';
import { makeFolder } from '../temporary-folder.ts';
import { eventsOf, importRecorded } from './real-files.ts';

export const COURSE = {
  id: 'https://x.example/course/1',
  definition: {
    type: 'http://adlnet.gov/expapi/activities/course',
    name: { fr: 'Chimie', 'en-GB': 'Chemistry' },
  },
};
export const STATEMENT = {
  id: '12345678-1234-5678-1234-567812345678',
  actor: { mbox: 'mailto:ada@x.example', name: 'Ada' },
  verb: { id: 'http://adlnet.gov/expapi/verbs/experienced' },
  object: {
    id: 'https://x.example/video/2',
    definition: { name: { fr: 'Acides' }, description: { en: 'What is an acid?' } },
  },
  context: { contextActivities: { parent: [COURSE] }, instructor: { openid: 'https://x.example/bob' } },
  timestamp: '2024-03-31T01:30:00.123456Z',
};

export async function importStatements(
  t: TestContext,
  statements: readonly unknown[],
  options: FormatOptions = {},
) {
  const folder = await makeFolder(t, { 'statements.json': JSON.stringify(statements) });
  const { report, records } = await importRecorded({ paths: [folder], foreign: { format: xapi, options } });
  return { report, records, events: eventsOf(records) };
}
