import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { run, runJson, temporaryFolder } from './command.ts';

const folder = temporaryFolder();
const file = join(folder, 'users.csv');
const keyFile = join(folder, 'key');
const one = join(folder, 'one');
const two = join(folder, 'two');
const missing = join(folder, 'missing');

/** Commands that require an organization. */
const COMMANDS: readonly (readonly string[])[] = [
  ['import', file],
  ['import', file, '--dry-run'],
  ['import', '-', '--follow'],
  ['pull', 'http://127.0.0.1:9/a', '--key-file', keyFile],
  ['export', join(folder, 'bundle')],
  ['forget', '--user', '3'],
  ['points', 'explain', '--board', '7', '--user', '3'],
  ['keys', 'create'],
];

before(async () => {
  writeFileSync(file, 'id,email,first_name,last_name\n3,ada@example.org,Ada,Lovelace\n');
  writeFileSync(keyFile, 'cork_any');
  for (const [data, names] of [
    [one, ['School']],
    [two, ['school', 'college']],
  ] as const) {
    for (const name of names) await runJson(['organizations', 'create', name, '--data', data]);
  }
});

describe('a command that requires an organization', () => {
  it('uses the only one of the store', async () => {
    const data = ['--data', one];
    assert.equal((await runJson(['import', file, ...data])).organization, 'School');
    assert.equal((await runJson(['import', file, '--dry-run', ...data])).organization, 'School');
    assert.equal((await runJson(['keys', 'create', ...data])).organization, 'School');
    assert.equal((await runJson(['export', join(folder, 'bundle'), ...data])).organization, 'School');
    const followed = await run(['import', '-', '--follow', '--as', 'users', '--json', ...data], {
      input: '{"id":4,"email":"b@example.org","first_name":"B","last_name":"B"}\n',
    });
    assert.match(followed.stdout, /"organization":"School"/);
    const explained = await run(['points', 'explain', '--board', '7', '--user', '3', ...data]);
    assert.match(explained.stderr, /^corkboard: School has no board 7/);
    assert.equal((await runJson(['forget', '--user', '3', ...data])).published, true);
    const refusing = createServer((_request, response) => response.writeHead(401).end()).listen(
      0,
      '127.0.0.1',
    );
    after(() => refusing.close());
    await once(refusing, 'listening');
    const { port } = refusing.address() as AddressInfo;
    const pulled = await run(['pull', `http://127.0.0.1:${port}/a`, '--key-file', keyFile, ...data]);
    assert.deepEqual([pulled.code, /401/.test(pulled.stderr)], [1, true], pulled.stderr);
  });

  it('uses the one in CORKBOARD_ORGANIZATION; the option wins over it', async () => {
    const environment = { CORKBOARD_ORGANIZATION: 'college' };
    const created = ['keys', 'create', '--json', '--data', two];
    const { stdout } = await run(created, { environment });
    assert.equal(JSON.parse(stdout).organization, 'college');
    const named = await run([...created, '-o', 'school'], { environment });
    assert.equal(JSON.parse(named.stdout).organization, 'school');
    // Also where it creates one.
    const imported = await run(['import', file, '--json', '--data', join(folder, 'new')], { environment });
    assert.equal(JSON.parse(imported.stdout).organization, 'college');
    // An empty variable counts as not set.
    const unset = await run(created, { environment: { CORKBOARD_ORGANIZATION: '' } });
    assert.equal(unset.code, 2);
  });

  it('is not restricted by the variable if it requires none', async () => {
    const environment = { CORKBOARD_ORGANIZATION: 'college' };
    const { stdout } = await run(['keys', 'list', '--json', '--data', two], { environment });
    const names = new Set(JSON.parse(stdout).map((key: { organization: string }) => key.organization));
    assert.deepEqual(names, new Set(['college', 'school']));
  });

  for (const words of COMMANDS) {
    it(`"${words.slice(0, 2).join(' ')}" is misuse without a name if there are several, or none`, async () => {
      const several = await run([...words, '--data', two]);
      assert.deepEqual([several.code, several.stdout], [2, '']);
      assert.match(
        several.stderr,
        /^corkboard: There are 2 organizations \("corkboard organizations list"\)\. Name one with --organization NAME or CORKBOARD_ORGANIZATION\.$/m,
      );
      const none = await run([...words, '--data', missing]);
      assert.deepEqual([none.code, none.stdout], [2, '']);
      assert.match(
        none.stderr,
        /^corkboard: There is no organization yet\. "corkboard import" creates the one/,
      );
      assert.ok(!existsSync(missing));
    });
  }
});
