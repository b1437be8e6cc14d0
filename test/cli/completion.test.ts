import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { buildProgram } from '../../src/cli/program.ts';
import { renderCompletion, SHELLS } from '../../src/cli/terminal/completion.ts';
import { run, temporaryFolder } from './command.ts';
import { allCommands } from './command-line-document.ts';

const PROGRAM = await buildProgram();

const folder = temporaryFolder();
const script = join(folder, 'completion.bash');

/** The words that bash offers for the last of these words. */
function offered(...words: readonly string[]): readonly string[] {
  const program = `
    source ${script}
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    _corkboard_completion
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', program, 'bash', ...words], {
    encoding: 'utf8',
  });
  assert.equal(stderr, '');
  return stdout.split('\n').filter((line) => line !== '');
}

describe('completion in bash', () => {
  before(async () => {
    const { code, stdout } = await run(['completion', 'bash']);
    assert.equal(code, 0);
    writeFileSync(script, stdout);
  });

  it('offers commands, also below others', () => {
    assert.deepEqual(offered('corkboard', 'ser'), ['serve']);
    assert.deepEqual(offered('corkboard', 'keys', 'c'), ['create', 'configure']);
    assert.deepEqual(offered('corkboard', '--data', '/srv', 'keys', 'rev'), ['revoke']);
  });

  it('offers options of the command and global ones, long and short', () => {
    assert.deepEqual(offered('corkboard', 'serve', '--admin'), ['--admin-port', '--admin-host']);
    const all = offered('corkboard', 'keys', 'create', '-');
    for (const name of ['--organization', '-o', '--data', '-d', '--help'])
      assert.ok(all.includes(name), name);
    assert.ok(!all.includes('--admin-port'));
  });

  it('offers the values of an option, and leaves others to file names', () => {
    assert.deepEqual(offered('corkboard', 'import', '--as', 'm'), ['memberships', 'moodle-log']);
    assert.deepEqual(offered('corkboard', 'serve', '--variant', ''), ['a', 'b']);
    assert.deepEqual(offered('corkboard', 'serve', '--data', ''), []);
  });
});

describe('a script for completion', () => {
  for (const shell of SHELLS) {
    it(`names every command and option, ${shell}`, () => {
      const text = renderCompletion(PROGRAM, shell);
      for (const [, command] of allCommands()) {
        assert.match(text, new RegExp(`\\b${command.name()}\\b`));
        for (const { long, hidden } of command.options) {
          if (hidden || long === undefined) continue;
          const name = shell === 'fish' ? ` -l ${long.slice(2)}` : long;
          assert.ok(text.includes(name), `${command.name()} ${long}`);
        }
      }
    });
  }

  it('is refused for other shells, which are misuse', async () => {
    const { code, stderr } = await run(['completion', 'csh']);
    assert.equal(code, 2);
    assert.match(stderr, /bash, zsh, fish/);
  });
});

describe('output without a terminal', () => {
  it('has no colors, also if they are requested', async () => {
    for (const args of [['--help'], ['serve', '--help'], ['keys', 'list', '--data', join(folder, 'none')]]) {
      const { stdout, stderr } = await run(args, { environment: { FORCE_COLOR: '1', NO_COLOR: undefined } });
      assert.ok(!`${stdout}${stderr}`.includes('\u001b'), args.join(' '));
    }
  });
});
