/** Envelopes of IMS Caliper, written as in the standard. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { caliper } from '../../../src/ingest/formats/caliper.ts';
import { classRoleOf } from '../../../src/ingest/formats/caliper-roles.ts';
import type { FormatOptions } from '../../../src/ingest/formats/format.ts';
import { makeFolder } from '../temporary-folder.ts';
import { eventsOf, importRecorded } from './real-files.ts';

const SECTION = { id: 'https://x.example/sections/1', type: 'CourseSection', name: 'Chemistry' };
const THREAD = {
  id: 'https://x.example/forums/2/topics/1',
  type: 'Thread',
  name: 'Acids',
  creators: [{ id: 'https://x.example/users/2', type: 'Person', name: 'Bob' }],
  isPartOf: { id: 'https://x.example/forums/2', type: 'Forum', isPartOf: SECTION },
};
const EVENT = {
  '@context': 'http://purl.imsglobal.org/ctx/caliper/v1p1',
  id: 'urn:uuid:0d015a85-abf5-49ee-abb1-46dbd57fe64e',
  type: 'MessageEvent',
  actor: { id: 'https://x.example/users/1', type: 'Person', name: 'Ada' },
  action: 'Posted',
  object: { id: `${THREAD.id}/messages/2`, type: 'Message', isPartOf: THREAD },
  eventTime: '2016-11-15T10:15:00.000Z',
};
const envelope = (data: readonly unknown[], version = 'v1p2') => ({
  sensor: 'https://x.example/sensors/1',
  sendTime: '2016-11-15T11:05:01.000Z',
  dataVersion: `http://purl.imsglobal.org/ctx/caliper/${version}`,
  data,
});
const view = (place: number, changes: object = {}) => ({
  ...EVENT,
  ...{ id: `urn:uuid:${place}`, type: 'ViewEvent', action: 'Viewed', group: SECTION },
  object: { id: 'https://x.example/page', type: 'WebPage' },
  ...changes,
});

/** An entity beside the events, as in the standard: it has its own context. */
const entity = (type: string, id: string, more: object = {}) => ({
  ...{ '@context': EVENT['@context'], id, type },
  ...more,
});
const ADDRESSES = [
  { type: 'SystemIdentifier', identifierType: 'LisSourcedId', identifier: 'x:1' },
  { type: 'SystemIdentifier', identifierType: 'EmailAddress', identifier: 'no address' },
  { type: 'SystemIdentifier', identifierType: 'EmailAddress', identifier: 'ada@x.example' },
];

describe('envelopes of Caliper', () => {
  async function imported(
    t: Parameters<typeof makeFolder>[0],
    envelopes: readonly unknown[],
    options: FormatOptions = {},
  ) {
    const lines = envelopes.map((one) => `${JSON.stringify(one)}\n`).join('');
    const folder = await makeFolder(t, { 'caliper.ndjson': lines });
    const { report, records } = await importRecorded({
      paths: [folder],
      foreign: { format: caliper, options },
    });
    /** The last given value of the member for each object of a kind. */
    const said = (kind: string, member: string) => {
      const found = new Map<unknown, unknown>();
      for (const one of records) {
        const value = Reflect.get(one.record, member);
        if (one.kind === kind && value !== undefined) found.set(Reflect.get(one.record, 'id'), value);
      }
      return [...found.values()].map(String).sort();
    };
    return { report, records, events: eventsOf(records), said };
  }

  it('make a message a comment on its thread, which belongs to the maker of the thread', async (t) => {
    const { report, records, events } = await imported(t, [envelope([EVENT], 'v1p1')]);
    assert.deepEqual(report.problems, []);
    const [event] = events;
    assert.deepEqual(
      [event?.type, event?.action, event?.timestampMs],
      ['pin', 'commented', Date.parse(EVENT.eventTime)],
    );
    const things = records
      .filter(({ kind }) => kind !== 'events')
      .map(({ kind, record }) => `${kind} ${Reflect.get(record, 'title') ?? Reflect.get(record, 'name')}`);
    assert.deepEqual(things.sort(), ['boards Chemistry', 'pins Acids', 'users Ada', 'users Bob']);
  });

  it('give messages and feedback their text', async (t) => {
    const comment = { id: 'https://x.example/comments/1', type: 'Comment', value: 'Well done' };
    const feedback = { type: 'FeedbackEvent', action: 'Commented' };
    const { events } = await imported(t, [
      envelope([
        { ...EVENT, object: { ...EVENT.object, body: 'Is it sour?' } },
        view(1, { ...feedback, generated: comment }),
        view(2, { ...feedback, generated: comment.id }),
        entity(comment.type, comment.id, comment),
        view(3, feedback),
        view(4, { object: { id: 'https://x.example/page', type: 'WebPage', body: 'No comment' } }),
      ]),
    ]);
    assert.deepEqual(
      events.map(({ action, body }) => [action, body]),
      [
        ['commented', 'Is it sour?'],
        ['commented', 'Well done'],
        ['commented', 'Well done'],
        ['commented', undefined],
        ['visited', undefined],
      ],
    );
  });

  it('give events for forums, threads, views, navigation and feedback', async (t) => {
    const of = (type: string, action: string, place: number) => view(place, { type, action });
    const { events } = await imported(t, [
      envelope([
        of('ForumEvent', 'Subscribed', 1),
        of('ThreadEvent', 'MarkedAsRead', 2),
        of('ViewEvent', 'Viewed', 3),
        of('NavigationEvent', 'NavigatedTo', 4),
        of('FeedbackEvent', 'Ranked', 5),
        view(6, { object: SECTION }),
        view(7, {
          object: SECTION.id,
          actor: EVENT.actor.id,
          type: 'NavigationEvent',
          action: 'NavigatedTo',
        }),
      ]),
      view(8),
    ]);
    assert.deepEqual(
      events.map(({ type, action }) => `${type}.${action}`),
      [
        ...['pin.followed', 'pin.visited', 'pin.visited', 'pin.visited', 'pin.ranked'],
        ...['board.visited', 'board.visited', 'pin.visited'],
      ],
    );
    assert.equal(new Set(events.map(({ actorId }) => actorId)).size, 1);
    assert.equal(new Set(events.map(({ boardId }) => boardId)).size, 1);
  });

  it('are dropped in part where an event is not an interaction of a user on a course', async (t) => {
    const { report, events } = await imported(t, [
      envelope([
        view(1, { type: 'SessionEvent', action: 'LoggedIn' }),
        view(5, { type: 'constructor' }),
        view(2, { actor: { id: 'https://x.example', type: 'SoftwareApplication' } }),
        view(3, { group: undefined }),
        view(4),
      ]),
    ]);
    assert.equal(report.outcome, 'published');
    assert.equal(events.length, 1);
    assert.deepEqual(
      report.translated?.dropped.map(({ count }) => count),
      [1, 1, 1, 1],
    );
  });

  it('are refused as a whole, with the place of the problem', async (t) => {
    const { report } = await imported(t, [
      envelope([view(1), view(2, { actor: undefined })]),
      envelope([view(3, { '@context': 'http://purl.imsglobal.org/ctx/caliper/v1/Context' })]),
      envelope([view(4)], 'v2p0'),
      { ...envelope([]), sensor: undefined },
      envelope(['urn:uuid:5']),
      { ...envelope([]), data: 'none' },
      envelope([view(6, { eventTime: '2016-11-31T10:15:00.000Z' })]),
      view(7, { object: { type: 'WebPage' } }),
    ]);
    assert.deepEqual(
      report.problems.map(({ line, field }) => `${line} ${field}`),
      [
        ...['1 data[2].actor', '2 data[1].@context', '3 dataVersion', '4 sensor'],
        ...['5 data[1]', '6 data', '7 timestamp', '8 object.id'],
      ],
    );
    assert.deepEqual(report.translated?.events, {});
  });

  it('describe an object in any order, with or without its name', async (t) => {
    const object = { id: 'https://x.example/page', type: 'WebPage' };
    const tells = view(1, { object: { ...object, description: 'On acids' } });
    for (const data of [
      [tells, view(2)],
      [view(2), tells],
    ]) {
      const { records } = await imported(t, data);
      const bodies = records.flatMap(({ kind, record }) =>
        kind === 'pins' ? [Reflect.get(record, 'body')] : [],
      );
      assert.ok(bodies.includes('On acids'), JSON.stringify(bodies));
    }
  });

  it('describe a creator inside any description of a thread, in any order', async (t) => {
    const thread = (creator: unknown) => entity('Thread', THREAD.id, { creators: [creator] });
    const [bob] = THREAD.creators;
    const descriptions = [thread(bob), thread(bob?.id)];
    const event = view(1, { object: THREAD.id });
    for (const data of [descriptions, descriptions.toReversed()]) {
      const { said } = await imported(t, [envelope([...data, event])]);
      assert.deepEqual(said('users', 'name'), ['Ada', 'Bob']);
    }
  });

  it('use entities beside the events to describe objects that the events only identify, in any order', async (t) => {
    const thin = (id: number, more: object = {}) =>
      view(id, { actor: EVENT.actor.id, object: 'https://x.example/page', group: SECTION.id, ...more });
    const entities = [
      entity('Person', EVENT.actor.id, { name: 'Ada', otherIdentifiers: ADDRESSES }),
      entity('CourseSection', SECTION.id, { name: 'Chemistry' }),
      entity('WebPage', 'https://x.example/page', { name: 'Acids', description: 'On acids' }),
      entity('SoftwareApplication', 'https://x.example'),
    ];
    const events = [thin(1), thin(2, { actor: 'https://x.example' })];
    for (const data of [
      [...entities, ...events],
      [...events, ...entities],
    ]) {
      const { report, said, events: found } = await imported(t, [envelope(data)]);
      assert.deepEqual(report.problems, []);
      assert.deepEqual(
        found.map(({ type, action }) => `${type}.${action}`),
        ['pin.visited'],
      );
      assert.deepEqual(said('users', 'name'), ['Ada', 'Unknown']);
      assert.deepEqual(said('users', 'email'), ['ada@x.example', 'unknown@owner.invalid']);
      assert.deepEqual(said('boards', 'title'), ['Chemistry']);
      assert.deepEqual([said('pins', 'title'), said('pins', 'body')], [['Acids'], ['On acids']]);
      assert.deepEqual(report.translated?.described, { users: 1, boards: 1 });
      assert.deepEqual(report.translated?.dropped.map(({ reason, count }) => `${reason} ${count}`).sort(), [
        'is an entity, not an event: SoftwareApplication 1',
        'is an entity, not an event: WebPage 1',
        'is not by a person, but by SoftwareApplication 1',
      ]);
    }
  });

  it('give the actor the class role in the membership of the event', async (t) => {
    const LIS = 'http://purl.imsglobal.org/vocab/lis/v2/membership';
    const { id } = EVENT.actor;
    const membership = (roles: unknown, more: object = {}) => ({
      ...{ id: `${SECTION.id}/rosters/1`, type: 'Membership', member: id, organization: SECTION.id },
      ...{ roles, status: 'Active', ...more },
    });
    for (const [roles, expected, more] of [
      [['Learner'], 'student'],
      [['Learner', 'Instructor'], 'instructor'],
      [['Instructor', 'Instructor#TeachingAssistantSection'], 'teaching-assistant'],
      [[`${LIS}#Learner`], 'student'],
      [[`${LIS}/Instructor#TeachingAssistant`, `${LIS}#Instructor`], 'teaching-assistant'],
      [['Mentor#Tutor', 7, null], 'mentor'],
      [['Learner'], 'student', { member: { id, type: 'Person' }, status: undefined }],
      [['Learner'], undefined, { status: 'Inactive' }],
      [['Learner'], undefined, { member: 'https://x.example/users/9' }],
      [['constructor'], undefined],
      ['Learner', undefined],
      [undefined, undefined],
    ] as const) {
      const { said, report } = await imported(t, [view(1, { membership: membership(roles, more) })]);
      assert.deepEqual(report.problems, []);
      assert.deepEqual(said('users', 'classRole'), expected === undefined ? [] : [expected], `${roles}`);
    }
    const described = [
      entity('Membership', membership([]).id, membership(['Instructor'])),
      view(1, { membership: membership([]).id }),
      view(2, { object: SECTION.id }),
    ];
    const { records, said } = await imported(t, [envelope(described)]);
    assert.deepEqual(said('users', 'classRole'), ['instructor']);
    const roles = records.filter(({ record }) => Reflect.get(record, 'classRole') !== undefined);
    assert.equal(roles.length, 1, 'an event without a membership keeps the class role');
  });

  it('give a person only the address in other identifiers, as up to version 0.2', async (t) => {
    const at = (actor: object, more: object = {}) =>
      view(1, { actor: { type: 'Person', ...actor }, ...more });
    const { id } = EVENT.actor;
    const member = { id, type: 'Person', otherIdentifiers: ADDRESSES };
    for (const [event, expected] of [
      [at({ id, otherIdentifiers: ADDRESSES }), 'ada@x.example'],
      [at({ id: 'mailto:a@x.example', otherIdentifiers: ADDRESSES }), 'ada@x.example'],
      [at({ id: 'mailto:Ada@x.example' }), '.invalid'],
      [at({ id }, { membership: { id: 'urn:m', type: 'Membership', member } }), '.invalid'],
    ] as const) {
      const { said, report } = await imported(t, [event]);
      assert.deepEqual(report.problems, []);
      const [address = ''] = said('users', 'email').filter((one) => one !== 'unknown@owner.invalid');
      assert.ok(address === expected || (expected === '.invalid' && address.endsWith(expected)), address);
    }
  });

  it('may have a role of any length', () => {
    const roles = [`Learner${'#'.repeat(400_000)}\n`];
    const before = performance.now();
    assert.equal(classRoleOf({ roles }), 'student');
    assert.ok(performance.now() - before < 1000, 'the time is not quadratic');
  });

  it('may contain only entities, or an entity may be on its own, and later envelopes refer to them', async (t) => {
    const { report, said } = await imported(t, [
      envelope([entity('Person', EVENT.actor.id, { name: 'Ada' })], 'v1p1'),
      entity('CourseSection', SECTION.id, { name: 'Chemistry' }),
      entity('CourseOffering', 'https://x.example/courses/1'),
      view(1, { actor: EVENT.actor.id, group: SECTION.id }),
    ]);
    assert.deepEqual(report.problems, []);
    assert.deepEqual(said('users', 'name'), ['Ada', 'Unknown']);
    assert.deepEqual(said('boards', 'title'), ['Chemistry']);
    assert.deepEqual(report.translated?.described, { users: 1, boards: 1 });
  });

  it('are refused if an event beside entities is damaged', async (t) => {
    const person = entity('Person', EVENT.actor.id, { name: 'Ada' });
    const { report } = await imported(t, [
      envelope([person, view(1, { eventTime: undefined })]),
      envelope([person, view(2, { action: undefined, eventTime: undefined })]),
      envelope([person, { ...person, id: undefined }, view(3)]),
      envelope([person, { name: 'Ada' }]),
    ]);
    assert.deepEqual(
      report.problems.map(({ line, field }) => `${line} ${field}`),
      ['1 data[2].eventTime', '2 data[2].action', '4 data[2].@context'],
    );
  });

  it('may refer to groups, threads and parents by identifiers alone', async (t) => {
    const message = (id: number, isPartOf: unknown, group: unknown) => ({
      ...EVENT,
      ...{ id: `urn:uuid:${id}`, group },
      object: { id: `${THREAD.id}/messages/${id}`, type: 'Message', isPartOf },
    });
    const page = (id: number, type: string, isPartOf: unknown) =>
      view(id, { group: undefined, object: { id: `https://x.example/${id}`, type, isPartOf } });
    const { report, events } = await imported(t, [
      message(1, THREAD, undefined),
      message(2, THREAD.id, SECTION.id),
      message(3, { id: THREAD.id, type: 'Thread', isPartOf: 'https://x.example/forums/2' }, SECTION),
      page(4, 'WebPage', SECTION.id),
      page(5, 'Chapter', { id: 'https://x.example/book', type: 'Document', isPartOf: SECTION.id }),
      message(6, THREAD.id, undefined),
      page(7, 'Thread', 'https://x.example/forums/2'),
      page(8, 'WebPage', 'https://x.example/8'),
    ]);
    assert.deepEqual(report.problems, []);
    assert.deepEqual(
      report.translated?.dropped.map(({ reason, count }) => [reason, count]),
      [['names no course', 3]],
    );
    assert.equal(new Set(events.map(({ boardId }) => boardId)).size, 1);
    const [first, ...others] = events.map(({ pinId }) => pinId);
    assert.deepEqual(others.slice(0, 2), [first, first]);
    assert.equal(new Set(others).size, 3);
  });

  it('follow the mapping', async (t) => {
    const mapping = { 'ViewEvent Viewed': 'pin.seen', NavigatedTo: null, LoggedIn: 'board.entered' };
    const { events } = await imported(
      t,
      [
        envelope([
          view(1),
          view(2, { type: 'NavigationEvent', action: 'NavigatedTo' }),
          view(3, { type: 'SessionEvent', action: 'LoggedIn' }),
        ]),
      ],
      { mapping },
    );
    assert.deepEqual(
      events.map(({ action }) => action),
      ['seen', 'entered'],
    );
  });
});
