/** Files of OneRoster 1.2, made after the CSV binding of the standard. */
import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { FormatOptions } from '../../../src/ingest/formats/format.ts';
import { oneroster } from '../../../src/ingest/formats/oneroster.ts';
import { type ImportOptions, importBundle } from '../../../src/ingest/import.ts';
import { openFolderStore } from '../../../src/store/files/open-folder.ts';
import { makeFolder } from '../temporary-folder.ts';
import { importRecorded, importTwice } from './real-files.ts';

type Files = Readonly<Record<string, string>>;

const TABLES = ['academicSessions', 'classes', 'courses', 'enrollments', 'orgs', 'roles', 'users'];
const manifest = (mode: string, version = '1.2', tables: readonly string[] = TABLES) =>
  [
    'propertyName,value',
    'manifest.version,1.0',
    `oneroster.version,${version}`,
    ...tables.map((table) => `file.${table},${mode}`),
    'file.demographics,absent',
    'source.systemName,SIS',
  ].join('\n');

const USERS =
  'sourcedId,status,dateLastModified,enabledUser,username,userIds,givenName,familyName,middleName,identifier,email,sms,phone,agentSourcedIds,grades,password,userMasterIdentifier,resourceSourcedIds,preferredGivenName,preferredMiddleName,preferredFamilyName,primaryOrgSourcedId,pronouns\n';
const user = (
  id: string,
  status: string,
  name: string,
  more: Partial<Record<'email' | 'identifier' | 'preferred', string>> = {},
) =>
  `${id},${status},${status && '2026-09-01T00:00:00Z'},true,${id}@login,{LDAP:${id}},${name},,${more.identifier ?? ''},${more.email ?? ''},,,,07,,,,${more.preferred ?? ''},,,o1,\n`;
const CLASSES =
  'sourcedId,status,dateLastModified,title,grades,courseSourcedId,classCode,classType,location,schoolSourcedId,termSourcedIds,subjects,subjectCodes,periods\n';
const ENROLLMENTS =
  'sourcedId,status,dateLastModified,classSourcedId,schoolSourcedId,userSourcedId,role,primary,beginDate,endDate\n';
const ROLES =
  'sourcedId,status,dateLastModified,userSourcedId,roleType,role,beginDate,endDate,orgSourcedId,userProfileSourcedId\n';

const BULK: Files = {
  'manifest.csv': manifest('bulk'),
  'academicSessions.csv':
    'sourcedId,status,dateLastModified,title,type,startDate,endDate,parentSourcedId,schoolYear\nt1,,,Fall,term,2026-08-01,2026-12-20,,2027\n',
  'orgs.csv':
    'sourcedId,status,dateLastModified,name,type,identifier,parentSourcedId\no1,,,Lincoln School,school,,\n',
  'courses.csv':
    'sourcedId,status,dateLastModified,schoolYearSourcedId,title,courseCode,grades,orgSourcedId,subjects,subjectCodes\nc1,,,,Mathematics 7,MATH7,07,o1,Mathematics,\n',
  'classes.csv': `${CLASSES}k1,,,"Mathematics, period 3",07,c1,M7-3,scheduled,,o1,t1,,,3\nk2,,,Homeroom,07,c9,HR,homeroom,,o1,t1,,,\n`,
  'users.csv': [
    USERS,
    user('u1', '', 'Jordan,Lee', { email: 'jordan@x.example', identifier: 'T100' }),
    user('u2', '', 'Avery Ann,Smith', { preferred: 'Av' }),
    user('u3', '', 'Pat,Oh'),
  ].join(''),
  'roles.csv': `${ROLES}r1,,,u1,secondary,aide,,,o1,\nr2,,,u1,primary,teacher,,,o1,\nr3,,,u2,primary,student,,,o1,\n`,
  'enrollments.csv': [
    ENROLLMENTS,
    'e1,,,k1,o1,u1,teacher,true,,\n',
    'e2,,,k1,o1,u2,student,,,\n',
    'e3,,,k2,o1,u1,student,,,\n',
  ].join(''),
};

async function recorded(t: TestContext, files: Files, options: FormatOptions = {}) {
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
      message: /version must be 1\.2 or 1\.1, but is 1\.0/,
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

  describe('with changes', () => {
    async function school(t: TestContext) {
      const folder = await makeFolder(t);
      const store = await openFolderStore(join(folder, 'data'));
      t.after(() => store.close());
      const load = async (files: Files, options: Partial<ImportOptions> = {}, format = oneroster) => {
        const place = await mkdtemp(join(folder, 'roster-'));
        for (const [name, text] of Object.entries(files)) await writeFile(join(place, name), text);
        const foreign = options.as === undefined ? { format, options: {} } : undefined;
        const paths =
          options.as === undefined ? [place] : Object.keys(files).map((name) => join(place, name));
        return await importBundle({ store, organization: 'school', paths, foreign, ...options });
      };
      const ids = async () => {
        const dataset = (await store.openDataset('school')) ?? assert.fail();
        try {
          const found: Record<string, bigint> = {};
          for await (const { id, name } of dataset.records('users')) {
            for (const [at, one] of id.entries()) found[name.at(at)] = one;
          }
          for await (const { id, title } of dataset.records('boards')) {
            for (const [at, one] of id.entries()) found[title.at(at)] = one;
          }
          return found;
        } finally {
          await dataset.close();
        }
      };
      return { load, ids, rejects: join(folder, 'rejects.ndjson') };
    }
    const DELTA = manifest('delta', '1.2', ['classes', 'enrollments', 'users']);
    const at = '2026-10-01T00:00:00.000Z';

    it('adds, changes and deletes users, boards and memberships', async (t) => {
      const { load, ids } = await school(t);
      await load(BULK);
      const report = await load({
        'manifest.csv': DELTA,
        'users.csv': `${USERS}${user('u3', 'tobedeleted', ',')}${user('u2', 'active', 'Avery,Smith')}${user('u4', 'active', 'New,One')}`,
        'enrollments.csv': `${ENROLLMENTS}e3,tobedeleted,${at},k2,o1,u1,student,,,\ne4,active,${at},k1,o1,u4,student,,,\n`,
        'classes.csv': `${CLASSES}k2,tobedeleted,${at},,,,,,,,,,,\n`,
      });
      assert.deepEqual(report.problems, []);
      assert.deepEqual(report.translated?.deleted, { boards: 1, memberships: 1, users: 1 });
      const { users, boards, memberships } = report.changes ?? assert.fail();
      assert.deepEqual([users.added, users.changed, users.deleted], [1, 1, 1]);
      assert.deepEqual([boards.deleted, memberships.added, memberships.deleted], [1, 1, 1]);
      assert.deepEqual(Object.keys(await ids()).sort(), [
        ...['Avery Smith', 'Jordan Lee', 'Mathematics, period 3', 'New One'],
      ]);
      const again = await load({
        'manifest.csv': DELTA,
        'users.csv': `${USERS}${user('u3', 'tobedeleted', ',')}${user('u9', 'tobedeleted', ',')}`,
      });
      assert.equal(again.outcome, 'unchanged');
    });

    it('keeps a deleted user to whom events refer only if it is skipped, and deletes the events with --cascade', async (t) => {
      const { load, ids, rejects } = await school(t);
      await load(BULK);
      const { 'Pat Oh': pat, 'Jordan Lee': jordan, Homeroom: board } = await ids();
      const events = `type,action,owner_id,actor_id,board_id,timestamp\nboard,visited,${jordan},${pat},${board},1767600000000\n`;
      await load({ 'events.csv': events }, { as: 'events' });
      const files = {
        'manifest.csv': DELTA,
        'users.csv': `${USERS}${user('u3', 'tobedeleted', ',')}${user('u4', 'active', 'New,One')}`,
      };
      const refused = await load(files);
      assert.equal(refused.outcome, 'refused');
      assert.match(refused.problems[0]?.reason ?? '', /still has 1 event; .*--cascade/);
      const skipped = await load(files, { skipInvalid: rejects });
      assert.deepEqual(
        [skipped.outcome, skipped.rejected, skipped.changes?.users.added],
        ['published', 1, 1],
      );
      assert.ok('Pat Oh' in (await ids()));
      const cascaded = await load(files, { cascades: true });
      assert.deepEqual([cascaded.changes?.users.deleted, cascaded.changes?.events.deleted], [1, 1]);
    });

    it('replaces all memberships with those of a full delivery', async (t) => {
      const { load } = await school(t);
      await load(BULK);
      const fewer = { ...BULK, 'enrollments.csv': `${ENROLLMENTS}e1,,,k1,o1,u1,teacher,true,,\n` };
      assert.equal((await load(fewer)).outcome, 'unchanged', 'what is missing is kept');
      const replaced = await load(fewer, { replaced: ['memberships'] });
      assert.deepEqual(replaced.changes?.memberships.deleted, 2);
      const { 'enrollments.csv': _enrollments, ...without } = BULK;
      await assert.rejects(load(without, { replaced: ['memberships'] }), {
        code: 'import-refused',
        message: /--replace memberships requires at least one record/,
      });
    });

    it('is refused if it names a user who is in no file and not published', async (t) => {
      const { load } = await school(t);
      const stray = { ...BULK, 'enrollments.csv': `${ENROLLMENTS}e1,,,k1,o1,u8,student,,,\n` };
      const report = await load(stray);
      assert.equal(report.outcome, 'refused');
      assert.match(report.problems[0]?.file ?? '', /enrollments\.csv$/);
    });
  });
});
