/** What commands say when a version file is damaged or missing. */
import assert from 'node:assert/strict';
import { cpSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, it } from 'node:test';
import { run, runJson, temporaryFolder } from './command.ts';
import { writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();
const original = join(folder, 'data');
const data = join(folder, 'damaged');
const current = join(data, 'organizations', 'school', 'generations', '2.duckdb');
const school = ['--organization', 'school'];
const bundle = writeSmallBundle(join(folder, 'bundle'));

before(async () => {
  await runJson(['import', bundle, ...school, '--data', original]);
  const words = ['organizations', 'configure', 'school', '--title', 'Second', '--keep-events', '400d'];
  await runJson([...words, '--data', original]);
});

const DAMAGE: Readonly<Record<string, () => void>> = {
  missing: () => rmSync(current),
  empty: () => truncateSync(current),
  overwritten: () => writeFileSync(current, Buffer.alloc(20_000, 'x')),
  'cut after its first blocks': () => truncateSync(current, 20_000),
};

const COMMANDS: readonly (readonly string[])[] = [
  ['import', bundle, ...school],
  ['organizations', 'configure', 'school', '--title', 'Third'],
  ['organizations', 'show', 'school'],
  ['forget', ...school, '--user', '1'],
  ['versions', 'list', ...school],
  ['versions', 'diff', ...school, '1', '2'],
  ['rollback', ...school, '--to', '1'],
  ['expire', ...school],
  ['export', join(folder, 'export'), ...school],
  ['backup', join(folder, 'backup')],
  ['points', 'explain', ...school, '--board', '1', '--user', '1'],
];

for (const [damage, apply] of Object.entries(DAMAGE)) {
  it(`a version file that is ${damage}: every command refers to check, which names it`, async () => {
    rmSync(data, { recursive: true, force: true });
    cpSync(original, data, { recursive: true });
    apply();
    for (const words of COMMANDS) {
      const { code, stderr } = await run([...words, '--data', data]);
      assert.equal(code, 1, words.join(' '));
      assert.match(stderr, /^corkboard: The file of a version .* "corkboard check" says what to do\.\n$/);
    }
    const { code, stdout } = await run(['check', '--data', data]);
    assert.equal(code, 1);
    assert.doesNotMatch(stdout, /"corkboard check"/);
    assert.match(
      stdout,
      /generations\/2\.duckdb .*corkboard restore BACKUP --replace --organization "school"/,
    );
  });
}
