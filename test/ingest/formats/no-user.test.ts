/** Users with an id below 1, by which sources mean no user, or the system: no format has them. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { joinRecords } from '../../../src/dataset/records.ts';
import { FULL_SCOPE } from '../../../src/domain/scope.ts';
import type { FormatName } from '../../../src/ingest/formats/choices.ts';
import { FORMATS } from '../../../src/ingest/formats/formats.ts';
import { importBundle } from '../../../src/ingest/import.ts';
import { rank } from '../../../src/insights/ranking.ts';
import { readGradedUsers } from '../../../src/points/graded-users.ts';
import { openFolderStore } from '../../../src/store/files/open-folder.ts';
import { importFiles, lines } from '../imported-files.ts';
import type { StagedRecord } from '../recording-store.ts';
import { makeFolder } from '../temporary-folder.ts';
import { eventsOf } from './real-files.ts';

const IDS = [0, -1, 21];
const LOG_HEADER =
  'Time,User full name,Affected user,Event context,Component,Event name,Description,Origin,IP address';
const visit = (id: number) =>
  `"25/02/24, 10:00",-,-,Course: Botany,System,Course viewed,The user with id '${id}' viewed the course with id '8'.,web,`;
const PARENT = { contextActivities: { parent: [{ id: 'https://x.example/course' }] } };
const ROSTER = {
  'manifest.csv': 'propertyName,value\noneroster.version,1.2\nfile.users,bulk\n',
  'users.csv': `sourcedId,username,givenName,familyName\n${IDS.map((id) => `${id},u,A,B\n`).join('')}`,
};

interface LowIds {
  readonly files: Readonly<Record<string, string>>;
  /** The number of users among the three who are real. */
  readonly real: number;
}

/** The users 0, -1 and 21. Where users are known by texts, all three are real. */
const CASES: Readonly<Record<FormatName, LowIds>> = {
  'moodle-log': { files: { 'log.csv': [LOG_HEADER, ...IDS.map(visit), ''].join('\n') }, real: 1 },
  'stack-exchange': {
    files: {
      'Users.xml': `<users>\n${IDS.map((id) => `<row Id="${id}" DisplayName="U ${id}" CreationDate="2024-05-01T10:00:00.000" />\n`).join('')}</users>\n`,
      'Posts.xml': `<posts>\n${IDS.map((id, at) => `<row Id="${at + 1}" PostTypeId="1" OwnerUserId="${id}" CreationDate="2024-05-01T10:00:00.000" Title="T" Body="B" Tags="&lt;t&gt;" />\n`).join('')}<row Id="9" PostTypeId="2" ParentId="1" OwnerUserId="21" CreationDate="2024-05-01T10:00:00.000" Body="B" />\n</posts>\n`,
    },
    real: 1,
  },
  discourse: {
    files: {
      'posts.json': JSON.stringify({
        latest_posts: IDS.map((user_id, at) => ({
          ...{ id: at + 1, post_number: at + 1, topic_id: 2, topic_title: 'Sea', category_id: 5, user_id },
          ...{ username: `u${at}`, created_at: '2024-05-01T10:00:00Z' },
        })),
      }),
      'users.json': JSON.stringify(IDS.map((id, at) => ({ id, username: `u${at}`, trust_level: 1 }))),
    },
    real: 1,
  },
  xapi: {
    files: {
      'all.ndjson': lines(
        IDS.map((id) => ({
          ...{ id: `s${id}`, verb: { id: 'http://x.example/viewed' }, timestamp: '2024-05-01T10:00:00Z' },
          actor: { account: { homePage: 'https://x.example', name: `${id}` } },
          ...{ object: { id: 'https://x.example/page' }, context: PARENT },
        })),
      ),
    },
    real: 3,
  },
  caliper: {
    files: {
      'all.ndjson': lines(
        IDS.map((id) => ({
          ...{ '@context': 'http://purl.imsglobal.org/ctx/caliper/v1p2', id: `urn:uuid:${id}` },
          ...{
            type: 'ViewEvent',
            action: 'Viewed',
            actor: { id: `https://x.example/${id}`, type: 'Person' },
          },
          ...{ object: { id: 'https://x.example/page' }, eventTime: '2016-11-15T10:15:00.000Z' },
          group: { id: 'https://x.example/sections/1', type: 'CourseSection' },
        })),
      ),
    },
    real: 3,
  },
  oneroster: { files: ROSTER, real: 3 },
};

const usersOf = (records: readonly StagedRecord[]) =>
  records
    .filter(({ kind }) => kind === 'users')
    .map(({ record }) => record as { id: bigint; email?: string });

describe('users whose id is below 1', () => {
  for (const [name, { files, real }] of Object.entries(CASES)) {
    it(`are no users in ${name}`, async (t) => {
      const format = FORMATS[name as FormatName];
      const foreign = { format, options: format.isLocal ? { timeZone: 'UTC' } : {} };
      const { report, store } = await importFiles(t, files, { foreign });
      assert.deepEqual(report.problems, []);
      const users = usersOf(store.published).filter(({ id }) => id !== 0n);
      assert.equal(new Set(users.map(({ id }) => id)).size, real);
      assert.ok(users.every(({ id }) => id > 0n));
      assert.ok(
        usersOf(store.published).every(({ id, email }) => id !== 0n || email === 'unknown@owner.invalid'),
      );
      const events = eventsOf(store.published);
      assert.ok(events.every(({ actorId, ownerId }) => actorId > 0n && ownerId >= 0n));
      const dropped = report.translated?.dropped.filter(({ reason }) =>
        /^(?:names|describes) no user/.test(reason),
      );
      assert.equal(dropped?.length === 0, real === 3);
    });
  }
});

it('the unknown owner has no points, and is in no gradebook and no ranking', async (t) => {
  const post =
    "\"25/02/24, 10:00\",-,-,Forum: Talk,Forum,Post created,The user with id '21' has created the post with id '91' in the discussion with id '70' in the forum with course module id '12'.,web,";
  const folder = await makeFolder(t, { 'log.csv': [LOG_HEADER, ...IDS.map(visit), post, ''].join('\n') });
  const store = await openFolderStore(join(folder, 'data'));
  t.after(() => store.close());
  const rules = ['actor', 'owner'].map((to) => ({ on: 'pin.commented', to, points: 5 }));
  await store.createOrganization('school', { policy: JSON.stringify({ rules }) });
  const foreign = { format: FORMATS['moodle-log'], options: { timeZone: 'UTC' } };
  await importBundle({ store, organization: 'school', paths: [join(folder, 'log.csv')], foreign });
  const dataset = (await store.openDataset('school')) ?? assert.fail('nothing was published');
  try {
    const board = (await dataset.findBoard(FULL_SCOPE, { by: 'id', value: 8n })) ?? assert.fail('no board');
    const { users } = await readGradedUsers(dataset, {
      scope: FULL_SCOPE,
      range: {},
      board,
      gradebook: 'generic',
    });
    assert.deepEqual(
      [...users].map(({ id, totalPoints }) => [id, totalPoints]),
      [[21n, 5]],
    );
    const asked = { scope: FULL_SCOPE, range: {} };
    const ranked = await rank(dataset, asked, 'actor', { order: 'events', most: 9 });
    const { id } = await joinRecords('users', dataset.records('users'));
    assert.deepEqual(
      ranked.map(({ index, events }) => [id[index], events]),
      [[21n, 2]],
    );
  } finally {
    await dataset.close();
  }
});
