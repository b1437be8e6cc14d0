/** `corkboard versions` and `corkboard rollback` (decision 83). */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { run, runJson, temporaryFolder } from './command.ts';
import { writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();

interface Listed {
  readonly publication: number;
  readonly version: string;
  readonly command?: string;
  readonly files?: readonly string[];
  readonly restored?: string;
  readonly counts?: { readonly events: number; readonly users: number };
  readonly isKept: boolean;
}

function write(name: string, text: string): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe('an administrator who has imported a wrong file', () => {
  const school = ['--organization', 'school', '--data', join(folder, 'data')];
  const list = (): Promise<Listed[]> => runJson(['versions', 'list', ...school]);
  let wrong: string;
  before(async () => {
    await runJson(['import', writeSmallBundle(join(folder, 'bundle')), ...school]);
    wrong = write('users.csv', 'id,email,name\n1,x@x.example,Wrong\n8,new@x.example,New\n');
    await runJson(['import', wrong, ...school]);
  });

  it('finds it in the list, with its command, file and changes', async () => {
    const [second, first, ...others] = await list();
    assert.equal(others.length, 0);
    assert.deepEqual([first?.publication, first?.isKept, first?.counts?.events], [1, true, 3]);
    assert.deepEqual([second?.command, second?.files], ['import', [wrong]]);
    const { stdout } = await run(['versions', 'list', ...school]);
    assert.match(stdout, /^ +2 {2}2-[0-9a-f]{24} {2}\S+Z {2}import {2}\+1 ~1 +kept$/m);
    const { stdout: shown } = await run(['versions', 'show', '2', ...school]);
    assert.match(shown, /^files +.*users\.csv$/m);
    assert.match(shown, /^users +1 +1 +0$/m);
  });

  it('sees what it changed, in either direction', async () => {
    const { stdout } = await run(['versions', 'diff', ...school]);
    assert.match(stdout, /^users +1 +1 +0$/m);
    assert.match(stdout, /^users +added +8 New$/m);
    assert.match(stdout, /^users +changed +1 Wrong$/m);
    const back = await runJson(['versions', 'diff', '2', '1', ...school]);
    assert.deepEqual(back.changes.users, { added: 0, changed: 1, unchanged: 2, deleted: 1 });
    assert.deepEqual(back.samples[0], { kind: 'users', change: 'changed', record: '1 Wrong' });
  });

  it('takes it back, after which nothing differs from the version before', async () => {
    const { published, changes, restored } = await runJson(['rollback', ...school]);
    assert.deepEqual([published, changes.users.deleted, changes.users.changed], [true, 1, 1]);
    const [third, , first] = await list();
    assert.deepEqual([third?.command, third?.restored], ['rollback', first?.version]);
    assert.equal(restored, first?.version);
    const { stdout } = await run(['versions', 'diff', '1', ...school]);
    assert.match(stdout, /No record differs/);
    const again = await run(['rollback', '--to', '1', ...school]);
    assert.deepEqual([again.code, again.stdout.startsWith('Nothing has changed')], [0, true]);
  });

  it('restores settings, too', async () => {
    await runJson([
      'organizations',
      'configure',
      'school',
      '--title',
      'Wrong',
      '--data',
      join(folder, 'data'),
    ]);
    await runJson(['rollback', ...school]);
    const shown = await runJson(['organizations', 'show', 'school', '--data', join(folder, 'data')]);
    assert.equal(shown.title, 'school');
  });

  it('is pointed to the list instead of an unknown one, or one that is not kept', async () => {
    for (const words of [
      ['rollback', '--to', '77'],
      ['rollback', '--to', '1'],
      ['versions', 'show', 'x'],
    ]) {
      const { code, stderr } = await run([...words, ...school]);
      assert.equal(code, 1);
      assert.match(stderr, /There is no version .*"corkboard versions list"/);
    }
  });

  it('cannot bring a forgotten person back', async () => {
    await runJson(['forget', '--user', '2', ...school]);
    const { code, stderr } = await run(['rollback', ...school]);
    assert.equal(code, 1);
    assert.match(stderr, /No version before .* is kept/);
    const [forgotten, ...earlier] = await list();
    assert.deepEqual([forgotten?.command, forgotten?.isKept], ['forget', true]);
    assert.ok(earlier.every(({ isKept }) => !isKept));
  });
});
