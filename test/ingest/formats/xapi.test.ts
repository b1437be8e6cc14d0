/**
 * Statements of the Experience API: real ones, counted independently, and the kinds of agents and
 * activities.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { xapi } from '../../../src/ingest/formats/xapi.ts';
import { filesOf, whyWithout } from '../../real-data.ts';
import { makeFolder } from '../temporary-folder.ts';
import { eventsOf, importRecorded, importTwice, tally } from './real-files.ts';
import { COURSE, importStatements, STATEMENT } from './statements.ts';

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
  it('describes users, course and activity', async (t) => {
    const { report, records, events } = await importStatements(t, [STATEMENT]);
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
    const actionsOf = ({ events }: Awaited<ReturnType<typeof importStatements>>) =>
      events.map(({ action }) => action).sort();
    const plain = await importStatements(t, statements);
    assert.deepEqual(actionsOf(plain), ['interacted', 'started', 'visited', 'visited']);
    const mapping = { initialized: 'pin.visited', interacted: 'visited' };
    const mapped = await importStatements(t, statements, { mapping });
    assert.deepEqual(actionsOf(mapped), verbs.fill('visited'));
  });

  it('can have any verb, of which the report lists a thousand', async (t) => {
    const statements = Array.from({ length: 1100 }, (_, at) => ({
      ...{ ...STATEMENT, id: String(at), verb: { id: `http://x.example/verbs/v${at}` } },
    }));
    const { report, events } = await importStatements(t, statements);
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
    const { events } = await importStatements(t, [
      ...said,
      { ...said[0], id: 'other', result: { response: 5 } },
    ]);
    assert.deepEqual(
      events.map(({ action, body }) => [action, body]),
      [
        ['commented', 'I think so.'],
        ['answered', undefined],
        ['commented', undefined],
      ],
    );
  });

  it('about a course is an event on the board', async (t) => {
    const { events } = await importStatements(t, [
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
    const { report, events } = await importStatements(t, [
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
    const { report } = await importStatements(t, [
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

  it('is dropped if it has no user, no object or no course', async (t) => {
    const { report, events } = await importStatements(t, [
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
    const { report } = await importStatements(t, [
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
    const { events } = await importStatements(t, statements, { mapping });
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
    const one = await importStatements(t, [STATEMENT, other]);
    const two = await importStatements(t, [other, STATEMENT]);
    assert.equal(new Set(one.events.map(({ actorId }) => actorId)).size, 1);
    assert.deepEqual(new Set(one.events.map(({ id }) => id)), new Set(two.events.map(({ id }) => id)));
    assert.ok(one.events.every(({ actorId }) => actorId <= BigInt(Number.MAX_SAFE_INTEGER)));
  });
});
