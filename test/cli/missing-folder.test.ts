import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { run, runJson, temporaryFolder } from './command.ts';
import { writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();
const ID = 'abcdefghijkl';

/** All commands that read or change an existing data folder. */
const COMMANDS: readonly (readonly string[])[] = [
  ['organizations', 'list'],
  ['organizations', 'show', 'school'],
  ['organizations', 'configure', 'school', '--title', 'School'],
  ['keys', 'list'],
  ['keys', 'list', '--organization', 'school'],
  ['keys', 'create', '--organization', 'school'],
  ['keys', 'configure', ID, '--label', 'x'],
  ['keys', 'rotate', ID],
  ['keys', 'revoke', ID],
  ['points', 'explain', '--organization', 'school', '--board', '1', '--user', '1'],
  ['forget', '--organization', 'school', '--user', '1'],
  ['export', join(folder, 'out'), '--organization', 'school'],
];

describe('a data folder that does not exist', () => {
  for (const words of COMMANDS) {
    it(`is not created by "corkboard ${words.slice(0, 2).join(' ')}", whose message names the option`, async () => {
      const data = join(folder, 'typo');
      const { code, stdout, stderr } = await run([...words, '--data', data]);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(
        stderr,
        /^corkboard: (There is no data folder \S*typo|The folder contains no Corkboard data)/,
      );
      assert.match(stderr, /--data/);
      assert.ok(!existsSync(data));
    });
  }

  it('is refused at once where no folder can be made', async () => {
    const bundle = writeSmallBundle(join(folder, 'unmade'));
    for (const words of [
      ['import', bundle, '--organization', 'school'],
      ['organizations', 'create', 'school'],
      ['serve', '--port', '0'],
    ]) {
      const { code, stderr } = await run([...words, '--data', '/proc/corkboard/data']);
      assert.equal(code, 1);
      assert.match(stderr, /^corkboard: Cannot use the data folder \(ENOENT: .*'\/proc\/corkboard'\)/);
    }
  });

  it('is not created by a dry run, which still checks a first import', async () => {
    const data = join(folder, 'dry');
    const bundle = writeSmallBundle(join(folder, 'bundle'));
    const words = ['import', bundle, '--organization', 'school', '--dry-run', '--data', data];
    assert.ok((await runJson(words)).changes.events.added > 0);
    assert.ok(!existsSync(data));
  });

  it('is created by the first command that writes data into it', async () => {
    const data = join(folder, 'new');
    await runJson(['organizations', 'create', 'school', '--data', data]);
    const list = await runJson(['organizations', 'list', '--data', data]);
    assert.deepEqual(
      list.map(({ name }: { name: string }) => name),
      ['school'],
    );
  });
});
