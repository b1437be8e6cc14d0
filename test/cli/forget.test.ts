import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { run, runJson, temporaryFolder } from './command.ts';
import { writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();
const data = join(folder, 'data');
const school = ['--organization', 'school', '--data', data];
const bundle = () => writeSmallBundle(join(folder, 'bundle'));
const ADDRESS = 'bob@x.example';

/** The version files that contain a text. */
function generationsWith(text: string): string[] {
  const generations = join(data, 'organizations', 'school', 'generations');
  return readdirSync(generations).filter((name) => readFileSync(join(generations, name)).includes(text));
}

describe('forget', () => {
  before(async () => {
    await runJson(['import', bundle(), ...school]);
    await runJson(['organizations', 'configure', 'school', '--title', 'Renamed', '--data', data]);
  });

  it('erases a user from the current version and from earlier ones (decision 54)', async () => {
    assert.deepEqual(generationsWith(ADDRESS), ['1.duckdb', '2.duckdb']);
    const { published, erasedEvents, users } = await runJson(['forget', '--user', '2', ...school]);
    assert.deepEqual([published, erasedEvents, users], [true, 2, [2]]);
    assert.deepEqual(generationsWith(ADDRESS), []);
    assert.deepEqual(generationsWith('user-2@forgotten.invalid'), ['3.duckdb']);
  });

  it('makes later imports ignore and count records about the user', async () => {
    const { outcome, leftOut, problemCount } = await runJson(['import', bundle(), ...school]);
    assert.deepEqual([outcome, problemCount], ['unchanged', 0]);
    assert.ok(leftOut >= 2, `${leftOut} records`);
    const { stdout } = await run(['import', bundle(), ...school]);
    assert.match(stdout, /Ignored records about forgotten users: \d/);
  });

  it('that is killed before it has removed earlier versions is completed by the next one', async () => {
    const generations = join(data, 'organizations', 'school', 'generations');
    copyFileSync(join(generations, '3.duckdb'), join(generations, '2.duckdb'));
    assert.deepEqual(readdirSync(generations).toSorted(), ['2.duckdb', '3.duckdb', '3.manifest', 'oldest']);
    await runJson(['forget', '--user', '2', ...school]);
    assert.deepEqual(readdirSync(generations).toSorted(), ['3.duckdb', '3.manifest', 'oldest']);
  });

  it('changes nothing for a user who was forgotten before, and refuses an unknown user', async () => {
    const again = await run(['forget', '--user', '2', ...school]);
    assert.deepEqual(
      [again.code, again.stdout],
      [0, 'Nothing has changed: these users were erased before.\n'],
    );
    const unknown = await run(['forget', '--user', '1,77', ...school]);
    assert.deepEqual([unknown.code, unknown.stdout], [1, '']);
    assert.match(unknown.stderr, /school has no user 77/);
  });

  it('also happens through a record of an import, which reports the erased events', async () => {
    const file = join(folder, 'users.ndjson');
    writeFileSync(file, '{"id":1,"email":"x@x.example","name":"Ada","forgotten":true}\n');
    const tried = await runJson(['import', file, ...school, '--dry-run']);
    assert.deepEqual([tried.outcome, tried.erased], ['checked', 1]);
    const { stdout } = await run(['import', file, ...school]);
    assert.match(stdout, /Erased events of forgotten users: 1\n/);
    assert.deepEqual(generationsWith('ada@x.example'), []);
  });
});
