/**
 * Statements of the Experience API: real ones, counted independently, and the kinds of agents and
 * activities.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { FormatOptions } from '../../../src/ingest/formats/format.ts';
import { xapi } from '../../../src/ingest/formats/xapi.ts';
import { importBundle } from '../../../src/ingest/import.ts';
import { openFolderStore } from '../../../src/store/files/open-folder.ts';
import { everybodyOf } from '../../dataset/record-columns.ts';
import { filesOf, whyWithout } from '../../real-data.ts';
import { lines } from '../imported-files.ts';
import { makeFolder } from '../temporary-folder.ts';
import { eventsOf, importRecorded, importTwice, tally } from './real-files.ts';

const COURSE = {
  id: 'https://x.example/course/1',
  definition: {
    type: 'http://adlnet.gov/expapi/activities/course',
    name: { fr: 'Chimie', 'en-GB': 'Chemistry' },
  },
};
const STATEMENT = {
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

interface Real {
  readonly id: string;
  readonly verb: { readonly id: string };
  readonly actor: { readonly account: { readonly name: string } };
  readonly object: { readonly id: string };
  readonly context: { readonly contextActivities: { readonly parent: readonly { readonly id: string }[] } };
}

/**
 * The sizes of the groups without their names: ids are digests, so only the counts can be compared.
 */
function counts(values: Iterable<unknown>): number[] {
  return Object.values(tally(Array.from(values, String))).sort((one, other) => one - other);
}

describe('video statements', { skip: whyWithout('xapi') }, () => {
  const files = whyWithout('xapi') === false ? filesOf('xapi') : [];
  const foreign = { format: xapi, options: {} };

  it('agree with an independent count by action, user, board and pin', async () => {
    const text = gunzipSync(readFileSync(files[0] ?? '')).toString();
    const statements = text
      .trimEnd()
      .split('\n')
      .map((line): Real => JSON.parse(line));
    // The same statement twice is one event (decision 29).
    const different = [...new Map(statements.map((one) => [one.id, one])).values()];
    const { report, records } = await importRecorded({ paths: files, foreign });
    const events = eventsOf(records);
    const dropped = report.translated?.dropped.reduce((sum, { count }) => sum + count, 0) ?? 0;
    assert.equal(report.outcome, 'published');
    assert.equal(report.records, statements.length);
    assert.equal(statements.length, 11_000);
    const isEvent = ({ verb }: Real) => !/terminated$/.test(verb.id);
    assert.equal(dropped, statements.filter((one) => !isEvent(one)).length);
    const wanted = statements.filter(isEvent);
    const action = ({ verb }: Real) =>
      verb.id
        .split('/')
        .at(-1)
        ?.replace(/^initialized$/, 'started') ?? '';
    assert.deepEqual(tally(events.map((event) => event.action)), tally(wanted.map(action)));
    assert.deepEqual(
      counts(events.map(({ actorId }) => actorId)),
      counts(wanted.map(({ actor }) => actor.account.name)),
    );
    assert.deepEqual(counts(events.map(({ pinId }) => pinId)), counts(wanted.map(({ object }) => object.id)));
    assert.deepEqual(
      counts(events.map(({ boardId }) => boardId)),
      counts(wanted.map(({ context }) => context.contextActivities.parent[0]?.id)),
    );
    assert.equal(new Set(events.map(({ id }) => id)).size, different.filter(isEvent).length);
  });

  it('change nothing the second time', async (t) => {
    const [first, second] = await importTwice(await makeFolder(t), { paths: files, foreign });
    assert.equal(first.outcome, 'published');
    assert.equal(second.outcome, 'unchanged');
  });
});

describe('a statement', () => {
  async function imported(
    t: Parameters<typeof makeFolder>[0],
    statements: readonly unknown[],
    options: FormatOptions = {},
  ) {
    const folder = await makeFolder(t, { 'statements.json': JSON.stringify(statements) });
    const { report, records } = await importRecorded({ paths: [folder], foreign: { format: xapi, options } });
    return { report, records, events: eventsOf(records) };
  }

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

  it('describes users, course and activity', async (t) => {
    const { report, records, events } = await imported(t, [STATEMENT]);
    assert.deepEqual(report.problems, []);
    const [event] = events;
    assert.deepEqual(
      [event?.type, event?.action, event?.timestampMs],
      ['pin', 'visited', Date.UTC(2024, 2, 31, 1, 30, 0, 123)],
    );
    const things = records
      .filter(({ kind }) => kind !== 'events')
      .map(({ kind, record }) => [kind, Reflect.get(record, 'email') ?? Reflect.get(record, 'title')])
      .map(([kind, text]) => [kind, text.replace(/^user-\d+@/, 'user-N@')]);
    assert.deepEqual(things.sort(), [
      ['boards', 'Chemistry'],
      ['pins', 'Acides'],
      ['users', 'ada@x.example'],
      ['users', 'user-N@openid.invalid'],
    ]);
  });

  it('that starts an activity or interacts with it is no visit, unless it is mapped to one', async (t) => {
    const verbs = ['experienced', 'launched', 'initialized', 'interacted'];
    const statements = verbs.map((verb) => ({
      ...{ ...STATEMENT, id: verb, verb: { id: `http://adlnet.gov/expapi/verbs/${verb}` } },
    }));
    const actionsOf = ({ events }: Awaited<ReturnType<typeof imported>>) =>
      events.map(({ action }) => action).sort();
    const plain = await imported(t, statements);
    assert.deepEqual(actionsOf(plain), ['interacted', 'started', 'visited', 'visited']);
    const mapping = { initialized: 'pin.visited', interacted: 'visited' };
    const mapped = await imported(t, statements, { mapping });
    assert.deepEqual(actionsOf(mapped), verbs.fill('visited'));
  });

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
      const { events, report } = await imported(
        t,
        ids.map((id) => ({ ...STATEMENT, id, verb: { id } })),
      );
      assert.deepEqual([...new Set(events.map((event) => event.action))], [action]);
      assert.equal(report.translated?.unlisted, undefined);
    }
  });

  it('can be mapped to an action that keeps board or pin', async (t) => {
    const verb = { id: 'http://x.example/verbs/abandoned' };
    const { events } = await imported(
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

  it('can have any verb, of which the report lists a thousand', async (t) => {
    const statements = Array.from({ length: 1100 }, (_, at) => ({
      ...{ ...STATEMENT, id: String(at), verb: { id: `http://x.example/verbs/v${at}` } },
    }));
    const { report, events } = await imported(t, statements);
    assert.equal(events.length, 1100);
    const actions = Object.entries(report.translated?.events ?? {});
    assert.equal(actions.length, 1001);
    assert.deepEqual(actions[0], ['other actions', 100]);
    const words = Object.entries(report.translated?.unlisted ?? {});
    assert.equal(words.length, 1001);
    assert.deepEqual(
      [words[0], words[1]],
      [
        ['other words', 100],
        ['http://x.example/verbs/v0', 1],
      ],
    );
  });

  it('that is a comment has its response as text', async (t) => {
    const result = { response: 'I think so.' };
    const said = ['replied', 'answered'].map((verb) => ({
      ...{ ...STATEMENT, result, id: verb, verb: { id: `http://adlnet.gov/expapi/verbs/${verb}` } },
    }));
    const { events } = await imported(t, [...said, { ...said[0], id: 'other', result: { response: 5 } }]);
    assert.deepEqual(
      events.map(({ action, body }) => [action, body]),
      [
        ['commented', 'I think so.'],
        ['answered', undefined],
        ['commented', undefined],
      ],
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
      const { events, records, report } = await imported(t, [statement]);
      assert.deepEqual(report.problems, []);
      assert.deepEqual([events[0]?.action, events[0]?.body], [action, body], JSON.stringify(statement));
      const pins = records
        .filter(({ kind }) => kind === 'pins')
        .map(({ record }) => Reflect.get(record, 'webUrl'));
      assert.deepEqual(pins, [`https://x.example/${pin}`], JSON.stringify(statement));
    }
  });

  it('about a course is an event on the board', async (t) => {
    const { events } = await imported(t, [
      { ...STATEMENT, object: COURSE, context: {}, verb: { id: 'http://x.example/verbs/registered' } },
    ]);
    assert.deepEqual(
      events.map(({ type, action, pinId }) => [type, action, pinId]),
      [['board', 'followed', undefined]],
    );
  });

  it('about a course of a site is an event on the course, whichever form its id has', async (t) => {
    const grouping = [
      { id: 'http://x.example', definition: { type: 'http://id.tincanapi.com/activitytype/lms' } },
    ];
    const account = (homePage: string) => ({ account: { homePage, name: 'ada' } });
    const { report, events } = await imported(t, [
      { ...STATEMENT, id: '1', object: COURSE, context: { contextActivities: { grouping } } },
      { ...STATEMENT, id: '2', actor: account('https://lms.example') },
      { ...STATEMENT, id: '3', actor: account('https://lms.example/') },
    ]);
    assert.deepEqual(report.problems, []);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['board', 'pin', 'pin'],
    );
    assert.equal(new Set(events.map(({ boardId }) => boardId)).size, 1);
  });

  it('may contain anything anywhere', async (t) => {
    const odd = { toString: 1, valueOf: 1 };
    const { report } = await imported(t, [
      { ...STATEMENT, object: { ...STATEMENT.object, objectType: odd } },
      { ...STATEMENT, id: odd, timestamp: odd, verb: { id: odd } },
      {
        ...STATEMENT,
        context: { contextActivities: { parent: [{ id: 'x', definition: { type: odd, name: odd } }] } },
      },
    ]);
    assert.equal(report.problems.length, 1);
  });

  it('may be a line of a file with the extension of JSON', async (t) => {
    const statements = [STATEMENT, { ...STATEMENT, id: '12345678-1234-5678-1234-567812345679' }];
    const folder = await makeFolder(t, {
      'lines.json': statements.map((statement) => `${JSON.stringify(statement)}\n`).join(''),
    });
    const { report, records } = await importRecorded({
      paths: [folder],
      foreign: { format: xapi, options: {} },
    });
    assert.deepEqual(report.problems, []);
    assert.equal(eventsOf(records).length, 2);
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
    const { events } = await imported(t, [
      { _id: { $oid: '1' }, statement: STATEMENT, voided: false },
      { _index: 'statements', _source: { ...STATEMENT, id: '2' } },
      { _source: { metadata: {}, statement: { ...STATEMENT, id: '3' } } },
    ]);
    assert.equal(events.length, 3);
    const { report } = await imported(t, [{ statement: { ...STATEMENT, verb: {} } }, { payload: STATEMENT }]);
    assert.deepEqual(
      report.problems.map(({ field, reason }) => `${field} ${reason}`),
      ['statement.verb.id is required', ' is no statement: it has neither actor, verb nor object'],
    );
  });

  it('is dropped if it has no user, no object or no course', async (t) => {
    const { report, events } = await imported(t, [
      { ...STATEMENT, actor: { objectType: 'Group', member: [] } },
      { ...STATEMENT, object: { objectType: 'StatementRef', id: STATEMENT.id } },
      { ...STATEMENT, context: undefined },
      { ...STATEMENT, verb: { id: 'http://adlnet.gov/expapi/verbs/terminated' } },
    ]);
    assert.equal(report.problemCount, 0);
    assert.equal(events.length, 0);
    assert.equal(report.translated?.dropped.length, 4);
  });

  it('is refused if a member is missing or wrong', async (t) => {
    const { report } = await imported(t, [
      { ...STATEMENT, actor: { name: 'Ada' } },
      { ...STATEMENT, verb: {} },
      { ...STATEMENT, object: [] },
      { ...STATEMENT, timestamp: undefined },
      { ...STATEMENT, timestamp: '2024-02-30T00:00:00Z' },
    ]);
    assert.deepEqual(
      report.problems.map(({ field }) => field),
      ['actor', 'verb.id', 'object', 'timestamp', 'timestamp'],
    );
  });

  it('follows a mapping, by the IRI of the verb or its last part', async (t) => {
    const verbs = [
      'http://x.example/verbs/watched',
      'http://x.example/verbs/played',
      'http://y.example/verbs/played',
      'http://y.example/verbs/constructor',
    ];
    const mapping = { watched: 'pin.visited', 'http://x.example/verbs/played': null };
    const statements = verbs.map((id, place) => ({ ...STATEMENT, id: `${place}`, verb: { id } }));
    const { events } = await imported(t, statements, { mapping });
    assert.deepEqual(
      events.map(({ action }) => action),
      ['visited', 'played', 'constructor'],
    );
  });

  it('has the same number in every import, and the same user has the same id', async (t) => {
    const other = {
      ...STATEMENT,
      id: '00000000-1234-5678-1234-567812345678',
      actor: { mbox: 'mailto:ADA@x.example' },
    };
    const one = await imported(t, [STATEMENT, other]);
    const two = await imported(t, [other, STATEMENT]);
    assert.equal(new Set(one.events.map(({ actorId }) => actorId)).size, 1);
    assert.deepEqual(new Set(one.events.map(({ id }) => id)), new Set(two.events.map(({ id }) => id)));
    assert.ok(one.events.every(({ actorId }) => actorId <= BigInt(Number.MAX_SAFE_INTEGER)));
  });
});
