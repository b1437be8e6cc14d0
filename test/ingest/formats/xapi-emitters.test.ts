/** Statements as emitters and stores write them: vocabularies, replies, pages and wrappers. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { xapi } from '../../../src/ingest/formats/xapi.ts';
import { importBundle } from '../../../src/ingest/import.ts';
import { openFolderStore } from '../../../src/store/files/open-folder.ts';
import { everybodyOf } from '../../dataset/record-columns.ts';
import { lines } from '../imported-files.ts';
import { makeFolder } from '../temporary-folder.ts';
import { eventsOf, importRecorded } from './real-files.ts';
import { COURSE, importStatements, STATEMENT } from './statements.ts';

describe('a statement', () => {
  /** Imported into a real store: addresses of the users on boards, and the events of the report. */
  async function published(t: Parameters<typeof makeFolder>[0], statements: readonly unknown[]) {
    const path = join(await makeFolder(t, { 's.json': JSON.stringify(statements) }), 's.json');
    const store = await openFolderStore(await makeFolder(t));
    t.after(() => store.close());
    const foreign = { format: xapi, options: {} };
    const report = await importBundle({ store, organization: 'school', paths: [path], foreign });
    assert.deepEqual(report.problems, []);
    const dataset = (await store.openDataset('school')) ?? assert.fail('nothing is published');
    try {
      const users = await everybodyOf(dataset.records('users'));
      const people: string[] = [];
      for await (const { user } of dataset.tables().standings())
        for (const at of user) people.push(users[at]?.email ?? '');
      return { people: people.sort(), events: report.translated?.events };
    } finally {
      await dataset.close();
    }
  }

  it('ends the membership or the following of the object that is left', async (t) => {
    const group = { id: 'https://x.example/groups/1', definition: { type: 'https://x.example/group' } };
    const of = (actor: string, id: string, object: object) => ({
      ...{ ...STATEMENT, id: `${actor} ${id}`, verb: { id }, object },
      actor: { mbox: `mailto:${actor}@x.example` },
      timestamp: new Date(Date.UTC(2024, 0, 1, 0, Number(!/verbs|join/.test(id)))).toISOString(),
    });
    const joined = ['ada', 'bob', 'cyd', 'dee', 'eve'].map((who) =>
      of(who, 'http://adlnet.gov/expapi/verbs/registered', COURSE),
    );
    const { people, events } = await published(t, [
      of('ada', 'http://id.tincanapi.com/verb/unregistered', COURSE),
      of('bob', 'http://activitystrea.ms/leave', COURSE),
      of('cyd', 'https://w3id.org/profile/unsubscribed', COURSE),
      of('dee', 'http://activitystrea.ms/join', group),
      of('dee', 'http://activitystrea.ms/schema/1.0/leave', group),
      of('eve', 'http://activitystrea.ms/schema/1.0/stop-following', group),
      ...joined,
    ]);
    assert.deepEqual(people, ['dee@x.example', 'eve@x.example']);
    assert.deepEqual(events, {
      ...{ 'board.followed': 5, 'board.unfollowed': 3, 'pin.unfollowed': 2, 'pin.followed': 1 },
    });
  });

  it('has the same action in the present tense, and whatever the case', async (t) => {
    const verbs = {
      liked: ['http://activitystrea.ms/schema/1.0/like', 'http://activitystrea.ms/schema/1.0/favorite'],
      created: ['http://activitystrea.ms/create', 'https://www.w3.org/ns/activitystreams#Create'],
      submitted: ['http://activitystrea.ms/submit', 'http://activitystrea.ms/schema/1.0/submit/'],
      started: ['http://activitystrea.ms/start'],
    };
    for (const [action, ids] of Object.entries(verbs)) {
      const { events, report } = await importStatements(
        t,
        ids.map((id) => ({ ...STATEMENT, id, verb: { id } })),
      );
      assert.deepEqual([...new Set(events.map((event) => event.action))], [action]);
      assert.equal(report.translated?.unlisted, undefined);
    }
  });

  it('can be mapped to an action that keeps board or pin', async (t) => {
    const verb = { id: 'http://x.example/verbs/abandoned' };
    const { events } = await importStatements(
      t,
      [
        { ...STATEMENT, id: '1', verb, object: COURSE },
        { ...STATEMENT, id: '2', verb },
      ],
      { mapping: { [verb.id]: 'unfollowed' } },
    );
    assert.deepEqual(
      events.map(({ type, action }) => `${type}.${action}`),
      ['board.unfollowed', 'pin.unfollowed'],
    );
  });

  it('that is a reply is a comment on its thread, with its text', async (t) => {
    const activity = (id: string, type: string, more: object = {}) => ({
      id: `https://x.example/${id}`,
      definition: { type: `http://id.tincanapi.com/activitytype/${type}`, ...more },
    });
    const thread = activity('thread', 'discussion', { name: { en: 'Week 1' } });
    const [entry, forum] = [activity('entry', 'glossary-entry'), activity('forum', 'forum')];
    const text = { description: { en: 'I think so.' } };
    const say = (verb: string, object: object, contextActivities: object, result?: object) => ({
      ...{ ...STATEMENT, object, result, context: { contextActivities } },
      verb: { id: `http://x.example/verbs/${verb}` },
      id: JSON.stringify([verb, object, contextActivities, result]),
    });
    const cases: [object, string, (string | undefined)?, string?][] = [
      [say('create', thread, { parent: [forum, COURSE] }), 'created'],
      [say('posted', thread, { parent: [COURSE] }), 'commented'],
      [say('posted', activity('page', 'page'), { parent: [COURSE] }), 'posted', undefined, 'page'],
      [
        say('replied', activity('r', 'forum-reply', text), { parent: [thread, COURSE] }),
        'commented',
        'I think so.',
      ],
      [
        say('create', activity('r', 'forum-reply', text), { parent: [forum, thread, COURSE] }),
        'commented',
        'I think so.',
      ],
      [
        say(
          'posted',
          activity('r', 'discussion'),
          { parent: COURSE, grouping: [thread] },
          { response: 'Yes' },
        ),
        'commented',
        'Yes',
      ],
      [say('like', activity('r', 'comment', text), { parent: [thread, COURSE] }), 'liked'],
      [
        say('commented', activity('c', 'comment', text), { parent: [entry, COURSE] }),
        'commented',
        'I think so.',
        'entry',
      ],
      [say('commented', activity('c', 'comment', text), { parent: [COURSE] }), 'commented', undefined, 'c'],
      [say('commented', activity('v', 'video', text), { parent: [COURSE] }), 'commented', undefined, 'v'],
      // The thread is the only activity around the reply, so it is the board.
      [say('replied', activity('r', 'forum-reply', text), { parent: [thread] }), 'commented', undefined, 'r'],
      [say('asked', activity('hint', 'supplemental-info'), { parent: [COURSE] }), 'asked', undefined, 'hint'],
    ];
    for (const [statement, action, body, pin = 'thread'] of cases) {
      const { events, records, report } = await importStatements(t, [statement]);
      assert.deepEqual(report.problems, []);
      assert.deepEqual([events[0]?.action, events[0]?.body], [action, body], JSON.stringify(statement));
      const pins = records
        .filter(({ kind }) => kind === 'pins')
        .map(({ record }) => Reflect.get(record, 'webUrl'));
      assert.deepEqual(pins, [`https://x.example/${pin}`], JSON.stringify(statement));
    }
  });

  it('is on the board that an option names', async (t) => {
    const registration = '0E4B2E9C-9C1D-4A70-8F57-6A0C3B9D1E01';
    const unit = { id: 'https://x.example/publisher/unit' };
    const context = { registration, contextActivities: { parent: [COURSE], grouping: [unit] } };
    const boards = [
      [undefined, 'Chemistry'],
      ['grouping', unit.id],
      ['registration', `Registration ${registration.toLowerCase()}`],
    ] as const;
    for (const [boardFrom, board] of boards) {
      const statements = [
        { ...STATEMENT, context },
        { ...STATEMENT, id: '2', context: {} },
      ];
      const { records, report } = await importStatements(t, statements, { boardFrom });
      const titles = records
        .filter(({ kind }) => kind === 'boards')
        .map(({ record }) => Reflect.get(record, 'title'));
      assert.deepEqual(titles, [board]);
      assert.equal(report.translated?.dropped[0]?.count, 1);
    }
  });

  it('can be in a page of a store, at its own line, and a page can name the next', async (t) => {
    const pages = [
      { statements: [STATEMENT, { ...STATEMENT, id: '2', timestamp: 'x' }], more: '/xapi/statements?p=2' },
      { more: null, statements: [{ ...STATEMENT, id: '3' }] },
      { statements: [], more: '' },
      { statements: { ...STATEMENT, id: '4' } },
    ];
    const written = { 'a.json': JSON.stringify(pages[0], null, 1), 'b.ndjson': lines(pages.slice(1)) };
    const folder = await makeFolder(t, written);
    const { report, records } = await importRecorded({
      ...{ paths: [folder], foreign: { format: xapi, options: {} }, skipInvalid: join(folder, 'rejects') },
    });
    const place = (file: string, line: number) => ({ file: join(folder, file), line });
    const second = written['a.json'].split('"2"')[0]?.split('\n').length ?? 0;
    assert.deepEqual(
      report.problems.map(({ file, line, field }) => ({ file, line, field })),
      [
        { ...place('a.json', second - 1), field: 'timestamp' },
        { ...place('b.ndjson', 3), field: '' },
      ],
    );
    assert.equal(eventsOf(records).length, 2);
    assert.deepEqual([report.records, report.rejected], [4, 2]);
    assert.deepEqual(report.translated?.dropped, [
      {
        reason: 'names a next page (more): its statements must be in another file',
        ...{ count: 1, examples: [`${join(folder, 'a.json')}:1`] },
      },
    ]);
  });

  it('can be wrapped in a document of a store', async (t) => {
    const { events } = await importStatements(t, [
      { _id: { $oid: '1' }, statement: STATEMENT, voided: false },
      { _index: 'statements', _source: { ...STATEMENT, id: '2' } },
      { _source: { metadata: {}, statement: { ...STATEMENT, id: '3' } } },
    ]);
    assert.equal(events.length, 3);
    const { report } = await importStatements(t, [
      { statement: { ...STATEMENT, verb: {} } },
      { payload: STATEMENT },
    ]);
    assert.deepEqual(
      report.problems.map(({ field, reason }) => `${field} ${reason}`),
      ['statement.verb.id is required', ' is no statement: it has neither actor, verb nor object'],
    );
  });
});
