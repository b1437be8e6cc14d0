/**
 * Records of other software in which any value may be arbitrary: they are invalid records, and
 * never end an import with an error.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Refusal } from '../../../src/ingest/fields/refusal.ts';
import { caliper } from '../../../src/ingest/formats/caliper.ts';
import { plainDerivation } from '../../../src/ingest/formats/derivation.ts';
import { discourse } from '../../../src/ingest/formats/discourse.ts';
import type { Format } from '../../../src/ingest/formats/format.ts';
import { moodleLog } from '../../../src/ingest/formats/moodle-log.ts';
import { oneroster } from '../../../src/ingest/formats/oneroster.ts';
import { stackExchange } from '../../../src/ingest/formats/stack-exchange.ts';
import { xapi } from '../../../src/ingest/formats/xapi.ts';
import { importFiles } from '../imported-files.ts';
import { makeFolder } from '../temporary-folder.ts';

const COURSE = { id: 'https://x.example/course', definition: { type: 'https://w3id.org/xapi/course' } };
const STATEMENT = {
  actor: { account: { homePage: 'https://x.example', name: 'ada' }, name: 'Ada' },
  verb: { id: 'http://adlnet.gov/expapi/verbs/experienced' },
  object: { id: 'https://x.example/video', definition: { name: { en: 'Acids' } } },
  context: { contextActivities: { parent: [COURSE] }, instructor: { openid: 'https://x.example/bob' } },
  timestamp: '2024-03-31T01:30:00Z',
};
const SECTION = { id: 'https://x.example/sections/1', type: 'CourseSection', name: 'Chemistry' };
const ENVELOPE = {
  sensor: 'https://x.example/sensors/1',
  sendTime: '2016-11-15T11:05:01.000Z',
  dataVersion: 'http://purl.imsglobal.org/ctx/caliper/v1p2',
  data: [
    {
      ...{ '@context': 'http://purl.imsglobal.org/ctx/caliper/v1p2', id: 'urn:uuid:1', type: 'ViewEvent' },
      ...{ actor: { id: 'https://x.example/users/1', type: 'Person', name: 'Ada' }, action: 'Viewed' },
      ...{ object: { id: 'https://x.example/page', creators: [{ id: 'https://x.example/users/2' }] } },
      ...{ group: SECTION, eventTime: '2016-11-15T10:15:00.000Z' },
      membership: {
        ...{ id: 'urn:uuid:2', member: 'https://x.example/users/1', status: 'Active', roles: ['Learner'] },
      },
    },
    {
      ...{ id: 'https://x.example/users/2', type: 'Person', name: 'Bob' },
      otherIdentifiers: [{ identifierType: 'EmailAddress', identifier: 'bob@x.example' }],
    },
  ],
};
const TOPIC = {
  ...{ id: 1, title: 'Sky', archetype: 'regular', category_id: 5, tags: ['sky', { name: 'blue' }] },
  details: { created_by: { id: 7, username: 'ada' } },
  post_stream: {
    posts: [
      {
        ...{ id: 10, post_number: 1, post_type: 1, user_id: 7, created_at: '2024-05-01T10:00:00Z' },
        ...{ admin: true, accepted_answer: true },
      },
    ],
    stream: [10, 11],
  },
};
const LIKES = {
  user_actions: [
    { action_type: 1, created_at: '2024-05-01T10:00:00Z', post_id: 10, topic_id: 1, acting_user_id: 8 },
    { action_type: 15, created_at: '2024-05-01T10:00:00Z', post_id: 11, topic_id: 1, acting_user_id: 7 },
  ],
};
const POST = {
  ...{ id: 20, post_number: 2, topic_id: 2, topic_title: 'Sea', category_id: 5, user_id: 7, username: 'ada' },
  created_at: '2024-05-01T10:00:00Z',
};
const USER = {
  ...{ id: 7, username: 'ada', trust_level: 1, created_at: '2024-05-01T10:00:00Z' },
  ...{ admin: false, moderator: true },
};
const CATEGORIES = {
  category_list: {
    categories: [{ id: 5, name: 'P', parent_category_id: 4, subcategory_list: [{ id: 6 }] }],
  },
};

/** One row of each file of OneRoster, and a manifest. */
const ROWS = [
  { sourcedId: '1', username: 'ada', givenName: 'Ada', familyName: 'Lee', status: 'active', email: '' },
  { sourcedId: '1', courseSourcedId: '1', schoolSourcedId: '1', title: 'Period 3', status: 'active' },
  { sourcedId: '1', classSourcedId: '1', userSourcedId: '1', role: 'student', status: 'tobedeleted' },
  { sourcedId: '1', userSourcedId: '1', roleType: 'primary', role: 'teacher', status: 'active' },
  { sourcedId: '1', orgSourcedId: '1', title: 'Chemistry', status: 'active' },
  { sourcedId: '1', name: 'Lincoln School', type: 'school', status: 'active' },
  { propertyName: 'file.orgs', value: 'delta' },
] as const;
const MANIFEST = ['oneroster.version,1.2', 'file.users,delta', 'file.enrollments,delta'].map((line) => {
  const [propertyName, value] = line.split(',');
  return { propertyName, value };
});

/** Values that no record should contain, as JSON. */
const hostile = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc.constantFrom(
    ...['{"toString":1,"valueOf":1}', '{"length":-1}', '[[]]', '[null]', '{}', 'null', '""', '"\\ud800"'],
    ...['9223372036854775807', '-1e400', '0.5', '"constructor"', '{"id":{"toString":null}}'],
    ...[`${'['.repeat(50)}${']'.repeat(50)}`, `${'['.repeat(6000)}${']'.repeat(6000)}`, '"http://["'],
  ),
);

/** Marks the place for a value. */
const PLACE = '"placed here"';

/** The record with one of its values, at any depth, replaced. */
function spoilt(record: unknown): fc.Arbitrary<string> {
  const paths = pathsOf(record);
  return fc.tuple(fc.constantFrom(...paths), hostile).map(([path, value]) => {
    return JSON.stringify(replaced(record, path)).replace(PLACE, () => value);
  });
}

function pathsOf(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [
    [name],
    ...pathsOf(member).map((path) => [name, ...path]),
  ]);
}

function replaced(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return 'placed here';
  const copy = structuredClone(value) as Record<string, unknown>;
  copy[name] = replaced(copy[name], rest);
  return copy;
}

describe('records with arbitrary values', () => {
  for (const [format, samples] of [
    [xapi, [STATEMENT]],
    [caliper, [ENVELOPE]],
    [discourse, [TOPIC, LIKES, CATEGORIES, POST, { latest_posts: [POST] }, USER]],
  ] as const satisfies readonly (readonly [Format, readonly unknown[]])[]) {
    it(`are findings of an import as ${format.name}`, async (t) => {
      const skipInvalid = join(await makeFolder(t), 'rejects.ndjson');
      const records = fc.array(fc.oneof(...samples.map(spoilt)), { minLength: 200, maxLength: 200 });
      await fc.assert(
        fc.asyncProperty(records, async (lines) => {
          const foreign = { format, options: {} };
          const { report } = await importFiles(t, { 'x.ndjson': lines.join('\n') }, { foreign, skipInvalid });
          assert.equal(report.records, lines.length);
        }),
        { numRuns: 15 },
      );
    });
  }

  for (const [format, record] of [
    [
      moodleLog,
      {
        Time: '1/02/20, 10:15',
        'Event name': 'Course viewed',
        Description: "user with id '5' in course with id '9'",
      },
    ],
    [stackExchange, { posts: { Id: '1', PostTypeId: '1', CreationDate: '2020-01-01T00:00:00' } }],
    ...ROWS.map((row) => [oneroster, row] as const),
  ] as const satisfies readonly (readonly [Format, unknown])[]) {
    it(`are refused as ${format.name} in ${Object.keys(record)}`, () => {
      const words = fc.oneof(
        fc.string(),
        fc.constantFrom('31/02/20, 25:99', '99999/1/1', '1e9', '-1', '＃', ''),
        fc.constantFrom('"', '\\', '#', '9,').map((one) => one.repeat(200_000)),
      );
      fc.assert(
        fc.property(fc.constantFrom(...pathsOf(record)), words, (path, word) => {
          const translator = format.open({ timeZone: 'Europe/Paris', dateOrder: 'dmy' }, plainDerivation);
          const text = JSON.stringify(replaced(record, path));
          const source = JSON.parse(text.replace(PLACE, () => JSON.stringify(word)));
          try {
            translator.survey?.(source, 'file:1');
            if (format === oneroster) for (const row of MANIFEST) translator.survey?.(row, 'file:1');
            translator.endSurvey?.();
            translator.translate(source);
          } catch (error) {
            assert.ok(error instanceof Refusal, String(error));
            assert.ok(error.reason.length < 500, 'a reason is short');
          }
        }),
        { numRuns: 500 },
      );
    });
  }

  it('do not affect the other records of an import as xapi if one nests six thousand levels', async (t) => {
    const folder = await makeFolder(t);
    const nested = `{"object":${'['.repeat(6000)}${']'.repeat(6000)}}`;
    const statement = JSON.stringify(STATEMENT);
    const lines = [statement, nested, `{"id":12345678901234567890,${statement.slice(1)}`];
    const skipInvalid = join(folder, 'rejects.ndjson');
    const foreign = { format: xapi, options: {} };
    const { report } = await importFiles(t, { 'x.ndjson': lines.join('\n') }, { foreign, skipInvalid });
    assert.deepEqual([report.outcome, report.rejected], ['published', 1]);
    assert.deepEqual(report.translated?.events, { 'pin.visited': 2 });
    assert.match(
      await readFile(skipInvalid, 'utf8'),
      /"line":2,"field":"","reason":"is nested more than 64 levels/,
    );
  });
});
