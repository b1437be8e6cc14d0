/** Problems with records of other software are told in terms of its files, and each once. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { xapi } from '../../../src/ingest/formats/xapi.ts';
import { BULK, CLASSES, ENROLLMENTS, manifest, USERS, user } from './oneroster-files.ts';
import { openSchool, problemsOf } from './school.ts';
import { STATEMENT } from './statements.ts';

const AT = '2026-10-01T00:00:00.000Z';
const UNKNOWN = 'here or among the published';

describe('problems of a roster', () => {
  it('name the row that deletes a class or user of an active enrollment', async (t) => {
    const { load } = await openSchool(t);
    const report = await load({
      'manifest.csv': manifest('bulk'),
      'classes.csv': `${CLASSES}C1,active,${AT},Botany,,,,,,o1,,,,\nC2,tobedeleted,${AT},Old,,,,,,o1,,,,\n`,
      'enrollments.csv': `${ENROLLMENTS}e1,active,${AT},C1,o1,u1,student,,,\ne2,active,${AT},C2,o1,u1,student,,,\ne3,active,${AT},C1,o1,u2,student,,,\n`,
      'users.csv': `${USERS}${user('u1', 'active', 'Ona,Fir')}${user('u2', 'tobedeleted', ',')}`,
    });
    assert.deepEqual(problemsOf(report), [
      'enrollments.csv:3: classSourcedId: "C2" is deleted by classes.csv:3',
      'enrollments.csv:4: userSourcedId: "u2" is deleted by users.csv:3',
    ]);
  });

  it('name users and classes that are nowhere', async (t) => {
    const { load } = await openSchool(t);
    const enrollments = `${ENROLLMENTS}e1,,,k1,o1,u8,student,,,\ne2,,,k9,o1,u1,student,,,\n`;
    assert.deepEqual(problemsOf(await load({ ...BULK, 'enrollments.csv': enrollments })), [
      `enrollments.csv:3: classSourcedId: there is no board "k9", ${UNKNOWN}`,
      `enrollments.csv:2: userSourcedId: there is no user "u8", ${UNKNOWN}`,
    ]);
  });

  it('name both users with a value that must be unique, without what follows from it', async (t) => {
    const { load, rejects } = await openSchool(t, { lmsUserProperties: ['identifier'] });
    const files = {
      ...BULK,
      'users.csv': `${USERS}${user('u1', '', 'Ona,Fir', { identifier: 'T1' })}${user('u2', '', 'Ben,Fir', { identifier: 'T1' })}`,
    };
    const problem = 'users.csv:3: identifier: "T1" belongs to two users, "u1" and "u2"; it must be unique';
    const refused = await load(files);
    assert.deepEqual([problemsOf(refused), refused.problemCount], [[problem], 1]);
    assert.deepEqual(problemsOf(await load(files, { skipInvalid: rejects })), [
      problem,
      'enrollments.csv:3: userSourcedId: the user "u2" is refused',
    ]);
  });

  it('name the user or board of another source with the same address or course id', async (t) => {
    const { load } = await openSchool(t);
    await load({ 'users.csv': 'id,email,name\n5,Jordan@x.example,Jordan\n' }, { as: 'users' });
    await load({ 'boards.csv': 'id,title,course_id\n77,Old,k2\n' }, { as: 'boards' });
    assert.deepEqual(problemsOf(await load(BULK)), [
      'users.csv:2: email: "jordan@x.example" belongs to two users, 5 and "u1"; it must be unique',
      'classes.csv:3: sourcedId: "k2" belongs to two boards, 77 and "k2"; it must be unique',
    ]);
  });

  it('name the user who cannot be deleted', async (t) => {
    const { load, users } = await openSchool(t);
    await load(BULK);
    const { id } = (await users()).find(({ name }) => name === 'Pat Oh') ?? assert.fail();
    await load({ 'boards.csv': 'id,title\n77,Old\n' }, { as: 'boards' });
    await load({ 'memberships.csv': `board_id,user_id\n77,${id}\n` }, { as: 'memberships' });
    const report = await load({
      'manifest.csv': manifest('delta', '1.2', ['users']),
      'users.csv': `${USERS}${user('u3', 'tobedeleted', ',')}`,
    });
    assert.deepEqual(problemsOf(report), [
      'users.csv:2: status: user "u3" still has 1 membership; delete these as well, or use --cascade',
    ]);
  });

  it('name the column of a cell that no record can hold', async (t) => {
    const { load } = await openSchool(t);
    const rows = [
      user('u1', '', 'Ona,Fir', { email: ' o@x' }),
      user('u2', '', 'B,F', { identifier: '9'.repeat(65_537) }),
    ];
    assert.deepEqual(problemsOf(await load({ ...BULK, 'users.csv': `${USERS}${rows.join('')}` })), [
      'users.csv:2: email: must not contain control characters, or begin or end with white space',
      'users.csv:3: identifier: must have at most 65536 characters, but has 65537',
    ]);
  });
});

describe('a problem of a statement', () => {
  it('names the user by the statement, without what follows from it', async (t) => {
    const { load, rejects } = await openSchool(t);
    await load({ 'users.csv': 'id,email,name\n5,ada@x.example,Ada\n' }, { as: 'users' });
    const files = { 'statements.ndjson': `${JSON.stringify(STATEMENT)}\n` };
    const problem =
      'statements.ndjson:1: mbox: "ada@x.example" belongs to two users, 5 and the one of statements.ndjson:1; it must be unique';
    assert.deepEqual(problemsOf(await load(files, {}, xapi)), [problem]);
    assert.equal((await load(files, { skipInvalid: rejects }, xapi)).rejected, 2);
  });
});
