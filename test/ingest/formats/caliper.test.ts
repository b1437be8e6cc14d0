/** Envelopes of IMS Caliper, written as the standard has them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { caliper } from '../../../src/ingest/formats/caliper.ts';
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
    return { report, records, events: eventsOf(records) };
  }

  it('make a message a comment on its thread, whose maker owns it', async (t) => {
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

  it('are read by forums, threads, views, navigation and feedback', async (t) => {
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

  it('are dropped in part where something is no interaction of a person on a course', async (t) => {
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

  it('are refused as a whole with the place of what is wrong', async (t) => {
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
        ...['1 data.1.actor', '2 data.0.@context', '3 dataVersion', '4 sensor'],
        ...['5 data.0', '6 data', '7 timestamp', '8 object.id'],
      ],
    );
    assert.deepEqual(report.translated?.events, {});
  });

  it('mean what a mapping says', async (t) => {
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
