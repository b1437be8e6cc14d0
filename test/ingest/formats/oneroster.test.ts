/** Rosters of OneRoster 1.2: what the rows of each file become, and the possible errors in one. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { plainDerivation } from '../../../src/ingest/formats/derivation.ts';
import type { FormatOptions } from '../../../src/ingest/formats/format.ts';
import { oneroster } from '../../../src/ingest/formats/oneroster.ts';
import { makeFolder } from '../temporary-folder.ts';
import {
  BULK,
  CLASSES,
  ENROLLMENTS,
  manifest,
  ROLES,
  type RosterFiles,
  USERS,
  user,
} from './oneroster-files.ts';
import { importRecorded, importTwice } from './real-files.ts';

async function recorded(t: TestContext, files: RosterFiles, options: FormatOptions = {}) {
  const folder = await makeFolder(t, files);
  const { report, records } = await importRecorded({
    paths: [folder],
    foreign: { format: oneroster, options },
  });
  const of = (kind: string): readonly Record<string, unknown>[] =>
    records.filter((one) => one.kind === kind).map(({ record }) => ({ ...record }));
  return { report, of };
}

const refusalsIn = (problems: readonly { readonly field: string; readonly reason: string }[]) =>
  problems.map(({ field, reason }) => `${field}: ${reason}`);

describe('a roster of OneRoster', () => {
  it('becomes boards, users with roles and properties, and memberships', async (t) => {
    const { report, of } = await recorded(t, BULK);
    assert.deepEqual(report.problems, []);
    assert.deepEqual(
      of('users').map(({ name, firstName, lastName, email, role, classRole, lms }) => [
        ...[name, firstName, lastName, `${email}`.replace(/^user-\d+/, 'user-N'), role, classRole],
        lms,
      ]),
      [
        [
          ...['Jordan Lee', 'Jordan', 'Lee', 'jordan@x.example', 'teacher', 'instructor'],
          { sourcedId: 'u1', username: 'u1@login', identifier: 'T100' },
        ],
        [
          ...['Av Smith', 'Av', 'Smith', 'user-N@oneroster.invalid', 'student', 'student'],
          { sourcedId: 'u2', username: 'u2@login' },
        ],
        [
          ...['Pat Oh', 'Pat', 'Oh', 'user-N@oneroster.invalid', undefined, undefined],
          { sourcedId: 'u3', username: 'u3@login' },
        ],
      ],
    );
    assert.deepEqual(
      of('boards').map(({ title, category, courseId }) => [title, category, courseId]),
      [
        ['Mathematics, period 3', 'Mathematics 7', 'k1'],
        ['Homeroom', 'Lincoln School', 'k2'],
      ],
    );
    const named = new Map(
      [...of('users'), ...of('boards')].map(({ id, name, title }) => [id, name ?? title]),
    );
    assert.deepEqual(
      of('memberships').map(({ boardId, userId }) => `${named.get(userId)} in ${named.get(boardId)}`),
      ['Jordan Lee in Mathematics, period 3', 'Av Smith in Mathematics, period 3', 'Jordan Lee in Homeroom'],
    );
    assert.deepEqual(report.translated, {
      events: {},
      dropped: [],
      described: { users: 3, boards: 2, memberships: 3 },
    });
    assert.deepEqual(
      report.passedOver.map((path) => path.replace(/.*\//, '')),
      ['academicSessions.csv'],
    );
  });

  it('changes nothing when it is imported again', async (t) => {
    const paths = [await makeFolder(t, BULK)];
    const foreign = { format: oneroster, options: {} };
    const [first, second] = await importTwice(await makeFolder(t), { paths, foreign });
    assert.deepEqual(first.problems, []);
    const { users, boards, memberships } = first.changes ?? assert.fail();
    assert.deepEqual([users.added, boards.added, memberships.added], [3, 2, 3]);
    assert.equal(second.outcome, 'unchanged');
  });

  it('of version 1.1 has the roles in users.csv', async (t) => {
    const { 'roles.csv': _roles, ...files } = BULK;
    const header =
      'sourcedId,status,dateLastModified,enabledUser,orgSourcedIds,role,username,givenName,familyName,email\n';
    const { of } = await recorded(t, {
      ...files,
      'manifest.csv': manifest('bulk', '1.1'),
      'users.csv': `${header}u1,,,true,o1,teacher,lee,Jordan,Lee,\n`,
    });
    assert.deepEqual(
      of('users').map(({ role, classRole }) => [role, classRole]),
      [['teacher', 'instructor']],
    );
  });

  it('is refused without a manifest, in an unknown version, and with a mapping', async (t) => {
    const { 'manifest.csv': _manifest, ...files } = BULK;
    const refused = { code: 'option-malformed' };
    await assert.rejects(recorded(t, files), { ...refused, message: /manifest\.csv is missing/ });
    const old = { ...files, 'manifest.csv': manifest('bulk', '1.0') };
    await assert.rejects(recorded(t, old), {
      ...refused,
      message: /version must be 1\.2 or 1\.1, but is "1\.0"/,
    });
    await assert.rejects(recorded(t, BULK, { mapping: {} }), { ...refused, message: /Leave out --mapping/ });
  });

  it('is refused where cells or columns are missing or unknown, with the place', async (t) => {
    const { report } = await recorded(t, {
      'manifest.csv': manifest('delta', '1.2', ['classes', 'enrollments']),
      'classes.csv': `${CLASSES}k1,,2026-09-01T00:00:00Z,A,,c1,,,,o1,t1,,,\nk2,gone,,A,,c1,,,,o1,t1,,,\n,active,,A,,c1,,,,o1,t1,,,\nk4,active,,,,c1,,,,o1,t1,,,\n`,
      'enrollments.csv': `${ENROLLMENTS}e1,active,,k1,o1,,student,,,\ne2,active,,,o1,u1,student,,,\ne3,active,,k1,o1,u1,,,,\n`,
      'users.csv': `${USERS}${user('u1', '', 'Ada,')}`,
      'orgs.csv': 'sourcedId,title\no1,School\n',
    });
    assert.equal(report.outcome, 'refused');
    assert.deepEqual(
      refusalsIn(report.problems).map((one) => one.slice(0, 60)),
      [
        'status: is required in a file with changes (delta)',
        'status: must be active or tobedeleted, but is "gone"',
        'sourcedId: is required',
        'title: is required',
        'userSourcedId: is required',
        'classSourcedId: is required',
        'role: is required',
        ': does not have the columns of any of these files: manifest ',
        'familyName: is required',
      ],
    );
  });

  it('drops the rows of a file that the manifest declares absent', async (t) => {
    const files = {
      ...BULK,
      'manifest.csv': manifest('bulk').replace('file.enrollments,bulk', 'file.enrollments,absent'),
    };
    const { report, of } = await recorded(t, files);
    assert.deepEqual(of('memberships'), []);
    assert.ok(of('users').every(({ classRole }) => classRole === undefined));
    assert.deepEqual(
      report.translated?.dropped.map(({ reason, count }) => [reason, count]),
      [['is in a file that is absent by the manifest: enrollments', 3]],
    );
  });

  it('is refused with a second manifest, which would decide about both', async (t) => {
    const files = { ...BULK, 'manifest-2.csv': manifest('delta') };
    const folder = await makeFolder(t, files);
    const paths = [folder, join(folder, 'manifest-2.csv')];
    await assert.rejects(importRecorded({ paths, foreign: { format: oneroster, options: {} } }), {
      code: 'option-malformed',
      message: /The manifest has "oneroster\.version" twice\. Import one roster at a time/,
    });
  });

  it('is refused with more than ten million rows', () => {
    const roster = oneroster.open({}, plainDerivation);
    const row = { propertyName: 'source.systemName', value: 'SIS' };
    for (let rows = 0; rows < 10_000_000; rows += 1) roster.survey?.(row, 'manifest.csv:2');
    assert.throws(() => roster.survey?.(row, 'manifest.csv:2'), {
      code: 'option-malformed',
      message: /more than 10 million rows/,
    });
  });

  it('may have cells of any length, of which reasons show the beginning', async (t) => {
    const long = '9'.repeat(3_000_000);
    const { report } = await recorded(t, {
      'manifest.csv': manifest('bulk'),
      'users.csv': `${USERS}${user('u1', long, 'Ada,Lovelace')}${user('u'.repeat(256), '', 'Bob,Ray')}`,
      'orgs.csv': `sourcedId,name,type\no1,${long},school\n`,
    });
    assert.deepEqual(refusalsIn(report.problems), [
      `name: must have at most 65536 characters, but has ${long.length}`,
      `status: must be active or tobedeleted, but is "${'9'.repeat(60)}…"`,
      'sourcedId: must have at most 255 characters, but has 256',
    ]);
    const version = { ...BULK, 'manifest.csv': manifest('bulk', '1'.repeat(60_000)) };
    await assert.rejects(recorded(t, version), { message: /but is "1{60}…"\.$/ });
  });

  it('drops roles of users who are not in users.csv', async (t) => {
    const { report } = await recorded(t, {
      ...BULK,
      'manifest.csv': manifest('delta', '1.2', ['roles']),
      'roles.csv': `${ROLES}r1,active,,u1,primary,teacher,,,o1,\nr9,active,,u9,primary,aide,,,o1,\n`,
    });
    assert.deepEqual(report.problems, []);
    assert.deepEqual(
      report.translated?.dropped.map(({ reason, count }) => [reason, count]),
      [['is the role of a user who is not in users.csv', 1]],
    );
  });

  it('has the school as the category only if there is certainly no course', async (t) => {
    const { 'courses.csv': courses = '', ...files } = BULK;
    const classes = `${CLASSES}k1,,,A,,c1,,,,o1,,,,\nk2,,,B,,c2,,,,o1,,,,\nk3,,,C,,,,,,o1,,,,\n`;
    const categories = async (manifestText: string, more: RosterFiles) => {
      const { of, report } = await recorded(t, {
        ...{ ...files, 'classes.csv': classes, 'manifest.csv': manifestText },
        ...more,
      });
      assert.deepEqual(report.problems, []);
      return of('boards').map(({ category }) => category);
    };
    const given = { 'courses.csv': courses };
    const delta = manifest('bulk').replace('file.courses,bulk', 'file.courses,delta');
    const changed = { 'courses.csv': courses.replace('c1,,', 'c1,active,') };
    const school = 'Lincoln School';
    assert.deepEqual(await categories(manifest('bulk'), given), ['Mathematics 7', school, school]);
    assert.deepEqual(await categories(delta, changed), ['Mathematics 7', undefined, school]);
    const absent = delta.replace('file.courses,delta', 'file.courses,absent');
    assert.deepEqual(await categories(absent, {}), [undefined, undefined, school]);
  });
});
