/** Log reports of Moodle: real ones, counted independently, and the possible errors in one. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import type { FormatOptions } from '../../../src/ingest/formats/format.ts';
import { moodleLog } from '../../../src/ingest/formats/moodle-log.ts';
import type { RecordOf } from '../../../src/store/staging.ts';
import { filesOf, whyWithout } from '../../real-data.ts';
import { makeFolder } from '../temporary-folder.ts';
import { eventsOf, importRecorded, importTwice, tally } from './real-files.ts';

const MUSCAT = { timeZone: 'Asia/Muscat' };
const HEADER =
  'Time,User full name,Affected user,Event context,Component,Event name,Description,Origin,IP address';

type Row = Readonly<Record<string, string>>;

function rowsOf(path: string): readonly Row[] {
  return parse<Row>(new TextDecoder('windows-1252').decode(gunzipSync(readFileSync(path))), {
    columns: true,
  });
}

/** Counted independently of the code: the event for a row, by the name of the row alone. */
const EXPECTED: Readonly<Record<string, string>> = {
  'Course viewed': 'board.visited',
  'User enrolled in course': 'board.followed',
  'User unenrolled from course': 'board.unfollowed',
  'Course module viewed': 'pin.visited',
  'Course module created': 'pin.created',
  'The status of the submission has been viewed.': 'pin.visited',
  'Submission form viewed.': 'pin.visited',
  'A submission has been submitted.': 'pin.submitted',
};
const IMPOSSIBLE = /^(?:30|31)\/02|^29\/02\/(?!16|20|24)|^31\/(?:04|06|09|11)/;

function isEvent(row: Row): boolean {
  return EXPECTED[row['Event name'] ?? ''] !== undefined && !IMPOSSIBLE.test(row['Time'] ?? '');
}

function actorOf(row: Row): string {
  const ids = [...(row['Description'] ?? '').matchAll(/user with id '(\d+)'/g)].map(([, id]) => id ?? '');
  return (/^User (?:un)?enrolled /.test(row['Event name'] ?? '') ? ids[1] : ids[0]) ?? '';
}

function courseOf(rows: readonly Row[]): string {
  const [id = ''] = rows.flatMap((row) => /course with id '(\d+)'/.exec(row['Description'] ?? '')?.[1] ?? []);
  return id;
}

describe('logs of Moodle', { skip: whyWithout('moodle-log') }, () => {
  const files = whyWithout('moodle-log') === false ? filesOf('moodle-log') : [];
  for (const path of files) {
    it(`${basename(path)}: events by action, user and board agree with an independent count`, async (t) => {
      const rows = rowsOf(path);
      const skipInvalid = join(await makeFolder(t), 'rejects.ndjson');
      const foreign = { format: moodleLog, options: MUSCAT };
      const { report, records } = await importRecorded({ paths: [path], foreign, skipInvalid });
      const wanted = rows.filter(isEvent);
      const events = eventsOf(records);
      assert.ok(wanted.length > 1000);
      assert.equal(report.records, rows.length);
      const kindsWanted = tally(wanted.map((row) => EXPECTED[row['Event name'] ?? ''] ?? ''));
      assert.deepEqual(tally(events.map(({ type, action }) => `${type}.${action}`)), kindsWanted);
      assert.deepEqual(tally(events.map(({ actorId }) => String(actorId))), tally(wanted.map(actorOf)));
      assert.deepEqual(tally(events.map(({ boardId }) => String(boardId))), {
        [courseOf(rows)]: wanted.length,
      });
      // Every row is an event, dropped for a reason, or refused.
      const dropped = report.translated?.dropped.reduce((sum, { count }) => sum + count, 0) ?? 0;
      const impossible = rows.filter((row) => IMPOSSIBLE.test(row['Time'] ?? ''));
      assert.equal(report.rejected, impossible.length);
      assert.equal(events.length + dropped + report.rejected, rows.length);
      assert.deepEqual(
        report.problems.map(({ field, reason }) => `${field}: ${reason}`),
        impossible.map((row) => `Time: "${row['Time']}" is not a date and time of the calendar`),
      );
    });
  }

  it('change nothing when they are imported again, repeated rows included', async (t) => {
    const skipInvalid = join(await makeFolder(t), 'rejects.ndjson');
    const foreign = { format: moodleLog, options: MUSCAT };
    const paths = process.env['CORKBOARD_LONG'] === '1' ? files : files.slice(0, 1);
    const [first, second] = await importTwice(await makeFolder(t), { paths, foreign, skipInvalid });
    assert.equal(first.outcome, 'published');
    assert.ok((first.changes?.events.added ?? 0) > 1_000);
    assert.equal(second.outcome, 'unchanged');
    assert.equal(second.changes?.events.unchanged, first.changes?.events.added);
  });

  it('are read as Windows-1252 if they are not UTF-8', async () => {
    const [path = ''] = files;
    const foreign = { format: moodleLog, options: MUSCAT };
    const { records } = await importRecorded({ paths: [path], foreign });
    const titles = records
      .filter(({ kind }) => kind === 'pins')
      .map(({ record }) => Reflect.get(record, 'title'));
    assert.ok(titles.some((title) => /[…’–]/.test(title)));
    assert.ok(titles.every((title) => !title.includes('\ufffd')));
  });
});

describe('a log of Moodle', () => {
  const course = "The user with id '4' viewed the course with id '111'.";
  const row = (time: string, name: string, description: string, context = 'Course: Chemistry', who = '-') =>
    `"${time}",${who},-,${context},System,${name},${description},web,10.0.0.1`;

  async function imported(
    t: Parameters<typeof makeFolder>[0],
    rows: readonly string[],
    options: FormatOptions = { timeZone: 'UTC' },
  ) {
    const folder = await makeFolder(t, { 'log.csv': [HEADER, ...rows, ''].join('\n') });
    const foreign = { format: moodleLog, options };
    const { report, records } = await importRecorded({ paths: [folder], foreign });
    return { report, records, events: eventsOf(records) };
  }

  it('describes users, boards and pins, and gives them reserved addresses', async (t) => {
    const { records } = await imported(t, [
      row('17/10/21, 12:39', 'Course viewed', course, 'Course: Chemistry', 'Ada Lovelace'),
      row(
        '16/10/21, 12:39',
        'Course module created',
        "The user with id '5' created the 'page' activity with course module id '9'.",
        'Page: Acids',
      ),
      row(
        '16/10/21, 12:40',
        'Course module viewed',
        "The user with id '4' viewed the 'page' activity with course module id '9'.",
        'Page: Acids',
      ),
    ]);
    const found = (kind: string, id: bigint) =>
      records
        .filter((one) => one.kind === kind)
        .map(({ record }) => record as RecordOf['pins'])
        .find((one) => one.id === id);
    assert.equal(Reflect.get(found('users', 4n) ?? {}, 'name'), 'Ada Lovelace');
    assert.equal(Reflect.get(found('users', 5n) ?? {}, 'name'), 'User 5');
    assert.equal(Reflect.get(found('users', 5n) ?? {}, 'email'), '5@moodle.invalid');
    assert.equal(found('boards', 111n)?.title, 'Chemistry');
    assert.equal(found('pins', 9n)?.title, 'Acids');
    assert.equal(found('pins', 9n)?.ownerId, 0n);
  });

  const enrolment = (time: string, what: string, who = 4, courseId = 111) =>
    row(
      time,
      `User ${what} course`,
      `The user with id '5' ${what.replace(/ .*/, '')} the user with id '${who}' using the enrolment method 'manual' ${what.replace(/.* /, '')} the course with id '${courseId}'.`,
    ).replace(',-,-,', ',Teacher,Ada Lovelace,');

  it('has an unfollow by the unenrolled user for each unenrolment', async (t) => {
    const { report, records, events } = await imported(t, [
      enrolment('18/10/21, 12:39', 'unenrolled from'),
      enrolment('17/10/21, 12:39', 'enrolled in'),
    ]);
    assert.deepEqual(report.translated?.dropped, []);
    assert.deepEqual(
      events.map(({ type, action, actorId, boardId }) => [`${type}.${action}`, actorId, boardId]),
      [
        ['board.unfollowed', 4n, 111n],
        ['board.followed', 4n, 111n],
      ],
    );
    const names = records.map(({ record }) => Reflect.get(record, 'name'));
    assert.ok(names.includes('Ada Lovelace') && !names.includes('Teacher'));
  });

  it('has only the latest of an enrolment and an unenrolment in the same minute', async (t) => {
    const [time, before] = ['18/10/21, 12:39', '18/10/21, 12:38'];
    const [enrolled, unenrolled] = ['enrolled in', 'unenrolled from'];
    const actions = async (rows: readonly string[], mapping?: FormatOptions['mapping']) => {
      const { report, events } = await imported(t, rows, { timeZone: 'UTC', mapping });
      assert.deepEqual(report.problems, []);
      return {
        actions: events.map(({ action, actorId }) => `${action} ${actorId}`),
        dropped: report.translated?.dropped.map(({ reason, count }) => `${reason} ${count}`),
      };
    };
    // The newest row is the first.
    assert.deepEqual(await actions([enrolment(time, enrolled), enrolment(time, unenrolled)]), {
      actions: ['followed 4'],
      dropped: ['was undone in the same minute: User unenrolled from course 1'],
    });
    const left = [enrolment(time, unenrolled), enrolment(time, enrolled), enrolment(time, unenrolled)];
    assert.deepEqual(await actions(left), {
      actions: ['unfollowed 4', 'unfollowed 4'],
      dropped: ['was undone in the same minute: User enrolled in course 1'],
    });
    const others = [
      ...[enrolment(time, unenrolled), enrolment(time, enrolled, 6), enrolment(before, enrolled)],
      enrolment(time, enrolled, 4, 112),
    ];
    assert.deepEqual(await actions(others), {
      actions: ['unfollowed 4', 'followed 6', 'followed 4', 'followed 4'],
      dropped: [],
    });
    assert.deepEqual(await actions(left, { 'User unenrolled from course': null }), {
      actions: ['followed 4'],
      dropped: ['is not mapped to an event: User unenrolled from course 2'],
    });
  });

  it('is read like any other if its lines end at carriage returns', async (t) => {
    const rows = [
      row('17/10/21, 12:39', 'Course viewed', course),
      row('17/10/21, 12:40', 'Course viewed', course, '"Course: Chemistry\n2"'),
    ];
    const [fed, returned] = await Promise.all(
      ['\n', '\r'].map(async (end) => {
        const folder = await makeFolder(t, { 'log.csv': [HEADER, ...rows, ''].join(end) });
        const foreign = { format: moodleLog, options: { timeZone: 'UTC' } };
        return await importRecorded({ paths: [folder], foreign });
      }),
    );
    assert.equal(fed?.report.records, 2);
    assert.equal(eventsOf(fed?.records ?? []).length, 2);
    assert.deepEqual(returned?.records, fed?.records);
  });

  it('is refused if its lines end in several ways', async (t) => {
    const text = `${HEADER}\r\r\n${row('17/10/21, 12:39', 'Course viewed', course)}\r\r\n`;
    const folder = await makeFolder(t, { 'log.csv': text });
    const foreign = { format: moodleLog, options: { timeZone: 'UTC' } };
    const { report } = await importRecorded({ paths: [folder], foreign });
    assert.equal(report.outcome, 'refused');
    assert.deepEqual(
      report.problems.map(({ line, reason }) => [line, reason]),
      [[1, 'lines must end with LF or CRLF']],
    );
  });

  it('has local times of the given zone, daylight saving time included', async (t) => {
    const rows = ['31/03/24, 01:30', '31/03/24, 03:30', '13/01/24, 12:00'].map((time) =>
      row(time, 'Course viewed', course),
    );
    const { events } = await imported(t, rows, { timeZone: 'Europe/Paris' });
    assert.deepEqual(
      events.map(({ timestampMs }) => new Date(timestampMs).toISOString()),
      ['2024-03-31T00:30:00.000Z', '2024-03-31T01:30:00.000Z', '2024-01-13T11:00:00.000Z'],
    );
  });

  for (const [order, times, expected] of [
    ['days first', ['1/02/24, 10:00', '25/02/24, 10:00'], ['2024-02-01', '2024-02-25']],
    ['months first', ['1/02/24, 10:00 PM', '2/25/24, 10:00 AM'], ['2024-01-02', '2024-02-25']],
    ['years first', ['2024-01-02, 10:00:59', '2024-02-25, 10:00:00'], ['2024-01-02', '2024-02-25']],
    ['years of four digits', ['1.2.2024, 10:00', '25.2.2024, 10:00'], ['2024-02-01', '2024-02-25']],
  ] as const) {
    it(`may have ${order}, which is inferred from all of its dates`, async (t) => {
      const { events } = await imported(
        t,
        times.map((time) => row(time, 'Course viewed', course)),
      );
      const days = events.map(({ timestampMs }) => new Date(timestampMs).toISOString().slice(0, 10));
      assert.deepEqual(days, expected);
    });
  }

  it('requires the order when no date reveals it', async (t) => {
    const rows = [row('1/02/24, 10:00', 'Course viewed', course)];
    await assert.rejects(imported(t, rows), { code: 'option-malformed', message: /--date-order dmy/ });
    const { events } = await imported(t, rows, { timeZone: 'UTC', dateOrder: 'mdy' });
    assert.equal(events[0]?.timestampMs, Date.UTC(2024, 0, 2, 10));
  });

  for (const time of ['11 May, 09:44', 'May 11, 9:44 AM', 'Mo. 11. mai, 09:44', '11/05, 09:44']) {
    it(`says that the year is missing in ${time}, with and without an order`, async (t) => {
      const rows = [row(time, 'Course viewed', course)];
      const message = /has no year; add it, as in 11\/05\/2020, 09:44/;
      await assert.rejects(imported(t, rows), { code: 'option-malformed', message });
      const { report } = await imported(t, rows, { timeZone: 'UTC', dateOrder: 'dmy' });
      assert.match(report.problems[0]?.reason ?? '', message);
    });
  }

  it('does not ask for the order if no time can be read', async (t) => {
    const rows = [row('11 May 2020, 09:44', 'Course viewed', course)];
    await assert.rejects(imported(t, rows), { message: /"11 May 2020, 09:44" is not a date and time/ });
  });

  it('is refused without a zone, a course or its columns', async (t) => {
    const viewed = row('25/02/24, 10:00', 'Course viewed', 'Somebody viewed something.');
    await assert.rejects(imported(t, [viewed], {}), { code: 'option-malformed' });
    await assert.rejects(imported(t, [viewed]), { message: /no row contains the id of the course/ });
    const folder = await makeFolder(t, { 'log.csv': 'Time,Name\n1,2\n' });
    const foreign = { format: moodleLog, options: MUSCAT };
    const other = await importRecorded({ paths: [folder], foreign });
    assert.equal(other.report.outcome, 'refused');
    assert.match(other.report.problems[0]?.reason ?? '', /^is not in the header; files of moodle-log have/);
  });

  it('is refused if the given order contradicts its dates', async (t) => {
    const rows = [row('25/02/24, 10:00', 'Course viewed', course)];
    const inOrder = (dateOrder: 'mdy' | 'ymd') => ({ timeZone: 'UTC', dateOrder });
    const message = /shows the order dmy, not mdy; leave out --date-order/;
    await assert.rejects(imported(t, rows, inOrder('mdy')), { code: 'option-malformed', message });
    const years = await imported(t, rows, inOrder('ymd'));
    assert.equal(years.events[0]?.timestampMs, Date.UTC(2025, 1, 24, 10));
    const long = [row('25/02/2024, 10:00', 'Course viewed', course)];
    await assert.rejects(imported(t, long, inOrder('ymd')), { code: 'option-malformed' });
  });

  it('may be of several courses', async (t) => {
    const other = "The user with id '4' viewed the course with id '112'.";
    const rows = [course, other].map((text) => row('25/02/24, 10:00', 'Course viewed', text));
    const { report, events } = await imported(t, rows);
    assert.deepEqual(
      events.map(({ boardId }) => boardId),
      [111n, 112n],
    );
    assert.deepEqual(report.translated?.dropped, []);
  });

  it('has no ids of millions of digits', async (t) => {
    const nines = '9'.repeat(5_000_000);
    const texts = [course, course.replace(/id '\d+' v/, `id '${nines}' v`), `${course} at course: ${nines}`];
    const { report, events } = await imported(
      t,
      texts.map((text) => row('25/02/24, 10:00', 'Course viewed', text)),
    );
    assert.equal(events.length, 2);
    assert.equal(report.translated?.dropped[0]?.reason, 'names no user: Course viewed');
  });

  it('can be mapped to other actions, and reports the dropped rows', async (t) => {
    const listed = course.replace('viewed', 'viewed the list of badges of');
    const rows = [
      row('25/02/24, 10:00', 'Course viewed', course),
      row('25/02/24, 10:01', 'Badge listing viewed', listed),
      row('25/02/24, 10:02', 'Grade item updated', listed),
      row('25/02/24, 10:03', 'constructor', listed),
    ];
    const mapping = { 'Course viewed': null, 'Badge listing viewed': 'board.looked' };
    const { report, events } = await imported(t, rows, { timeZone: 'UTC', mapping });
    assert.deepEqual(
      events.map(({ action }) => action),
      ['looked'],
    );
    assert.deepEqual(
      report.translated?.dropped.map(({ reason, count }) => [reason, count]),
      [
        ['is not mapped to an event: Course viewed', 1],
        ['is not mapped to an event: Grade item updated', 1],
        ['is not mapped to an event: constructor', 1],
      ],
    );
    assert.match(report.translated?.dropped[0]?.examples[0] ?? '', /log\.csv:2$/);
  });
});
