/** Users by address and boards by title or LTI id, wherever a command takes an id. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { run, runJson, temporaryFolder } from './command.ts';
import { writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();
const school = ['--organization', 'school', '--data', join(folder, 'data')];

before(async () => {
  const bundle = writeSmallBundle(join(folder, 'bundle'), {
    'boards.csv':
      'id,title,lti_id,course_id\n7,Rhetoric,lti-7,RHET\n8,Logic,,LOG 1\n9,logic,,LOG 2\n9007199254740993,Far,FAR-1,FAR\n',
  });
  await runJson(['import', bundle, ...school]);
});

describe('a command that takes ids', () => {
  it('takes addresses and titles or LTI ids, in any case, with the same result', async () => {
    const explain = (board: string, user: string) =>
      run(['points', 'explain', '--board', board, '--user', user, ...school]);
    const byId = await explain('7', '1');
    assert.equal(byId.code, 0);
    for (const [board, user] of [
      ['Rhetoric', 'ada@x.example'],
      ['LTI-7', 'ADA@x.example'],
      [' rhetoric ', '1'],
    ] as const)
      assert.deepEqual(await explain(board, user), byId);
    const exported = (board: string) => run(['points', 'export', '--board', board, ...school]);
    assert.deepEqual(await exported('rhetoric'), await exported('7'));
  });

  it('takes them in lists, and stores ids', async () => {
    const words = ['--boards', 'far,7', '--users', 'bob@x.example,1', ...school];
    const { scope, id } = await runJson(['keys', 'create', ...words]);
    assert.deepEqual(
      [scope.boards, scope.users],
      [
        [7, 9_007_199_254_740_993n],
        [1, 2],
      ],
    );
    const [, , ...place] = school;
    const changed = await runJson(['keys', 'configure', id, '--boards', 'Rhetoric', ...place]);
    assert.deepEqual([changed.scope.boards, changed.scope.users], [[7], [1, 2]]);
  });

  it('exports and erases the user with an address', async () => {
    const out = join(folder, 'eve');
    assert.equal((await run(['export', out, '--user', 'eve@x.example', ...school])).code, 0);
    assert.ok(existsSync(out));
    const { stdout } = await run(['forget', '--user', 'eve@x.example', ...school]);
    assert.match(stdout, /^Erased user 3 and 0 events\./);
  });

  it('refuses a name without a record, with the nearest, and one with several, with all of them', async () => {
    const refusal = async (...words: string[]) => {
      const { code, stderr } = await run([...words, ...school]);
      return [code, stderr];
    };
    assert.deepEqual(await refusal('forget', '--user', 'bop@x.example'), [
      1,
      'corkboard: There is no user with the address "bop@x.example". The nearest is "bob@x.example".\n',
    ]);
    assert.deepEqual(await refusal('keys', 'create', '--boards', 'Rhetorik,7'), [
      1,
      'corkboard: There is no board with the title or LTI id "Rhetorik". The nearest is "Rhetoric".\n',
    ]);
    assert.deepEqual(await refusal('points', 'export', '--board', 'Logic'), [
      2,
      'corkboard: Several boards are named "Logic": 8 (Logic, LOG 1), 9 (logic, LOG 2). Give the id.\n',
    ]);
    for (const word of ['every', 'of-board']) {
      const [code] = await refusal('keys', 'create', '--users', word);
      assert.equal(code, 1);
    }
    assert.deepEqual(await runJson(['keys', 'list', ...school]).then((list) => list.length), 1);
  });
});
