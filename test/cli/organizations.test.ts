import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { run, runJson, temporaryFolder } from './command.ts';
import { writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();
const data = join(folder, 'data');
const organizations = (...args: string[]) => runJson(['organizations', ...args, '--data', data]);
const runOrganizations = (args: string[], input = '') =>
  run(['organizations', ...args, '--data', data], { input });

const POLICY =
  '{"rules": [{"on": "pin.created", "to": "actor", "points": 3}], "boards": {"7": {"goal": 50}}}';

before(async () => {
  await runJson([
    'import',
    writeSmallBundle(join(folder, 'bundle')),
    '--organization',
    'school',
    '--data',
    data,
  ]);
});

describe('organizations create', () => {
  it('accepts the fields that the API shows, with ids digit for digit', async () => {
    const created = await organizations(
      ...['create', 'Harbor', '--id', '9007199254740993', '--title', 'Harbor College'],
      ...['--domain', 'harbor.example', '--category-id', '-12'],
    );
    const { name, id, title, domain, categoryId, version, events } = created;
    assert.deepEqual(
      { name, id, title, domain, categoryId, version, events },
      {
        ...{ name: 'Harbor', id: 9007199254740993n, title: 'Harbor College', domain: 'harbor.example' },
        ...{ categoryId: -12, version: null, events: 0 },
      },
    );
  });

  it('refuses a name that is taken, in any case, or invalid', async () => {
    const taken = await runOrganizations(['create', 'SCHOOL']);
    assert.deepEqual([taken.code, taken.stdout], [1, '']);
    assert.match(taken.stderr, /^corkboard: .*already exists/);
    assert.equal((await runOrganizations(['create', '../up'])).code, 1);
  });
});

describe('organizations list', () => {
  it('has numbers in names in their order', async () => {
    const place = ['--data', join(folder, 'numbered')];
    for (const name of ['org 10', 'org 7', 'Org 8'])
      await runJson(['organizations', 'create', name, ...place]);
    const list: { name: string }[] = await runJson(['organizations', 'list', ...place]);
    assert.deepEqual(
      list.map(({ name }) => name),
      ['org 7', 'Org 8', 'org 10'],
    );
  });

  it('prints a table, or an array with --json', async () => {
    const { stdout } = await runOrganizations(['list']);
    assert.match(stdout, /^NAME +ID +TITLE +DOMAIN +VERSION\n/);
    assert.match(stdout, /^school +\d+ +school +- +\S+$/m);
    const list: { name: string }[] = await organizations('list');
    assert.ok(list.some(({ name }) => name === 'school'));
  });

  it('suggests corkboard import in an empty folder', async () => {
    mkdirSync(join(folder, 'empty'));
    const { code, stdout } = await run(['--data', join(folder, 'empty'), 'organizations', 'list']);
    assert.equal(code, 0);
    assert.match(stdout, /corkboard import/);
  });
});

describe('organizations show', () => {
  it('counts events, users, boards and pins, and shows the current version and policy', async () => {
    const shown = await organizations('show', 'school');
    assert.deepEqual([shown.events, shown.users, shown.boards, shown.pins], [3, 3, 2, 1]);
    assert.equal(typeof shown.version, 'string');
    assert.equal(shown.derivedIds, 'keyed');
    assert.ok(!('secret' in shown));
    assert.deepEqual(
      shown.policy.rules.map(({ on, points }: { on: string; points: number }) => [on, points]),
      [
        ['pin.created', 10],
        ['pin.commented', 5],
      ],
    );
    const { stdout } = await runOrganizations(['show', 'school']);
    assert.match(stdout, /^events +3$/m);
    assert.match(stdout, /^points policy +default$/m);
  });

  it('reads the data folder from the environment', async () => {
    const { code } = await run(['organizations', 'show', 'school'], {
      environment: { CORKBOARD_DATA: data },
    });
    assert.equal(code, 0);
  });

  it('refuses an unknown name', async () => {
    const { code, stderr } = await runOrganizations(['show', 'none']);
    assert.equal(code, 1);
    assert.match(stderr, /^corkboard: There is no organization "none"/);
  });
});

describe('organizations configure', () => {
  it('publishes settings as the next version', async () => {
    const earlier = await organizations('show', 'school');
    const later = await organizations(
      ...['configure', 'school', '--course-lookup', 'on', '--lms-user-properties', 'login'],
      ...['--user-points-key', 'board-id'],
      ...['--title', 'School', '--domain', 'school.example', '--category-id', '5'],
    );
    assert.notEqual(later.version, earlier.version);
    assert.deepEqual(
      [later.courseLookup, later.lmsUserProperties, later.title, later.domain, later.categoryId],
      [true, ['login'], 'School', 'school.example', 5],
    );
    assert.deepEqual([earlier.userPointsKey, later.userPointsKey], ['user-id', 'board-id']);
    assert.equal(later.events, earlier.events);
  });

  it('accepts a policy from a file or standard input, prints it in the form that it accepts, and resets it', async () => {
    const file = join(folder, 'policy.json');
    writeFileSync(file, POLICY);
    const fromFile = await organizations('configure', 'school', '--policy', file);
    assert.equal(fromFile.policy.rules[0].points, 3);
    assert.equal(fromFile.policy.boards['7'].goal, 50);
    const again = await runJson(
      ['organizations', 'configure', 'school', '--policy', '-', '--data', data],
      JSON.stringify(fromFile.policy),
    );
    assert.deepEqual(again.policy, fromFile.policy);
    const reset = await organizations('configure', 'school', '--policy', 'default');
    assert.equal(reset.policy.rules[0].points, 10);
    assert.deepEqual(reset.policy.window, { from: null, until: null });
  });

  it('shows the open end of the window of a board when the organization has a window', async () => {
    const policy = { window: { from: 0, until: 100 }, boards: { 7: { window: { until: null } } } };
    const words = ['organizations', 'configure', 'school', '--policy', '-', '--data', data];
    const shown = await runJson(words, JSON.stringify(policy));
    assert.equal(shown.policy.boards['7'].window.until, null);
    const again = await runJson(words, JSON.stringify(shown.policy));
    assert.deepEqual(again.policy, shown.policy);
    await organizations('configure', 'school', '--policy', 'default');
  });

  it('refuses an invalid policy, an empty one and a missing file, and changes nothing', async () => {
    const { version } = await organizations('show', 'school');
    for (const [input, message] of [
      ['{"gaol": 100}', /gaol.*goal/],
      ['not JSON', /not valid JSON/],
      ['', /empty/],
    ] as const) {
      const refused = await runOrganizations(['configure', 'school', '--policy', '-'], input);
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, message);
    }
    const missing = await runOrganizations(['configure', 'school', '--policy', join(folder, 'none.json')]);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /Cannot read \S*none\.json/);
    assert.equal((await organizations('show', 'school')).version, version);
  });

  it('refuses settings that the data do not allow (decision 11), names the cause and changes nothing', async () => {
    const twins = writeSmallBundle(join(folder, 'twins'), {
      'users.csv': 'id,email,name,lms.login\n1,a@x.example,A,same\n2,b@x.example,B,same\n',
    });
    await runJson(['import', twins, '--organization', 'twins', '--data', data]);
    const { version } = await organizations('show', 'twins');
    const refused = await runOrganizations(['configure', 'twins', '--lms-user-properties', 'login']);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^corkboard: lms\.login: "same" belongs to two users, 1 and 2/);
    assert.equal((await organizations('show', 'twins')).version, version);
  });
});
