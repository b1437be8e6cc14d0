import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { isStale } from '../build/stale-build.ts';

const ROOT = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'corkboard-start-'));
after(() => rmSync(folder, { recursive: true }));

function write(path: string, seconds: number): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), '{}');
  utimesSync(join(folder, path), seconds, seconds);
}

/** Sets the time of the folders of sources, which writing a file changes. */
function age(seconds: number): void {
  for (const path of ['src', 'src/deep', 'console', 'docs']) utimesSync(join(folder, path), seconds, seconds);
}

describe('a build', () => {
  it('is stale if a part is missing or a source is newer, was added or removed', () => {
    write('src/deep/one.ts', 1000);
    write('console/two.ts', 1000);
    write('docs/three.md', 1000);
    write('package.json', 1000);
    age(1000);
    assert.equal(isStale(folder), true);
    write('dist/client/client.js', 2000);
    assert.equal(isStale(folder), true);
    write('dist/console/index.html', 2000);
    assert.equal(isStale(folder), true);
    write('dist/docs/index.html', 2000);
    assert.equal(isStale(folder), false);
    for (const path of ['src/deep/one.ts', 'console/two.ts', 'docs/three.md', 'package.json']) {
      write(path, 3000);
      age(1000);
      assert.equal(isStale(folder), true, path);
      write(path, 1000);
      age(1000);
    }
    assert.equal(isStale(folder), false);
    rmSync(join(folder, 'src/deep/one.ts'));
    assert.equal(isStale(folder), true);
  });
});

describe('the command of a checkout', () => {
  it('says what to do before the first build, and builds nothing', () => {
    const bin = join(folder, 'bare/bin/corkboard.js');
    mkdirSync(dirname(bin), { recursive: true });
    writeFileSync(join(folder, 'bare/package.json'), '{"type":"module"}');
    copyFileSync(join(ROOT, 'bin/corkboard.js'), bin);
    const { status, stdout, stderr } = spawnSync(process.execPath, [bin, 'keys'], { encoding: 'utf8' });
    assert.deepEqual([status, stdout], [1, '']);
    assert.equal(stderr, 'corkboard: This checkout has not been built. Run "npm ci" in it first.\n');
  });
});

describe('npx corkboard in a checkout', () => {
  it('finds the command that npm ci has linked, so it neither builds nor fetches anything', () => {
    assert.equal(realpathSync(join(ROOT, 'node_modules/.bin/corkboard')), join(ROOT, 'bin/corkboard.js'));
  });
});

describe('the npm scripts', () => {
  it('start and test use nothing that a shell of Windows lacks', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    for (const name of ['start', 'test', 'prepare', 'build', 'build:server', 'build:console', 'build:docs']) {
      assert.doesNotMatch(scripts[name], /'|\bexec\b|[;$`|]|(?<!&)&(?!&)/, name);
    }
  });
});
