import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { run, runJson, temporaryFolder } from './command.ts';
import { writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();
const school = ['--organization', 'school', '--data', join(folder, 'data')];
const explain = (board: string, user: string) => [
  'points',
  'explain',
  '--board',
  board,
  '--user',
  user,
  ...school,
];

before(() => runJson(['import', writeSmallBundle(join(folder, 'bundle')), ...school]));

describe('points explain', () => {
  it('prints the ledger with the points total of the points routes (decision 27)', async () => {
    const { code, stdout } = await run(explain('7', '1'));
    assert.equal(code, 0);
    assert.match(
      stdout,
      /2024-01-01T10:00:00\.000\+00:00 +pin\.created on pin 70 by user 1 .* 10 +10 +counted/,
    );
    assert.match(stdout, /total points 10 and participation score 10/);
  });

  it('prints the same as JSON with --json', async () => {
    const explained = await runJson(explain('7', '2'));
    assert.deepEqual(explained.standing, { totalPoints: 5, participationScore: 5 });
    assert.equal(explained.imported, null);
    assert.equal(explained.lines[0].what, 'pin.commented on pin 70 by user 2');
  });

  it('refuses a board, a user or an organization that does not exist', async () => {
    for (const [args, message] of [
      [explain('8', '1'), /has no board 8/],
      [explain('7', '-1'), /has no user -1/],
      [[...explain('7', '1'), '--organization', 'none'], /no organization "none"/],
    ] as const) {
      const { code, stdout, stderr } = await run(args);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, message);
    }
  });
});

describe('points export', () => {
  const data = ['--organization', 'college', '--data', join(folder, 'graded')];
  const exported = (...words: readonly string[]) =>
    run(['points', 'export', '--board', '7', ...data, ...words]);

  before(async () => {
    const users = `id,email,name,first_name,last_name,class_role,lms.login
0,unknown@owner.invalid,Unknown,,,,U-0
1,ada@x.example,,Ada,King,instructor,S-1
2,bob@x.example,Bo Li,,,student,
3,eve@x.example,Eve E,,,student,
4,user-4@moodle.invalid,Mo I,,,student,0
`;
    const memberships = 'board_id,user_id\n7,0\n7,4\n';
    const bundle = writeSmallBundle(join(folder, 'graded-bundle'), {
      ...{ 'users.csv': users, 'memberships.csv': memberships },
    });
    await runJson(['import', bundle, ...data]);
    const configure = ['organizations', 'configure', 'college', '--lms-user-properties', 'login'];
    assert.equal((await run([...configure, ...data.slice(2)])).code, 0);
  });

  it('writes a file for the system, with the users of the board in the order of their ids', async () => {
    const { code, stdout, stderr } = await exported(
      '--for',
      'canvas',
      '--value',
      'points',
      '--column',
      'Pins',
    );
    assert.equal(code, 0, stderr);
    assert.deepEqual(stdout.split('\r\n'), [
      '"Student","ID","SIS User ID","SIS Login ID","Section","Pins"',
      '"    Points Possible","","","","","100"',
      '"King, Ada","","","ada@x.example","","10"',
      '"Li, Bo","","","bob@x.example","","5"',
      '"I, Mo","","","user-4@moodle.invalid","","0"',
      '',
    ]);
    assert.equal(stderr, '');
  });

  it('leaves out whom Moodle cannot know, and says which maximum the file needs', async () => {
    const { stdout, stderr } = await exported('--for', 'moodle', '--value', 'points');
    assert.deepEqual(stdout.split('\r\n'), [
      '"Email address","Participation"',
      '"ada@x.example","10"',
      '"bob@x.example","5"',
      '',
    ]);
    assert.deepEqual(stderr.split('\n'), [
      '1 user left out, whose addresses Moodle cannot know: it imports no grades if one is unknown.',
      'Set the maximum of the grade item to at least 10, the largest value.',
      '',
    ]);
  });

  it('has only users with a class role', async () => {
    const { stdout, stderr } = await exported('--for', 'blackboard', '--class-role', 'student');
    assert.deepEqual(stdout.split('\r\n').slice(1), [
      '"Li","Bo","bob@x.example","5"',
      '"I","Mo","user-4@moodle.invalid","0"',
      '',
    ]);
    assert.equal(stderr, '1 user left out, without the class role student.\n');
    const none = await exported('--for', 'moodle', '--class-role', 'Student');
    assert.equal(none.stdout, '"Email address","Participation"\r\n');
    assert.equal(
      none.stderr,
      '3 users left out, without the class role Student.\nNo user is left. Class roles on the board: instructor, student.\n',
    );
  });

  it('knows users by an LMS property, and leaves out those without one', async () => {
    const { stdout, stderr } = await exported('--for', 'moodle', '--id', 'login');
    assert.equal(stdout, '"ID number","Participation"\r\n"S-1","10"\r\n');
    assert.match(stderr, /^1 user left out, without a value of login\.\n1 user left out, whose ids Moodle/);
  });

  it('counts points of a time range', async () => {
    const { stdout } = await exported('--start', '2024-01-02T00:00:00Z');
    const [, ...rows] = stdout.trimEnd().split('\r\n');
    assert.deepEqual(rows, [
      '"1","ada@x.example","Ada","King","0","0"',
      '"2","bob@x.example","Bo","Li","5","5"',
      '"4","user-4@moodle.invalid","Mo","I","0","0"',
    ]);
  });

  it('refuses what does not exist', async () => {
    for (const [words, code, message] of [
      [['--board', '8'], 1, /has no board 8/],
      [['--id', 'none'], 2, /has no LMS property none. It has: login/],
      [['--class-role', ''], 2, /empty/],
      [['--for', 'other'], 2, /canvas, moodle, blackboard, brightspace, generic/],
      [['--start', '2026-01-02T00:00:00Z', '--end', '2026-01-01T00:00:00Z'], 2, /must not be later/],
    ] as const) {
      const result = await exported(...words);
      assert.deepEqual([result.code, result.stdout], [code, ''], result.stderr);
      assert.match(result.stderr, message);
    }
  });
});
