import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { run, runJson, temporaryFolder } from './command.ts';
import { SMALL_BUNDLE, writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();
const data = join(folder, 'data');
const bundle = writeSmallBundle(join(folder, 'bundle'));
const bad = writeSmallBundle(join(folder, 'bad'), {
  'users.csv': `${SMALL_BUNDLE['users.csv']}4,,Nameless,\n${'x,x@x.example,X,\n'.repeat(120)}`,
});
const into = (organization: string) => ['--organization', organization, '--data', data];

describe('import', () => {
  it('creates the organization, publishes, and reports what changed', async () => {
    const { code, stdout, stderr } = await run(['import', bundle, ...into('first')]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /events\.csv +events +3$/m);
    assert.match(stdout, /^users +3 +0 +0$/m);
    assert.match(stdout, /^Ignored files: .*README\.txt$/m);
    assert.match(stdout, /^Published as version \S+ of first \(\d+\.\d s\)\n$/m);
    assert.equal(stderr, '');
  });

  it('of the same bundle changes nothing, with exit code 0', async () => {
    await runJson(['import', bundle, ...into('again')]);
    const again = await runJson(['import', bundle, ...into('again')]);
    assert.deepEqual([again.outcome, again.published, again.records], ['unchanged', false, 9]);
  });

  it('reads files as spreadsheets write them, like those with commas', async () => {
    const written = (text: string) => `sep=;\r\n${text.replaceAll(',', ';').replaceAll('\n', '\r\n')}`;
    const saved = writeSmallBundle(join(folder, 'saved'), {
      'users.csv': written(SMALL_BUNDLE['users.csv'].replace('id,email,name', 'ID,Email,NAME')),
      'events.csv': written(SMALL_BUNDLE['events.csv']),
      'boards.csv': SMALL_BUNDLE['boards.csv'].replaceAll(',', '\t'),
    });
    await runJson(['import', bundle, ...into('saved')]);
    const report = await runJson(['import', saved, ...into('saved')]);
    assert.deepEqual([report.outcome, report.records], ['unchanged', 9]);
  });

  it('publishes nothing if records are invalid, lists the first hundred and counts the rest', async () => {
    const { code, stdout, stderr } = await run(['import', bad, ...into('bad'), '--json']);
    assert.equal(code, 1);
    const report = JSON.parse(stdout);
    assert.deepEqual([report.published, report.problemCount, report.problems.length], [false, 121, 100]);
    const lines = stderr.trimEnd().split('\n');
    assert.match(lines[0] ?? '', /users\.csv:5: email: /);
    assert.match(lines[1] ?? '', /users\.csv:6: id: /);
    assert.equal(lines[100], 'and at least 21 more');
    assert.match(
      lines[101] ?? '',
      /^corkboard: Nothing was published because of at least 121 invalid records/,
    );
    assert.equal(lines.length, 102);
  });

  it('counts invalid records by field and reason if they are in many files', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 30 }, (_, at) => [
        `users-${at}.csv`,
        `id,email,name\nx${at},a@x.example,A\n${at},,B\n${at % 2 === 0 ? `y${at},b@x.example,C\n` : ''}`,
      ]),
    );
    const many = join(folder, 'many-bad');
    mkdirSync(many);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(many, name), text);
    const { code, stdout, stderr } = await run(['import', many, ...into('many-bad')]);
    assert.equal(code, 1);
    assert.match(stdout, /^users +30 +75$/m);
    assert.deepEqual(
      stderr
        .trimEnd()
        .split('\n')
        .map((line) => line.replace(/\S*many-bad\//, '').replace(/ {2,}/g, ' ')),
      [
        'FIELD PROBLEM RECORDS FILES EXAMPLE',
        'id … is not an integer 45 30 users-0.csv:2',
        'email is required 30 30 users-0.csv:3',
        '',
        'corkboard: Nothing was published because of at least 75 invalid records (references are checked only when there are none); correct them, or skip them with --skip-invalid FILE.',
      ],
    );
    const json = await run(['import', many, ...into('many-bad'), '--json']);
    assert.equal(JSON.parse(json.stdout).problems.length, 75);
    assert.match(json.stderr, /users-29\.csv:2: id: "x29" is not an integer\n/);
    for (const name of Object.keys(files).slice(10)) rmSync(join(many, name));
    const few = await run(['import', many, ...into('many-bad')]);
    assert.match(few.stdout, /users-9\.csv +users +2$/m);
    assert.match(few.stderr, /users-9\.csv:3: email: is required\n/);
  });

  it('prints no control characters, neither of a file nor of its name', async () => {
    const red = '\\u001b[31m';
    const users = join(folder, 'users.ndjson');
    writeFileSync(users, `{"id":1,"email":"a@x.example","${red}":1,"${red}":2}\n`);
    const { code, stderr } = await run(['import', users, ...into('escapes')]);
    assert.equal(code, 1);
    assert.match(stderr, /users\.ndjson:1: {2}\[31m: is given twice\n/);
    const missing = await run(['import', join(folder, 'none\u001b[31m.csv'), ...into('escapes')]);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /none \[31m\.csv/);
    for (const text of [stderr, missing.stderr]) assert.ok(!text.includes('\u001b'));
  });

  it('counts all invalid records, or reports the count as a minimum', async () => {
    const dangling = SMALL_BUNDLE['events.csv'].replaceAll(/^(pin,\w+,1),./gm, '$1,99');
    const events = writeSmallBundle(join(folder, 'dangling'), { 'events.csv': dangling });
    const all = await run(['import', events, ...into('counted')]);
    assert.equal(all.code, 1);
    assert.match(all.stderr, /because of 2 invalid records;/);
    const both = writeSmallBundle(join(folder, 'both'), {
      'events.csv': dangling,
      'boards.csv': 'id,title\n7,Rhetoric\n9007199254740993,Far\nx,\n',
    });
    const some = await run(['import', both, ...into('counted'), '--json']);
    assert.equal(some.code, 1);
    assert.match(some.stderr, /because of at least 1 invalid record \(references are checked/);
    const { problemCount, problemCountIsLeast } = JSON.parse(some.stdout);
    assert.deepEqual([problemCount, problemCountIsLeast], [1, true]);
  });

  it('publishes valid records and writes invalid ones to a file with --skip-invalid', async () => {
    const rejects = join(folder, 'rejects.ndjson');
    const report = await runJson(['import', bad, ...into('skipping'), '--skip-invalid', rejects]);
    assert.deepEqual([report.published, report.rejected], [true, 121]);
    assert.equal(readFileSync(rejects, 'utf8').trimEnd().split('\n').length, 121);
    assert.equal((await runJson(['organizations', 'show', 'skipping', '--data', data])).users, 3);
  });

  it('checks everything and leaves nothing behind with --dry-run', async () => {
    const report = await runJson(['import', bundle, ...into('dry'), '--dry-run']);
    assert.deepEqual([report.outcome, report.published, report.changes.events.added], ['checked', false, 3]);
    assert.equal((await run(['organizations', 'show', 'dry', '--data', data])).code, 1);
    assert.ok(!existsSync(join(data, 'organizations', 'dry')));
  });

  it('refuses a folder with a symbolic link and creates nothing, unless --follow-symlinks is given', async () => {
    const linked = writeSmallBundle(join(folder, 'linked'));
    rmSync(join(linked, 'users.csv'));
    symlinkSync(join(bundle, 'users.csv'), join(linked, 'users.csv'));
    const { code, stderr } = await run(['import', linked, ...into('linked')]);
    assert.equal(code, 1);
    assert.match(stderr, /linked\/users\.csv is a symbolic link.*--follow-symlinks/);
    assert.equal((await run(['organizations', 'show', 'linked', '--data', data])).code, 1);
    const report = await runJson(['import', linked, ...into('linked'), '--follow-symlinks']);
    assert.equal(report.changes.users.added, 3);
  });

  it('reads folders inside a folder with --subfolders, but never while it follows one', async () => {
    const deep = join(folder, 'deep');
    mkdirSync(join(deep, 'more'), { recursive: true });
    writeSmallBundle(join(deep, 'more', 'bundle'));
    const without = await run(['import', deep, ...into('deep')]);
    assert.equal(without.code, 2);
    assert.match(without.stderr, /contains only folders, which are searched only with --subfolders/);
    const report = await runJson(['import', deep, ...into('deep'), '--subfolders']);
    assert.deepEqual([report.outcome, report.changes.events.added], ['published', 3]);
    assert.match(report.passedOver.join(' '), /README\.txt$/);
    symlinkSync(bundle, join(deep, 'link'));
    const linked = await run(['import', deep, ...into('deep'), '--subfolders']);
    assert.equal(linked.code, 1);
    assert.match(linked.stderr, /link is a symbolic link.*--follow-symlinks/);
    const follow = await run(['import', deep, ...into('deep'), '--subfolders', '--follow']);
    assert.equal(follow.code, 2);
    assert.match(follow.stderr, /--follow reads one folder\. Leave out --subfolders\./);
  });

  it('summarizes very many files', async () => {
    const many = join(folder, 'many');
    mkdirSync(many);
    for (let at = 0; at < 60; at += 1) {
      writeFileSync(join(many, `boards-${at}.csv`), `id,title\n${at},Board\n`);
      writeFileSync(join(many, `note-${at}.txt`), '');
    }
    const { code, stdout, stderr } = await run(['import', many, ...into('many')]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^CONTENT +FILES +RECORDS\nboards +60 +60\n\n/);
    assert.match(stdout, /^Ignored files: .*note-9\.txt and 50 more$/m);
    assert.equal((await runJson(['import', many, ...into('many')])).files.length, 60);
  });

  it('reads standard input', async () => {
    const report = await runJson(
      ['import', '-', '--as', 'users', ...into('piped')],
      '{"id": 9007199254740993, "email": "z@x.example", "name": "Zoe"}\n',
    );
    assert.deepEqual([report.published, report.changes.users.added], [true, 1]);
  });

  it('names a missing file as given (exit code 1), and requires --as for an unknown file (exit code 2)', async () => {
    const missing = await run(['import', 'none/users.csv', ...into('none')]);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /^corkboard: Cannot read none\/users\.csv/);
    const nameless = await run(['import', join(bundle, 'README.txt'), ...into('none')]);
    assert.equal(nameless.code, 2);
    assert.match(nameless.stderr, /--as users\|boards/);
  });
});
