import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { run, runJson, temporaryFolder } from './command.ts';
import { writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();
const data = ['--data', join(folder, 'data')];
const of = (organization: string) => ['--organization', organization, ...data];

describe('export', () => {
  before(async () => {
    await runJson(['import', writeSmallBundle(join(folder, 'bundle')), ...of('school')]);
    await run(['organizations', 'create', 'empty', ...data]);
  });

  for (const [format, compression, ending] of [
    ['ndjson', 'none', '.ndjson'],
    ['csv', 'gzip', '.csv.gz'],
    ['ndjson', 'zstd', '.ndjson.zst'],
    ['parquet', 'none', '.parquet'],
  ] as const) {
    it(`as ${format}, ${compression}, changes nothing when it is imported into the same organization`, async () => {
      const out = join(folder, `${format}-${compression}`);
      const options = ['--format', format, '--compression', compression];
      const exported = await runJson(['export', out, ...options, ...of('school')]);
      assert.equal(exported.organization, 'school');
      const events = exported.files.find(({ name }: { name: string }) => name === `events${ending}`);
      assert.equal(events.records, 3);
      const names = readdirSync(out);
      assert.ok(names.includes('organization.json'));
      for (const name of names) assert.equal(statSync(join(out, name)).mode & 0o077, 0, name);
      assert.equal((await runJson(['import', out, ...of('school')])).outcome, 'unchanged');
    });
  }

  it('of one user has what is stored about the user, and nothing about others but ids', async () => {
    const out = join(folder, 'bob');
    const { files } = await runJson(['export', out, '--user', '2', ...of('school')]);
    assert.deepEqual(
      files.map(({ name, records }: { name: string; records: number }) => [name, records]),
      [
        ['users.csv', 1],
        ['boards.csv', 2],
        ['events.csv', 2],
      ],
    );
    const names = readdirSync(out);
    const texts = names.map((name) => readFileSync(join(out, name), 'utf8')).join('\n');
    assert.match(texts, /bob@x\.example/);
    assert.match(texts, /Board 7 Rhetoric\n\n.*pin\.commented/s);
    for (const other of ['ada@x.example', 'eve@x.example', 'Ada L', 'Eve E', 'Irony'])
      assert.ok(!texts.includes(other), other);
    for (const name of names) assert.equal(statSync(join(out, name)).mode & 0o077, 0, name);
    const unknown = await run(['export', join(folder, 'unknown'), '--user', '99', ...of('school')]);
    assert.equal(unknown.code, 1);
    assert.match(unknown.stderr, /school has no user 99/);
  });

  it('is imported with its settings only with --settings', async () => {
    const policy = join(folder, 'policy.json');
    writeFileSync(policy, '{"goal": 7}');
    await runJson(['organizations', 'configure', 'school', '--policy', policy, '--title', 'Arts', ...data]);
    const out = join(folder, 'with-settings');
    await runJson(['export', out, ...of('school')]);
    const without = await run(['import', out, ...of('without')]);
    assert.match(
      without.stdout,
      /^Settings not imported without --settings: \S+organization\.json, \S+policy\.json$/m,
    );
    const { settingsTaken } = await runJson(['import', out, ...of('copy'), '--settings']);
    assert.equal(settingsTaken, true);
    const show = (name: string) => runJson(['organizations', 'show', name, ...data]);
    const [original, copy] = [await show('school'), await show('copy')];
    assert.deepEqual([copy.id, copy.title, copy.policy], [original.id, 'Arts', original.policy]);
    assert.equal((await show('without')).policy.goal, 100);
    const followed = await run(['import', out, '--follow', '--settings', ...of('copy')]);
    assert.equal(followed.code, 2);
  });

  it('prints the files and the version that it wrote', async () => {
    const { code, stdout, stderr } = await run(['export', join(folder, 'said'), ...of('school')]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^events\.ndjson +3$/m);
    assert.match(stdout, /^Exported version \S+ of school to /m);
  });

  for (const [what, args, code, message] of [
    ['a folder that is not empty', [join(folder, 'bundle'), ...of('school')], 2, /is not empty/],
    ['an unknown organization', [join(folder, 'x'), ...of('unknown')], 1, /unknown/],
    ['an organization without data', [join(folder, 'x'), ...of('empty')], 1, /nothing to export/],
    [
      'a folder without data',
      [join(folder, 'x'), '--organization', 'school', '--data', join(folder, 'none')],
      1,
      /contains no Corkboard data\. Check the folder in --data/,
    ],
    [
      'compressed Parquet',
      [join(folder, 'x'), '--format', 'parquet', '--compression', 'gzip', ...of('school')],
      2,
      /always compressed/,
    ],
  ] as const) {
    it(`refuses ${what}, and leaves no files`, async () => {
      const result = await run(['export', ...args]);
      assert.equal(result.code, code, result.stderr);
      assert.match(result.stderr, message);
      assert.ok(!readdirSync(folder).some((name) => name === 'x' || name.endsWith('.tmp')));
    });
  }
});
