import assert from 'node:assert/strict';
import { type ExecFileException, execFile, execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { LEAST_NODE, refusalOfNode } from '../../src/cli/process/node-version.ts';
import { temporaryFolder } from './command.ts';

const ROOT = join(import.meta.dirname, '../..');
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const run = promisify(execFile);

describe('the version of Node.js', () => {
  it('that the command line requires is the one in package.json', () => {
    const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    assert.equal(engines.node, `>=${LEAST_NODE}`);
  });

  it('is refused when it is older, for every command', () => {
    for (const version of ['16.20.2', '20.20.2', '22.22.0', '24.14.9', '24.1.0']) {
      assert.match(refusalOfNode(version) ?? '', /^Corkboard requires Node\.js 24\.15 or later, but/);
    }
  });

  it('is accepted when it is the same or newer', () => {
    for (const version of ['24.15.0', '24.21.0', '25.0.0', '26.1.0-nightly2026']) {
      assert.equal(refusalOfNode(version), undefined, version);
    }
  });

  it('that is too old, if one is installed, gets one sentence and exit code 1', async (test) => {
    const old = oldNode();
    if (old === undefined) return test.skip('no older Node.js is on the PATH');
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    const options = ['-p', join(ROOT, 'tsconfig.build.json'), '--outDir', join(folder, 'dist')];
    await run(process.execPath, [TSC, ...options]);
    const main = join(folder, 'dist/cli/main.js');
    for (const words of [['keys', 'list', '--data', join(folder, 'data')], ['--version'], ['--help']]) {
      await assert.rejects(run(old, [main, ...words]), ({ code, stdout, stderr }: ExecFileException) => {
        assert.deepEqual([code, stdout], [1, '']);
        assert.match(
          stderr ?? '',
          /^corkboard: Corkboard requires Node\.js 24\.15 or later, but this is Node\.js \S+\. Install .*\n$/,
        );
        return true;
      });
    }
    assert.ok(!existsSync(join(folder, 'data')));
  });
});

function oldNode(): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'node'))
    .filter((path) => existsSync(path))
    .find((path) => {
      const version = execFileSync(path, ['--version'], { encoding: 'utf8' }).trim().slice(1);
      return refusalOfNode(version) !== undefined;
    });
}
