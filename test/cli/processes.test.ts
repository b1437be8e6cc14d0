/**
 * Commands in separate processes, one of each kind: the shell gets the exit code and both outputs,
 * and nothing prevents a process from ending. Other tests cover the commands inside the test
 * process.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { IS_LONG } from '../long.ts';
import { openHostileServer } from '../pull/hostile-server.ts';
import { newMigratedDatabase } from '../storage.ts';
import { run, runJson, runProcess, temporaryFolder } from './command.ts';
import { writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();
const data = join(folder, 'data');
const school = ['--organization', 'school', '--data', data];

describe('a command as a process', () => {
  before(() => runJson(['import', writeSmallBundle(join(folder, 'bundle')), ...school]));

  for (const [what, words, code] of [
    ['succeeds', ['organizations', 'list', '--data', data], 0],
    ['prints its help', ['keys', 'create', '--help'], 0],
    ['is refused', ['organizations', 'show', 'none', '--data', data], 1],
    ['is misused', ['keys', 'lits', '--data', data], 2],
  ] as const) {
    it(`that ${what} ends with exit code ${code}, and prints the same as inside the test process`, async () => {
      const result = await runProcess(words);
      assert.equal(result.code, code, result.stderr);
      assert.deepEqual(await run(words), result);
    });
  }

  it('reads its environment and a pipe on standard input', async () => {
    const words = ['import', '-', '--as', 'users', '--organization', 'piped', '--json'];
    const input = '{"id": 5, "email": "z@x.example", "name": "Zoe"}\n';
    const { code, stdout, stderr } = await runProcess(words, {
      input,
      environment: { CORKBOARD_DATA: data },
    });
    assert.deepEqual([code, stderr], [0, '']);
    assert.equal(JSON.parse(stdout).changes.users.added, 1);
  });

  it('ends by itself, for every command', async () => {
    const server = await openHostileServer('tokens');
    const database = ['--database', await newMigratedDatabase()];
    writeFileSync(join(folder, 'key'), 'key');
    // What these open, the others and the import above open too.
    const openingTheSame = [
      ['organizations', 'configure', 'school', '--title', 'School', '--data', data],
      ['keys', 'create', ...school],
      ['points', 'explain', '--board', '7', '--user', '1', ...school],
      ['forget', '--user', '2', ...school],
      ['migrate', ...database],
    ];
    try {
      for (const words of [
        ['import', join(folder, 'bundle'), '--organization', 'school', ...database],
        ['export', join(folder, 'out'), ...school, '--format', 'parquet'],
        ['pull', server.url, '--organization', 'pulled', '--key-file', join(folder, 'key'), '--data', data],
        ['copy', '--from', data, '--to', join(folder, 'copied')],
        ['prefetch', ...database],
        ...(IS_LONG ? openingTheSame : []),
      ]) {
        const { code, stderr } = await runProcess(words);
        assert.equal(code, 0, `${words[0]}: ${stderr}`);
      }
    } finally {
      await server.close();
    }
  });
});
