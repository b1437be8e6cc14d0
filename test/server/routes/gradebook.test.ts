/** The gradebook of a board over HTTP: the file of `corkboard points export`, within the scope. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { defuse } from '../../../src/domain/formula.ts';
import { NO_REDACTION, REDACTABLE } from '../../../src/domain/redaction.ts';
import { PARAMETERS } from '../../../src/server/request/parameters.ts';
import { assertProblem, assertSuccess, get, type Reply } from '../../model/client.ts';
import { runs } from '../../model/runs.ts';
import { DEFAULT_STORAGE, describeOver, EMBEDDED } from '../../storage.ts';
import { EMPTY, openWorld, RHETORIC, STARS, type World } from '../../world.ts';
import { openStand } from '../stand.ts';

const PATH = `/insights/v1/boards/${RHETORIC}/gradebook`;

describeOver([DEFAULT_STORAGE, EMBEDDED], 'the gradebook of a board', {}, (kind) => {
  let world: World;
  before(async () => {
    world = await openWorld(kind);
  });
  after(() => world.close());

  const ask = async (query = '', key = world.keys.full, path = PATH) =>
    await get(world.url + path + query, key);
  const lines = async (query: string, key?: string): Promise<readonly string[]> => {
    const reply = await ask(query, key);
    assertSuccess(reply, 'text/csv');
    return reply.text.split('\r\n').slice(0, -1);
  };

  it('has a line for each user on the board, in the order of their ids', async () => {
    assert.deepEqual(await lines(''), [
      '"user_id","email","first_name","last_name","total_points","participation_score"',
      '"1","ada@harbor.example","Ada","Lovelace","9","45"',
      '"5","mute@harbor.example","Mute","Member","0","0"',
      '"9007199254740993","zoe@harbor.example","Zoë Ångström","🙂","5","25"',
    ]);
  });

  it('has the columns of the system, the value and the title that are asked for', async () => {
    assert.deepEqual(await lines('?for=canvas'), [
      '"Student","ID","SIS User ID","SIS Login ID","Section","Participation"',
      '"    Points Possible","","","","","100"',
      '"Lovelace, Ada","","","ada@harbor.example","","45"',
      '"Member, Mute","","","mute@harbor.example","","0"',
      '"🙂, Zoë Ångström","","","zoe@harbor.example","","25"',
    ]);
    assert.deepEqual((await lines('?for=canvas&value=points&column=Week%201%20(12)')).slice(0, 3), [
      '"Student","ID","SIS User ID","SIS Login ID","Section","Week 1 (12)"',
      '"    Points Possible","","","","","20"',
      '"Lovelace, Ada","","","ada@harbor.example","","9"',
    ]);
    const stars = `/insights/v1/boards/${STARS}/gradebook?for=canvas`;
    assert.match((await ask('', world.keys.full, stars)).text, /Points Possible","","","","","4"/);
    assert.equal((await lines('?for=moodle'))[0], '"Email address","Participation"');
    assert.equal((await lines('?for=blackboard'))[0], '"Last Name","First Name","Username","Participation"');
    assert.equal((await lines('?for=brightspace'))[1], '"ada@harbor.example","45","#"');
  });

  it('counts the points of a range, and can have no users', async () => {
    const range = '?for=moodle&value=points&start=2018-03-12T00:00:00Z&end=2018-03-13T00:00:00Z';
    assert.deepEqual((await lines(range)).slice(1), [
      '"ada@harbor.example","12"',
      '"mute@harbor.example","0"',
      '"zoe@harbor.example","5"',
    ]);
    const empty = await ask('?for=moodle', world.keys.full, `/insights/v1/boards/${EMPTY}/gradebook`);
    assert.equal(empty.text, '"Email address","Participation"\r\n');
  });

  it('is a file with a name, whichever way it is requested', async () => {
    const nameOf = (reply: Reply) => reply.headers.get('content-disposition');
    const [first, again, third] = [
      await ask('?for=canvas'),
      await ask('?for=canvas'),
      await ask('?for=canvas'),
    ];
    for (const reply of [first, again, third]) {
      assert.equal(nameOf(reply), 'attachment; filename="canvas-board-7.csv"');
      assert.equal(reply.text, first.text);
    }
    const padded = await ask('?format=csv', world.keys.full, '/insights/v1/boards/007/gradebook');
    assert.equal(nameOf(padded), 'attachment; filename="generic-board-7.csv"');
    const part = await get(`${world.url}${PATH}`, world.keys.full, { range: 'bytes=0-8' });
    assert.deepEqual([part.status, part.text], [206, '"user_id"']);
    assert.equal(nameOf(part), 'attachment; filename="generic-board-7.csv"');
    const points = await get(`${world.url}/insights/v1/points?format=csv`, world.keys.full);
    assert.equal(nameOf(points), null);
    const etag = first.headers.get('etag') ?? '';
    const known = await get(`${world.url}${PATH}?for=canvas`, world.keys.full, { 'if-none-match': etag });
    assert.deepEqual([known.status, nameOf(known)], [304, null]);
  });

  it('is no file if it is a problem', async () => {
    for (const [headers, status, code] of [
      [{ range: 'bytes=99999-' }, 416, 'range-unsatisfiable'],
      [{ 'if-match': '"x"' }, 412, 'precondition-failed'],
    ] as const) {
      const reply = await get(world.url + PATH, world.keys.full, headers);
      assertProblem(reply, status, code);
      assert.equal(reply.headers.get('content-disposition'), null);
    }
  });

  it('has only users with the class role that is asked for', async () => {
    assert.deepEqual((await lines('?for=moodle&class_role=instructor')).slice(1), [
      '"ada@harbor.example","45"',
    ]);
    assert.equal((await lines('?class_role=student')).length, 3);
    assert.deepEqual((await lines('?class_role=Student')).slice(1), []);
  });

  it('has for Moodle no users whom Moodle cannot know, and never the unknown owner', async () => {
    const users = [
      { id: 0n, email: 'unknown@owner.invalid' },
      { id: 1n, email: 'user-1@moodle.invalid' },
      { id: 2n, email: 'bob@x.example' },
    ];
    const memberships = users.map(({ id }) => ({ boardId: 7n, userId: id }));
    const stand = await openStand({ records: { users, boards: [{ id: 7n, title: 'Seven' }], memberships } });
    const emails = async (system: string) => {
      const url = `${stand.url}/insights/v1/boards/7/gradebook?for=${system}`;
      return (await get(url, stand.key)).text.match(/[\w-]+@[\w.]+/g);
    };
    assert.deepEqual(await emails('moodle'), ['bob@x.example']);
    assert.deepEqual(await emails('canvas'), ['user-1@moodle.invalid', 'bob@x.example']);
    await stand.close();
  });

  it('is CSV only', async () => {
    assertProblem(await ask('?format=json'), 406, 'not-acceptable');
    const accept = 'application/json';
    assertProblem(await get(world.url + PATH, world.keys.full, { accept }), 406, 'not-acceptable');
  });

  it('has only the users that the key sees', async () => {
    assert.deepEqual((await lines('?for=moodle', world.keys.users)).slice(1), ['"ada@harbor.example","45"']);
    assert.equal((await lines('', world.keys.boards)).length, 4);
  });

  it('is 404 for a board out of scope, as for one that does not exist', async () => {
    const stars = `/insights/v1/boards/${STARS}/gradebook`;
    assertSuccess(await ask('', world.keys.full, stars), 'text/csv');
    for (const [key, path] of [
      [world.keys.boards, stars],
      [world.keys.nothing, PATH],
      [world.keys.full, '/insights/v1/boards/404/gradebook'],
    ] as const) {
      assertProblem(await ask('', key, path), 404, 'not-found');
    }
  });

  it('is refused for redacting keys, with the same problem whatever the board and the parameters', async () => {
    const etag = (await ask()).headers.get('etag') ?? '';
    for (const field of REDACTABLE) {
      const redact = { ...NO_REDACTION, [field]: true };
      for (const allowLmsLookup of [false, true]) {
        const key = await world.makeKey('harbor', { redact, allowLmsLookup });
        const problems = [];
        for (const query of ['', '?for=canvas', '?id=sis_user_id', '?id=none']) {
          for (const path of [PATH, '/insights/v1/boards/404/gradebook']) {
            for (const known of [etag, '*']) {
              const reply = await get(world.url + path + query, key, { 'if-none-match': known });
              const told = assertProblem(reply, 403, 'gradebook-not-allowed');
              problems.push([told.get('title'), told.get('detail')]);
            }
          }
        }
        for (const problem of problems) assert.deepEqual(problem, problems[0]);
      }
    }
  });

  it('has LMS ids only for keys with the permission, and only those that the organization has enabled', async () => {
    const allowed = await world.makeKey('harbor', { allowLmsLookup: true });
    const withIds = await ask('?for=canvas&id=sis_user_id', allowed);
    assert.deepEqual(withIds.text.split('\r\n').slice(2), [
      '"Lovelace, Ada","","S 1/ä","ada@harbor.example","","45"',
      '',
    ]);
    assert.deepEqual(await lines('?id=login/id', allowed), [
      '"user_id","email","first_name","last_name","lms_id","total_points","participation_score"',
      '"1","ada@harbor.example","Ada","Lovelace","ada","9","45"',
    ]);
    assertProblem(await ask('?id=email', allowed), 404, 'lookup-not-configured');
    const etag = withIds.headers.get('etag') ?? '';
    for (const id of ['sis_user_id', 'email']) {
      for (const known of [etag, '*']) {
        const headers = { 'if-none-match': known };
        const reply = await get(`${world.url}${PATH}?for=canvas&id=${id}`, world.keys.full, headers);
        const told = assertProblem(reply, 403, 'lms-ids-not-allowed');
        // The id of a request is random, and can have "ada" in it.
        const shown = [...told].filter(([name]) => name !== 'request_id').join('\n');
        assert.doesNotMatch(shown, /S 1|ada/);
      }
    }
  });

  it('is refused with a remedy if the request is malformed', async () => {
    for (const [query, code] of [
      ['?for=excel', 'parameter-malformed'],
      ['?value=grade', 'parameter-malformed'],
      ['?column=', 'parameter-malformed'],
      ['?column=%3D1%2B1', 'parameter-malformed'],
      ['?column=a%0Ab', 'parameter-malformed'],
      ['?column=Points,-1', 'parameter-malformed'],
      ['?start=2&end=1', 'range-reversed'],
      ['?class_role=', 'parameter-malformed'],
      ['?excel=1', 'parameter-unknown'],
      ['?top=1', 'parameter-unknown'],
    ] as const) {
      assertProblem(await ask(query), 400, code);
    }
    assertProblem(
      await ask('', world.keys.full, '/insights/v1/boards/x/gradebook'),
      400,
      'identifier-malformed',
    );
  });
});

describe('the title of a column', () => {
  it('is a line that a spreadsheet does not run as a formula', () => {
    const unit = fc.constantFrom(...' ,;"=+-@\t\n\0\u007f\u0085\u2028\u2029\uff1d\uff20aä7', '🙂');
    const property = fc.property(fc.string({ unit, maxLength: 12 }), (text) => {
      const isTitle = text !== '' && defuse(text) === text && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);
      assert.equal(PARAMETERS.column.read(text), isTitle ? text : undefined);
    });
    fc.assert(property, runs(500));
    assert.equal(PARAMETERS.column.read('x'.repeat(201)), undefined);
    assert.equal(PARAMETERS.column.read(`${',;" '.repeat(50)}`), `${',;" '.repeat(50)}`);
  });
});
