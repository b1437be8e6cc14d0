/** `corkboard pull` as a command: the sources of the key, and the output. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { openHostileServer, pageOf, syncEvent } from '../pull/hostile-server.ts';
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

it('pull accepts the key from a file, from the environment and from standard input', async () => {
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

it('pull refuses a key on the command line, and names the other ways', async () => {
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

it('pull names the first hundred of the users that a server has erased', async (t) => {
  const server = await openHostileServer('tokens');
  t.after(() => server.close());
  const gone = Array.from({ length: 150 }, (_, id) => `{"forgotten":{"user":${id + 1000}}}`);
  server.trick = ({ query }) =>
    query.get('since') === 'start' ? pageOf([...gone, syncEvent(0)]) : undefined;
  const { code, stdout, stderr } = await run(
    ['pull', server.url, '--organization', 'erased', '--data', join(folder, 'data'), '--json'],
    { environment: { CORKBOARD_PULL_KEY: 'key' } },
  );
  assert.equal(code, 0, stderr);
  assert.match(stderr, /erased in erased, too: 1000, 1001,.* 1099 and 50 more users\.\n$/);
  assert.equal(JSON.parse(stdout).gone.forgotten.length, 150);
});

it('pull separates organizations of which one has the name of the lock file of the other', async () => {
  const environment = { CORKBOARD_PULL_KEY: world.keys.full };
  // The lock file of an earlier version of Corkboard.
  mkdirSync(join(folder, 'data', '.pull'), { recursive: true });
  writeFileSync(join(folder, 'data', '.pull', 'seven.lock'), '');
  for (const organization of ['Seven', 'seven.lock', 'seven']) {
    const { code, stderr } = await run(words(organization), { environment });
    assert.equal(code, 0, stderr);
  }
});

it('pull reports a refusal of the server in one sentence', async () => {
  const { code, stderr } = await run([...words('six'), '--key', '-'], { input: world.keys.revoked });
  assert.equal(code, 1);
  assert.match(stderr, /^corkboard: Cannot pull from the server: it responded with status 401/);
});
