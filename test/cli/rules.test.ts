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
    const paths = [events(1, 10, 20, 40, 400, 800)];
    assert.equal((await runJson(['import', ...paths, ...school()])).changes.events.added, 6);
    assert.equal((await run(['expire', ...school()])).code, 1);
    assert.equal((await configure('--keep-events', '24 months')).code, 0);
    const expired = await runJson(['expire', ...school()]);
    assert.deepEqual([expired.published, expired.deletedEvents], [true, 1]);
    assert.equal((await configure('--keep-events', '100d')).code, 0);
    const report = await runJson(['import', events(2, 300), ...school()]);
    assert.deepEqual([report.expired, report.changes.events.deleted, report.counts.events], [1, 1, 5]);
    assert.equal(report.overdue, null);
    const { stdout } = await run(['expire', ...school()]);
    assert.match(stdout, /^Nothing has changed/);
    const { published, changes } = await runJson(['rollback', ...school()]);
    assert.deepEqual(
      [published, changes.events.added, changes.events.deleted],
      [true, 0, 1],
      'none comes back',
    );
    const shown = await runJson(['organizations', 'show', 'school', ...into]);
    assert.deepEqual([shown.events, shown.keptEvents, shown.keptVersions], [4, { days: 100 }, 3]);
    assert.equal((await configure('--keep-events', 'soon')).code, 2);
  });

  // A clock far ahead makes all events too old; here, a rule does.
  it('deletes more than a fifth of the events only with "expire --yes"', async () => {
    const count = async () => (await runJson(['organizations', 'show', 'school', ...into])).events;
    assert.equal(await count(), 4);
    assert.equal((await configure('--keep-events', '5d')).code, 0);
    const words = /^corkboard: Events from before \d{4}-.*T00:00:00\.000Z are too old.* 3 of 4, .* --yes"/m;
    const refused = await run(['expire', ...school()]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, words);
    const titled = await configure('--title', 'eight');
    assert.deepEqual([titled.code, await count()], [0, 4]);
    assert.match(titled.stderr, words);

    const dry = await runJson(['import', events(3, 9), '--dry-run', ...school()]);
    assert.equal(dry.overdue.events, 3);
    const imported = await run(['import', events(3, 9), '--json', ...school()]);
    assert.match(imported.stderr, words);
    const { outcome, expired, overdue, counts } = JSON.parse(imported.stdout);
    // Too old events of files are not left out either: by the same clock.
    assert.deepEqual([outcome, expired, counts.events], ['published', 0, 6]);
    assert.deepEqual([overdue.events, overdue.of], [3, 4]);
    assert.ok(Date.parse(overdue.before) < Date.parse(overdue.now));

    const back = await run(['rollback', ...school()]);
    assert.deepEqual([back.code, await count()], [1, 6]);
    assert.match(back.stderr, /4 of 6/);
    const forgotten = await run(['forget', '--user', '1', '--json', ...school()]);
    assert.deepEqual([forgotten.code, JSON.parse(forgotten.stdout).published], [0, true]);
    assert.match(forgotten.stderr, /4 of 6/);
    assert.equal(await count(), 0);

    await runJson(['import', bundle('users.csv', 'id,email,name\n2,bob@x.example,Bob\n'), ...school()]);
    assert.equal((await configure('--keep-events', 'none')).code, 0);
    const days = [1, 2, 3, 4, 9];
    const rows = days.map((day) => `board,seen,2,2,7,${Date.now() - day * DAY_MS}`);
    const fresh = bundle(
      'events.csv',
      `type,action,owner_id,actor_id,board_id,timestamp\n${rows.join('\n')}\n`,
    );
    assert.equal((await runJson(['import', fresh, ...school()])).counts.events, 5);
    assert.equal((await configure('--keep-events', '5d')).code, 0);
    // Exactly a fifth.
    assert.equal((await runJson(['expire', ...school()])).deletedEvents, 1);
    assert.equal((await configure('--keep-events', '1d')).code, 0);
    assert.equal((await run(['expire', ...school()])).code, 1);
    assert.equal((await runJson(['expire', '--yes', ...school()])).deletedEvents, 3);
    const { published, changes } = await runJson(['rollback', ...school()]);
    assert.deepEqual([published, changes.events.added, await count()], [false, 0, 1]);
  });

  it('keeps everything in a continuous import, and says so', async () => {
    const input = Array.from({ length: 4 }, (_, at) =>
      JSON.stringify({
        type: 'board',
        action: 'read',
        owner_id: 2,
        actor_id: 2,
        board_id: 7,
        timestamp: Date.now() - at * 100 * DAY_MS,
      }),
    ).join('\n');
    assert.equal((await configure('--keep-events', 'none')).code, 0);
    await run(['import', '-', '--follow', ...school()], { input: `${input}\n` });
    assert.equal((await configure('--keep-events', '150d')).code, 0);
    const line = input.split('\n')[0]!.replace('read', 'left');
    const { code, stderr } = await run(['import', '-', '--follow', ...school()], { input: `${line}\n` });
    assert.equal(code, 0);
    assert.match(stderr, /^corkboard: Events from before .* too old/m);
  });
});
