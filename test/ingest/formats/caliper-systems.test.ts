/** Events of IMS Caliper as three systems write them. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { caliper } from '../../../src/ingest/formats/caliper.ts';
import { lines } from '../imported-files.ts';
import { makeFolder } from '../temporary-folder.ts';
import { eventsOf, importRecorded } from './real-files.ts';

const SECTION = { id: 'https://x.example/sections/1', type: 'CourseSection', name: 'Chemistry' };
const THREAD = { id: 'https://x.example/forums/2/topics/1', type: 'Thread', name: 'Acids' };

describe('events of Caliper', () => {
  async function imported(t: Parameters<typeof makeFolder>[0], events: readonly unknown[]) {
    const folder = await makeFolder(t, { 'caliper.ndjson': lines(events) });
    const foreign = { format: caliper, options: {} };
    const { report, records } = await importRecorded({ paths: [folder], foreign });
    return { report, records, events: eventsOf(records) };
  }

  it('of Open edX, Canvas and Blackboard are read, as in the reference', async (t) => {
    const reference = await readFile(join(import.meta.dirname, '../../../docs/other-formats.md'), 'utf8');
    const section = reference.split('### Events of three systems')[1]?.split('\n## ')[0] ?? '';
    const examples = Array.from(section.matchAll(/```json\n(.*?)```/gs), ([, text = '']) => JSON.parse(text));
    const { report, events, records } = await imported(t, examples);
    assert.deepEqual(report.problems, []);
    assert.deepEqual(
      events.map(({ type, action, body }) => [type, action, body]),
      [
        ['pin', 'visited', undefined],
        ['pin', 'commented', '<p>Clay holds more water.</p>'],
        ['pin', 'visited', undefined],
      ],
    );
    const said = (kind: string, member: string) =>
      records
        .filter((one) => one.kind === kind)
        .map(({ record }) => Reflect.get(record, member))
        .filter(Boolean)
        .sort();
    assert.deepEqual(said('boards', 'title'), [
      'https://caliper.example/v1/sites/1/courses/a3',
      'https://edx.example/course/botany',
      'urn:instructure:canvas:course:4',
    ]);
    assert.deepEqual(said('users', 'classRole'), ['student']);
  });

  it('of no profile are enrolments, or dropped', async (t) => {
    const of = (action: string, object: object, group?: object) => ({
      '@context': 'http://purl.imsglobal.org/ctx/caliper/v1p2',
      ...{ id: `${action} ${JSON.stringify(object)}`, type: 'Event', action, object, group },
      actor: 'https://x.example/users/1',
      eventTime: '2026-02-03T09:15:00.000Z',
    });
    const { report, events } = await imported(t, [
      of('Activated', SECTION),
      of('Deactivated', SECTION),
      of('Completed', SECTION),
      of('Activated', THREAD, SECTION),
      of('Viewed', { id: 'https://x.example/hint', extensions: { isPartOf: SECTION } }),
      // Not a course.
      of('Viewed', { id: 'https://x.example/hint', extensions: { isPartOf: THREAD } }),
    ]);
    assert.deepEqual(
      events.map(({ type, action }) => `${type}.${action}`),
      ['board.followed', 'board.unfollowed'],
    );
    assert.deepEqual(
      report.translated?.dropped.map(({ reason, count }) => [reason, count]),
      [
        ['has a profile that is not imported, or is mapped to null: Event', 3],
        ['names no course', 1],
      ],
    );
  });
});
