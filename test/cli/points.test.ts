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
