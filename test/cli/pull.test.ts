/** `corkboard pull` as a command: where the key may come from, and what it says. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { openWorld, type World } from '../world.ts';
import { run, temporaryFolder } from './command.ts';

const folder = temporaryFolder();
let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world.close());

function words(organization: string): string[] {
  return ['pull', `${world.url}/a`, '--organization', organization, '--data', join(folder, 'data')];
}

it('takes the key from a file, from the environment and from standard input', async () => {
  const file = join(folder, 'key');
  writeFileSync(file, `${world.keys.full}\n`);
  const ways = [
    await run([...words('one'), '--key-file', file]),
    await run(words('two'), { environment: { CORKBOARD_PULL_KEY: world.keys.full } }),
    await run([...words('three'), '--key', '-', '--json'], { input: world.keys.full }),
  ];
  for (const { code, stderr } of ways) assert.equal(code, 0, stderr);
  assert.match(ways[0]?.stdout ?? '', /Published as version .* of one/);
  const { organization, outcome, import: report } = JSON.parse(ways[2]?.stdout ?? '');
  assert.deepEqual([organization, outcome, report.outcome], ['three', 'pulled', 'published']);
});

it('takes no key that others can see, and says how to give it', async () => {
  for (const [more, reason] of [
    [['--key', world.keys.full], /visible in the process list/],
    [[], /No key was given/],
    [['--key', '-', '--key-file', 'x'], /not both/],
  ] as const) {
    const { code, stderr } = await run([...words('four'), ...more], {
      environment: { CORKBOARD_PULL_KEY: undefined },
    });
    assert.equal(code, 2);
    assert.match(stderr, reason);
    assert.ok(!stderr.includes(world.keys.full));
  }
  const inUrl = await run(['pull', 'http://key@host/a', '--organization', 'five', '--key', '-'], {
    input: 'x',
  });
  assert.equal(inUrl.code, 2);
});

it('keeps apart organizations of which one is called like a lock of the other', async () => {
  const environment = { CORKBOARD_PULL_KEY: world.keys.full };
  // As an earlier version has left it.
  mkdirSync(join(folder, 'data', '.pull'), { recursive: true });
  writeFileSync(join(folder, 'data', '.pull', 'seven.lock'), '');
  for (const organization of ['Seven', 'seven.lock', 'seven']) {
    const { code, stderr } = await run(words(organization), { environment });
    assert.equal(code, 0, stderr);
  }
});

it('says in one sentence what the server refuses', async () => {
  const { code, stderr } = await run([...words('six'), '--key', '-'], { input: world.keys.revoked });
  assert.equal(code, 1);
  assert.match(stderr, /^corkboard: Cannot pull from the server: it responded with status 401/);
});
