/** How long versions and events are kept: `organizations configure`, `expire` (decision 85). */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { IS_LONG } from '../long.ts';
import { DEFAULT_STORAGE, describeOver, openStorage, STORAGES, type Storage } from '../storage.ts';
import { run, runJson } from './command.ts';

const DAY_MS = 86_400_000;

describeOver([DEFAULT_STORAGE, STORAGES[2]], 'an organization with rules', {}, (kind) => {
  const folder = mkdtempSync(join(tmpdir(), 'corkboard-rules-'));
  let storage: Storage;
  let into: readonly string[];
  before(async () => {
    storage = await openStorage(kind, folder);
    into = storage.words;
  });
  after(async () => {
    await storage.close();
    rmSync(folder, { recursive: true });
  });

  const school = () => ['--organization', 'school', ...into];
  const configure = (...words: string[]) => run(['organizations', 'configure', 'school', ...words, ...into]);

  function bundle(name: string, text: string): string {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  }

  /** Events that many days ago. */
  function events(...days: readonly number[]): string {
    const rows = days.map((day) => `board,seen,1,1,7,${Date.now() - day * DAY_MS}`);
    return bundle('events.csv', `type,action,owner_id,actor_id,board_id,timestamp\n${rows.join('\n')}\n`);
  }

  async function title(text: string): Promise<void> {
    assert.equal((await configure('--title', text)).code, 0);
  }

  async function kept(): Promise<number> {
    const versions: { isKept: boolean }[] = await runJson(['versions', 'list', ...school()]);
    return versions.filter(({ isKept }) => isKept).length;
  }

  it('keeps as many versions as they say, or for as long', async () => {
    const files = [
      bundle('users.csv', 'id,email,name\n1,ann@x.example,Ann\n'),
      bundle('boards.csv', 'id,title\n7,Seven\n'),
    ];
    await runJson(['import', ...files, ...school()]);
    assert.equal((await configure('--keep-versions', '2')).code, 0);
    for (const text of ['one', 'two', 'three']) await title(text);
    assert.equal(await kept(), 2);
    assert.equal((await configure('--keep-versions', '1d')).code, 0);
    for (const text of ['four', 'five']) await title(text);
    assert.equal(await kept(), 4);
    await runJson(['versions', 'diff', ...school()]);
    assert.equal((await configure('--keep-versions', 'default', '--title', 'six')).code, 0);
    await title('seven');
    assert.equal(await kept(), 3);
    assert.deepEqual((await configure('--keep-versions', '0')).code, 2);
  });

  // Erasing events is the same code for both catalogs, which keep versions each in their own way.
  if (kind !== DEFAULT_STORAGE && !IS_LONG) return;

  it('deletes events that are too old, and takes no further ones', async () => {
    const paths = [events(1, 40, 400, 800)];
    assert.equal((await runJson(['import', ...paths, ...school()])).changes.events.added, 4);
    assert.equal((await run(['expire', ...school()])).code, 1);
    assert.equal((await configure('--keep-events', '24 months')).code, 0);
    const expired = await runJson(['expire', ...school()]);
    assert.deepEqual([expired.published, expired.deletedEvents], [true, 1]);
    assert.equal((await configure('--keep-events', '100d')).code, 0);
    const report = await runJson(['import', events(2, 300), ...school()]);
    assert.deepEqual([report.expired, report.changes.events.deleted, report.counts.events], [1, 1, 3]);
    const { stdout } = await run(['expire', ...school()]);
    assert.match(stdout, /^Nothing has changed/);
    const { published, changes } = await runJson(['rollback', ...school()]);
    assert.deepEqual(
      [published, changes.events.added, changes.events.deleted],
      [true, 0, 1],
      'none comes back',
    );
    const shown = await runJson(['organizations', 'show', 'school', ...into]);
    assert.deepEqual([shown.events, shown.keptEvents, shown.keptVersions], [2, { days: 100 }, 3]);
    assert.equal((await configure('--keep-events', 'soon')).code, 2);
  });
});
