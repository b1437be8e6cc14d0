/**
 * What is final, or probably a mistake, is shown before it happens: with `--dry-run` everywhere,
 * with a question on a terminal, and without one as before.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { run, runJson, temporaryFolder } from './command.ts';
import { writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();
const bundle = writeSmallBundle(join(folder, 'bundle'));

/** A data folder with the organization `school`. */
async function newPlace(name: string): Promise<readonly string[]> {
  const place = ['--data', join(folder, name)];
  await runJson(['import', bundle, '--organization', 'school', ...place]);
  return place;
}

async function versionsIn(place: readonly string[], organization = 'school'): Promise<readonly string[]> {
  const versions = await runJson(['versions', 'list', '--organization', organization, ...place]);
  return versions.map(({ version }: { readonly version: string }) => version);
}

const answering = (input: string) => ({ input, isTerminal: true });

describe('forget', () => {
  const shown = /^ID {2}NAME +ADDRESS\n 2 {2}Bob B +bob@x\.example\n/;
  const counts =
    'This erases 1 user and 2 events for good. Earlier versions lose their data: there is no rollback to them, and only a backup has the users again.\n';

  it('shows the user and the counts on a terminal, and erases after a yes only', async () => {
    const place = await newPlace('forget');
    const before = await versionsIn(place);
    const words = ['forget', '--user', '2', '--organization', 'school', ...place];
    for (const answer of ['no\n', '\n', '']) {
      const { code, stdout, stderr } = await run(words, answering(answer));
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, shown);
      assert.ok(stderr.includes(counts), stderr);
      assert.match(stderr, /Type yes to erase for good: .*corkboard: Nothing was erased\.\n$/s);
    }
    assert.deepEqual(await versionsIn(place), before);
    const { code, stdout } = await run(words, answering('yes\n'));
    assert.equal(code, 0);
    assert.match(stdout, /^Erased user 2 and 2 events\./);
  });

  it('changes nothing with --dry-run, and asks nothing with --yes or without a terminal', async () => {
    const place = await newPlace('forget-dry');
    const before = await versionsIn(place);
    const words = ['forget', '--organization', 'school', ...place, '--user'];
    const dry = await run([...words, '2', '--dry-run']);
    assert.match(dry.stdout, shown);
    assert.ok(dry.stdout.endsWith(counts));
    assert.deepEqual(await runJson([...words, '2', '--dry-run']), {
      ...{ dryRun: true, users: [{ id: 2, name: 'Bob B', email: 'bob@x.example' }], erasedEvents: 2 },
    });
    assert.equal((await run([...words, '99', '--dry-run'])).stderr, 'corkboard: school has no user 99.\n');
    assert.deepEqual(await versionsIn(place), before);
    assert.match((await run([...words, '2', '--yes'], answering(''))).stdout, /^Erased user 2/);
    assert.match((await run([...words, '3'])).stdout, /^Erased user 3/);
  });
});

describe('import into an organization whose name is like another', () => {
  const remark =
    'corkboard: There is no organization schol, but school. This creates schol; with --create, without this remark.\n';
  const names = async (place: readonly string[]) => {
    const list = await runJson(['organizations', 'list', ...place]);
    return list.map(({ name }: { readonly name: string }) => name);
  };

  it('names the other, asks on a terminal, and creates it otherwise', async () => {
    const place = await newPlace('misspelt');
    const words = ['import', bundle, '--organization', 'schol', ...place];
    const dry = await run([...words, '--dry-run']);
    assert.deepEqual([dry.code, dry.stderr.includes(remark)], [0, true]);
    const refused = await run(words, answering('no\n'));
    assert.equal(refused.code, 1);
    assert.ok(
      refused.stderr.endsWith('corkboard: There is no organization schol. Nothing was created.\n'),
      refused.stderr,
    );
    assert.deepEqual(await names(place), ['school']);
    const created = await run(words);
    assert.deepEqual([created.code, created.stderr.includes(remark)], [0, true]);
    assert.deepEqual(await names(place), ['schol', 'school']);
  });

  it('is quiet with --create, for the first organization, and for another name', async () => {
    const place = await newPlace('meant');
    const into = (...words: string[]) => run(['import', bundle, ...words, ...place], answering('no\n'));
    for (const words of [
      ['--organization', 'schools', '--create'],
      ['--organization', 'SCHOOL'],
      ['--organization', 'college'],
    ]) {
      const { code, stderr } = await into(...words);
      assert.equal(code, 0);
      assert.doesNotMatch(stderr, /There is no organization/);
    }
  });
});

describe('organizations configure --policy', () => {
  const file = join(folder, 'policy.json');
  const ruled = (...kinds: (readonly [on: string, points: number])[]) =>
    writeFileSync(
      file,
      JSON.stringify({ rules: kinds.map(([on, points]) => ({ on, to: 'actor', points })) }),
    );
  const configure = (place: readonly string[], ...words: string[]) =>
    run(['organizations', 'configure', 'school', '--policy', file, ...words, ...place]);

  it('refuses a rule for a kind that no event has and that is like a known one', async () => {
    const place = await newPlace('kinds');
    ruled(['pin.created', 10], ['board.follwed', 5]);
    const { code, stderr } = await configure(place);
    assert.equal(code, 1);
    assert.equal(
      stderr,
      'corkboard: The policy has a rule for board.follwed, which no event is of; the nearest kind is board.followed. Correct the rule, or add --yes if such events are to come.\n',
    );
    const taken = await configure(place, '--yes');
    assert.equal(taken.code, 0);
    assert.equal(taken.stderr, 'No event is board.follwed yet: until then, its rule earns nothing.\n');
    ruled(['course.completed', 5]);
    const remarked = await configure(place);
    assert.equal(remarked.code, 0);
    assert.equal(remarked.stderr, 'No event is course.completed yet: until then, its rule earns nothing.\n');
  });

  it('says with --dry-run that nothing changes without data, and for rules alone', async () => {
    const place = ['--data', join(folder, 'no-data')];
    await runJson(['organizations', 'create', 'school', ...place]);
    ruled(['pin.created', 20]);
    assert.match(
      (await configure(place, '--dry-run')).stdout,
      /^The points of all users would stay the same\.\n/,
    );
    const words = ['organizations', 'configure', 'school', '--keep-events', '30d', '--dry-run', ...place];
    assert.deepEqual(await runJson(words), { dryRun: true, points: null });
    const { keptEvents, version } = await runJson(['organizations', 'show', 'school', ...place]);
    assert.deepEqual([keptEvents, version], [null, null]);
  });

  it('shows with --dry-run whose points change, and names the setting in the history', async () => {
    const place = await newPlace('points');
    const before = await versionsIn(place);
    ruled(['pin.created', 20], ['board.followed', 1]);
    const { stdout, code } = await configure(place, '--dry-run');
    assert.equal(code, 0);
    assert.equal(
      stdout,
      [
        'The points of 2 users on 2 boards would change:',
        '',
        'BOARD     USER           POINTS  NEW POINTS  SCORE  NEW SCORE',
        'Rhetoric  ada@x.example      10          20     10         20',
        'Rhetoric  bob@x.example       5           0      5          0',
        'Far       bob@x.example       0           1      0          1',
        '',
        'Everything is valid; nothing was changed (dry run).',
        '',
      ].join('\n'),
    );
    const words = ['organizations', 'configure', 'school', '--dry-run', ...place];
    const { points } = await runJson([...words, '--policy', file]);
    assert.deepEqual(points.largest[0], {
      ...{ board: 7, title: 'Rhetoric', user: 1, email: 'ada@x.example' },
      before: { totalPoints: 10, participationScore: 10 },
      after: { totalPoints: 20, participationScore: 20 },
    });
    assert.deepEqual(await runJson([...words, '--title', 'New']), { dryRun: true, points: null });
    assert.deepEqual(await versionsIn(place), before);
    await configure(place);
    const history = await run(['versions', 'list', '--organization', 'school', ...place]);
    assert.match(history.stdout, / organizations configure: policy /);
    const same = await configure(place, '--dry-run');
    assert.equal(same.stdout, 'Everything is valid; nothing was changed (dry run).\n');
  });
});

describe('--dry-run', () => {
  it('of expire counts what is too old, even if that needs --yes', async () => {
    const place = await newPlace('expire');
    const words = ['--organization', 'school', ...place];
    await runJson(['organizations', 'configure', 'school', '--keep-events', '30d', ...place]);
    const before = await versionsIn(place);
    const { stdout } = await run(['expire', '--dry-run', ...words]);
    assert.match(stdout, /^This would delete 3 events before .*\. Nothing was changed \(dry run\)\.\n$/);
    assert.equal((await runJson(['expire', '--dry-run', ...words])).deletedEvents, 3);
    assert.deepEqual(await versionsIn(place), before);
  });

  it('of rollback shows what would change', async () => {
    const place = await newPlace('rollback');
    const words = ['--organization', 'school', ...place];
    const more = join(folder, 'more', 'users.csv');
    mkdirSync(join(folder, 'more'));
    writeFileSync(more, 'id,email,name\n4,dan@x.example,Dan\n');
    await runJson(['import', more, ...words]);
    const before = await versionsIn(place);
    const { stdout } = await run(['rollback', '--dry-run', ...words]);
    assert.match(stdout, /^From the current version to 1-.*\nusers +0 +0 +1\n.*dry run\)\.\n$/s);
    const { changes } = await runJson(['rollback', '--dry-run', ...words]);
    assert.deepEqual(changes.users, { added: 0, changed: 0, deleted: 1, unchanged: 3 });
    assert.deepEqual(await versionsIn(place), before);
  });

  it('of organizations remove counts what would be deleted, without a terminal as well', async () => {
    const place = await newPlace('remove');
    const words = ['organizations', 'remove', 'school', '--dry-run', ...place];
    assert.equal(
      (await run(words)).stdout,
      'This deletes school for good: 3 events, 3 users, 2 boards and 0 keys. Only a backup can bring it back. Nothing was changed (dry run).\n',
    );
    assert.equal((await runJson(words)).events, 3);
    assert.equal((await versionsIn(place)).length, 1);
  });

  it('of restore says what it would replace, and makes no data folder', async () => {
    const place = await newPlace('restore');
    const backup = join(folder, 'backup');
    await runJson(['backup', backup, ...place]);
    await runJson(['forget', '--user', '2', '--organization', 'school', ...place]);
    const [{ version }] = await runJson(['versions', 'list', '--organization', 'school', '--data', backup]);
    const before = await versionsIn(place);
    const words = ['restore', backup, '--dry-run'];
    const refused = await run([...words, ...place]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^corkboard: There is data already, of school; nothing was restored/m);
    const { organizations } = await runJson([...words, '--replace', ...place]);
    assert.deepEqual(organizations, [
      { organization: 'school', version, replaces: true, keys: 0, erased: [2] },
    ]);
    assert.deepEqual(await versionsIn(place), before);
    const fresh = join(folder, 'fresh');
    const { stdout } = await run([...words, '--data', fresh]);
    assert.match(stdout, /^school +\S+ +new +0 +0$/m);
    assert.match(stdout, /\nThis would restore 1 organization as of .*dry run\)\.\n$/);
    assert.ok(!existsSync(fresh));
  });
});
