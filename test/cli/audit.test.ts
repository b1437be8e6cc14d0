import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { withDatabase } from '../../src/cli/process/database.ts';
import { IS_LONG } from '../long.ts';
import { run, runJson, runProcess, temporaryFolder } from './command.ts';
import { newPlace, PLACE_KINDS, type Place } from './places.ts';
import { ask, serving, stop } from './serving.ts';
import { writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();

// biome-ignore lint/suspicious/noExplicitAny: what comes out is what the tests are about
async function recordsOf({ words }: Place, ...more: readonly string[]): Promise<any[]> {
  const { code, stdout, stderr } = await run(['audit', '--json', ...more, ...words]);
  assert.equal(code, 0, stderr);
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

/** The records that `words` adds. The command succeeds. */
// biome-ignore lint/suspicious/noExplicitAny: what comes out is what the tests are about
async function recordsBy(place: Place, words: readonly string[]): Promise<any[]> {
  const former = (await recordsOf(place)).length;
  const { code, stderr } = await run([...words, ...place.words]);
  assert.equal(code, 0, stderr);
  return (await recordsOf(place)).slice(former);
}

const bundle = writeSmallBundle(join(folder, 'bundle'));
const policy = (length: number) => {
  const path = join(folder, `policy-${length}.json`);
  writeFileSync(path, `{"rules":[]}${' '.repeat(length)}`);
  return path;
};

for (const kind of PLACE_KINDS) {
  // Commands record the same in both kinds; the commands below that take longest do so in a folder.
  const isWhole = kind === 'folder' || IS_LONG;

  describe(`the audit of a ${kind}`, () => {
    let place: Place;
    const school = ['--organization', 'school'];
    before(async () => {
      place = await newPlace(kind, folder);
      await run(['organizations', 'create', 'school', '--id', '9007199254740993', ...place.words]);
    });

    it('has a record of who changed what, when and with which command', async () => {
      const [record, ...others] = await recordsOf(place);
      assert.deepEqual(others, []);
      assert.match(record.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assert.ok(Math.abs(Date.parse(record.time) - Date.now()) < 600_000);
      assert.deepEqual(
        [record.command, record.organization, record.user, record.host, record.sequence],
        ['organizations create', 'school', userInfo().username, hostname(), 1],
      );
      const { stdout } = await run(['audit', '--json', ...place.words]);
      assert.match(stdout, /"after":\{"id":9007199254740993,"title":"school"/);
    });

    it('names the user who used sudo', async () => {
      const words = ['keys', 'create', ...school, ...place.words];
      await run(words, { environment: { SUDO_USER: 'grace' } });
      const [record] = (await recordsOf(place)).slice(-1);
      assert.equal(record.sudoUser, 'grace');
      const { stdout } = await run(['audit', ...place.words]);
      assert.match(stdout, new RegExp(`  grace as ${record.user}@.*  keys create  school\n`));
    });

    it('has the files, counts and version of an import, once', async () => {
      const [record, ...others] = await recordsBy(place, ['import', bundle, ...school]);
      const { version } = await runJson(['organizations', 'show', 'school', ...place.words]);
      assert.deepEqual(others, []);
      assert.equal(record.command, 'import');
      assert.equal(record.what.version, version);
      assert.deepEqual(record.what.counts.users, { added: 3, changed: 0, deleted: 0 });
      assert.deepEqual(
        record.what.files.map((path: string) => path.split('/').at(-1)),
        ['users.csv', 'boards.csv', 'pins.csv', 'events.csv'],
      );
      assert.deepEqual(await recordsBy(place, ['import', bundle, ...school]), []);
      assert.deepEqual(await recordsBy(place, ['import', bundle, ...school, '--dry-run']), []);
    });

    if (isWhole)
      it('has every publication of an import that follows its input', async () => {
        const former = (await recordsOf(place)).length;
        const line = (second: number) =>
          `{"type":"pin","action":"visited","owner_id":1,"actor_id":2,"board_id":7,"pin_id":70,"timestamp":"2024-02-01T10:00:0${second}Z"}\n`;
        const words = ['import', '-', '--follow', '--every', '1', ...school, ...place.words];
        const { code, stderr } = await runProcess(words, { input: line(1) });
        assert.equal(code, 0, stderr);
        const [record, ...others] = (await recordsOf(place)).slice(former);
        assert.deepEqual(others, []);
        assert.equal(record.command, 'import --follow');
        assert.deepEqual(record.what.counts, { events: { added: 1, changed: 0, deleted: 0 } });
      });

    it('has settings before and after, and only the digest of a long policy', async () => {
      const configure = ['organizations', 'configure', 'school'];
      const words = ['--title', 'Renamed', '--longest-key-life', '400d', '--policy', policy(10)];
      const records = await recordsBy(place, [...configure, ...words]);
      assert.deepEqual(
        records.map(({ command, what: { before: former, after: present } }) => [command, former, present]),
        [
          [
            'organizations configure',
            { title: 'school', policy: '' },
            { title: 'Renamed', policy: `{"rules":[]}${' '.repeat(10)}` },
          ],
          ['organizations configure', { longestKeyLifeMs: null }, { longestKeyLifeMs: 400 * 86_400_000 }],
        ],
      );
      const [long] = await recordsBy(place, [...configure, '--policy', policy(5000)]);
      assert.equal(long.what.after.policy.bytes, 5012);
      assert.match(long.what.after.policy.sha256, /^[0-9a-f]{64}$/);
      assert.deepEqual(await recordsBy(place, [...configure, '--title', 'Renamed']), []);
    });

    it('has the grant of a key before and after a change, without the key and ids of users', async () => {
      const create = ['keys', 'create', ...school, '--boards', '7', '--users', '1,2', '--label', 'for Ada'];
      const made = await runJson([...create, '--expires', '2027-01-31T00:00:00Z', ...place.words]);
      const [created] = (await recordsOf(place)).slice(-1);
      assert.deepEqual(created.what, {
        key: made.id,
        after: {
          ...{ boards: [7], users: 2, redact: [], lmsLookup: true, lmsIds: false, lmsSplits: [] },
          ...{ rateLimit: null, networks: 'any' },
          expires: '2027-01-31T00:00:00.000Z',
        },
      });
      const changes = ['--users', '2,3', '--redact', 'email', '--networks', '10.0.0.0/8', '--label', 'new'];
      changes.push('--lms-splits', 'cohort');
      const [changed] = await recordsBy(place, ['keys', 'configure', made.id, ...changes]);
      assert.deepEqual(changed.what, {
        key: made.id,
        before: { redact: [], lmsLookup: true, lmsSplits: [], networks: 'any' },
        after: { redact: ['email'], lmsLookup: false, lmsSplits: ['cohort'], networks: ['10.0.0.0/8'] },
        ...{ usersAdded: 1, usersRemoved: 1, labelChanged: true },
      });
      const [allowed] = await recordsBy(place, [
        ...['keys', 'configure', made.id, '--redact', 'none', '--allow-lms-lookup'],
      ]);
      assert.deepEqual(allowed.what.after, { redact: [], lmsLookup: true, lmsIds: true, lmsSplits: [] });
      const [refused] = await recordsBy(place, ['keys', 'configure', made.id, '--no-allow-lms-lookup']);
      assert.deepEqual(refused.what, { key: made.id, before: { lmsIds: true }, after: { lmsIds: false } });
      const rotated = await runJson(['keys', 'rotate', made.id, '--overlap', '0s', ...place.words]);
      const [rotation] = (await recordsOf(place)).slice(-1);
      assert.deepEqual([rotation.what.key, rotation.what.successor.key], [made.id, rotated.id]);
      const [revoked] = await recordsBy(place, ['keys', 'revoke', rotated.id]);
      assert.deepEqual([revoked.command, revoked.what.key], ['keys revoke', rotated.id]);
      assert.deepEqual(revoked.what.before, { revoked: null });
      assert.deepEqual(await recordsBy(place, ['keys', 'revoke', rotated.id]), []);
      const { stdout } = await run(['audit', '--json', ...place.words]);
      for (const secret of [made.key, rotated.key, 'for Ada']) assert.ok(!stdout.includes(secret));
    });

    if (isWhole)
      it('has what takes data out: exports, backups and copies, the latter in both stores', async () => {
        const [exported] = await recordsBy(place, ['export', join(folder, `${kind}-export`), ...school]);
        assert.deepEqual(
          [exported.command, exported.what.folder],
          ['export', join(folder, `${kind}-export`)],
        );
        const backup = join(folder, `${kind}-backup`);
        const [backedUp] = await recordsBy(place, ['backup', backup]);
        assert.deepEqual([backedUp.command, backedUp.organization], ['backup', 'school']);
        assert.ok(!readdirSync(backup).includes('audit'));
        const target = await newPlace('folder', folder);
        const from = place.options.database ?? place.options.data;
        const former = (await recordsOf(place)).length;
        const cache = place.options.cache === undefined ? [] : ['--cache', place.options.cache];
        const copy = ['copy', '--from', from, '--to', target.options.data, ...cache];
        const { code, stderr } = await run(copy);
        assert.equal(code, 0, stderr);
        const [out] = (await recordsOf(place)).slice(former);
        assert.deepEqual([out.command, out.what.to, out.what.keys], ['copy', target.options.data, true]);
        const [copied, ...others] = await recordsOf(target);
        assert.deepEqual(others, []);
        assert.deepEqual([copied.command, copied.what.source], ['copy', from]);
        const [restored] = await recordsBy(target, ['restore', backup, '--replace']);
        assert.deepEqual(
          [restored.command, restored.what.source, restored.what.replaced],
          ['restore', backup, copied.what.version],
        );
      });

    it('has only the number of users who were erased, and nothing about them', async () => {
      const [record, ...others] = await recordsBy(place, ['forget', '--user', '2', ...school]);
      const { version } = await runJson(['organizations', 'show', 'school', ...place.words]);
      assert.deepEqual(others, []);
      assert.deepEqual([record.command, record.what], ['forget', { version, users: 1 }]);
      const { stdout } = await run(['audit', '--json', ...place.words]);
      for (const personal of ['bob@x.example', 'Bob', 'bob']) assert.ok(!stdout.includes(personal), personal);
    });

    if (isWhole)
      it('has rollbacks', async () => {
        await run(['organizations', 'configure', 'school', '--title', 'Other', ...place.words]);
        const [record] = await recordsBy(place, ['rollback', ...school]);
        assert.equal(record.command, 'rollback');
        assert.match(record.what.restored, /^\d+-/);
        assert.deepEqual(record.what.after, { title: 'Renamed' });
      });

    it('has no record of a command that was refused', async () => {
      const former = (await recordsOf(place)).length;
      for (const words of [
        ['keys', 'revoke', 'abcdefghijkl'],
        ['organizations', 'create', 'SCHOOL'],
        ['forget', '--user', '77', ...school],
        ['import', join(folder, 'absent.csv'), ...school],
      ]) {
        assert.equal((await run([...words, ...place.words])).code, 1, words.join(' '));
      }
      assert.equal((await recordsOf(place)).length, former);
    });

    it('is listed by organization, time and command', async () => {
      const all = await recordsOf(place);
      await run(['organizations', 'create', 'other', ...place.words]);
      assert.equal((await recordsOf(place, '--organization', 'OTHER')).length, 1);
      assert.equal((await recordsOf(place, '--since', all[5].time)).length, all.length - 4);
      const commands = (await recordsOf(place, '--command', 'keys')).map(({ command }) => command);
      assert.deepEqual(
        new Set(commands),
        new Set(['keys create', 'keys configure', 'keys rotate', 'keys revoke']),
      );
      assert.deepEqual(await recordsOf(place, '--command', 'key'), []);
      assert.equal((await run(['audit', '--since', 'yesterday', ...place.words])).code, 2);
    });

    it('is in order according to check', async () => {
      const { ok, findings } = await runJson(['check', ...place.words]);
      assert.equal(ok, true, JSON.stringify(findings));
    });
  });
}

describe('check', () => {
  it('names the file and the line of a changed audit record in a folder', async () => {
    const { words, options } = await newPlace('folder', folder);
    await run(['organizations', 'create', 'school', ...words]);
    const path = join(options.data, 'audit', 'administration-000000000001.ndjson');
    writeFileSync(path, readFileSync(path, 'utf8').replace('"school"', '"skool!"'));
    const { code, stdout } = await run(['check', ...words]);
    assert.equal(code, 1);
    assert.match(
      stdout,
      /Damage: audit\/administration-000000000001\.ndjson, line 1: the record was changed/,
    );
  });

  it('names the row of a removed audit record in a database', async () => {
    const { words, options } = await newPlace('database', folder);
    for (const name of ['one', 'two', 'three']) await run(['organizations', 'create', name, ...words]);
    await withDatabase(options.database!, (database) =>
      database.rows('DELETE FROM audit WHERE sequence = 2'),
    );
    const { code, stdout } = await run(['check', ...words]);
    assert.equal(code, 1);
    assert.match(stdout, /Damage: table audit, row 3: before it, audit record 2 was removed/);
    await withDatabase(options.database!, (database) =>
      database.rows('DELETE FROM audit WHERE sequence = 3'),
    );
    assert.match((await run(['check', ...words])).stdout, /At the end, audit records 2 to 3 were removed/);
  });

  for (const kind of PLACE_KINDS) {
    it(`finds the loss of all records of a ${kind} until they are said to be archived`, async () => {
      const place = await newPlace(kind, folder);
      const { words, options } = place;
      for (const name of ['one', 'two']) await run(['organizations', 'create', name, ...words]);
      const early = await run(['audit', 'archived', '--before', '3', ...words]);
      assert.deepEqual([early.code, early.stderr], [1, 'corkboard: The first audit record is here.\n']);
      if (kind === 'folder') rmSync(join(options.data, 'audit'), { recursive: true });
      else await withDatabase(options.database!, (database) => database.rows('DELETE FROM audit'));
      assert.match(
        (await run(['check', ...words])).stdout,
        /At the end, .*"corkboard audit archived --before 3"/,
      );
      await run(['organizations', 'create', 'three', ...words]);
      const lost = await run(['check', ...words]);
      assert.equal(lost.code, 1);
      assert.match(lost.stdout, /Damage: .* audit records 1 to 2 were not here/);
      assert.match(
        (await run(['audit', ...words])).stdout,
        /no audit record was left; the last one was number 2/,
      );

      assert.equal((await run(['audit', 'archived', '--before', '2', ...words])).code, 1);
      const scoped = await run(['audit', 'archived', '--before', '3', '--organization', 'one', ...words]);
      assert.equal(scoped.code, 2);
      assert.deepEqual(await runJson(['audit', 'archived', '--before', '3', ...words]), { before: 3 });
      const [record] = (await recordsOf(place)).slice(-1);
      assert.deepEqual([record.command, record.what], ['audit archived', { before: 3 }]);
      const checked = await run(['check', ...words]);
      assert.equal(checked.code, 0, checked.stdout);
      assert.match(checked.stdout, /Note: The audit records 1 to 2 are not here/);
    });
  }

  it('finds a row of the audit after the last record in a database', async () => {
    const { words, options } = await newPlace('database', folder);
    for (const name of ['one', 'two']) await run(['organizations', 'create', name, ...words]);
    await withDatabase(options.database!, async (database) => {
      await database.rows(`UPDATE audit_head SET sequence = 1, digest = repeat('0', 64)`);
    });
    const { code, stdout } = await run(['check', ...words]);
    assert.equal(code, 1);
    assert.match(stdout, /At the end, audit record 2 was added by no command/);
  });
});

const needsLimits = process.getuid?.() === 0 && 'the superuser may write to every folder';

describe('a change that cannot be recorded', () => {
  it('is in force, and the command says so and ends with 1', { skip: needsLimits }, async () => {
    const { words, options } = await newPlace('folder', folder);
    await run(['organizations', 'create', 'school', ...words]);
    chmodSync(join(options.data, 'audit'), 0o500);
    const { code, stdout, stderr } = await run(['keys', 'create', ...words]);
    chmodSync(join(options.data, 'audit'), 0o700);
    assert.equal(code, 1);
    assert.match(stdout, /^key /m);
    assert.match(stderr, /The change is in force, but the audit has no record of it/);
  });

  it('is in force when a file is in the place of the folder', async () => {
    const { words, options } = await newPlace('folder', folder);
    mkdirSync(options.data);
    writeFileSync(join(options.data, 'audit'), '');
    const { code, stdout, stderr } = await run(['organizations', 'create', 'school', ...words]);
    assert.equal(code, 1);
    assert.match(stdout, /Created organization school/);
    assert.match(stderr, /The change is in force, but the audit has no record of it \(.+\)\. Write it down/);
    assert.ok(statSync(join(options.data, 'audit')).isFile());
  });
});

describe('the access records of a folder', () => {
  it('are written by all workers, listed, and verified by check', async (t) => {
    const { words, options } = await newPlace('folder', folder);
    await run(['import', bundle, '--organization', 'school', ...words]);
    const { key, id } = await runJson(['keys', 'create', ...words]);
    const server = await serving(t, ['serve', '--workers', '2', '--audit-access', ...words]);
    const url = server.printed['Variant B']!;
    for (let at = 0; at < 6; at += 1) assert.equal((await ask(`${url}/v1/events`, key)).status, 200);
    await ask(`${url}/v1/users?email=bob%40x.example`, key);
    await stop(server, 'SIGTERM');
    const { stdout } = await run(['audit', '--access', '--json', '--organization', 'school', ...words]);
    const records = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.equal(records.length, 7);
    assert.deepEqual(new Set(records.map((record) => record.key)), new Set([id]));
    const times = records.map(({ time }) => time);
    assert.deepEqual(times, times.toSorted());
    const lines = await run(['audit', '--access', ...words]);
    assert.match(
      lines.stdout,
      new RegExp(`Z {2}school {2}${id} {2}GET /b/v1/events {2}200 {2}json {2}3 rows, \\d+ bytes`),
    );
    assert.equal((await run(['check', ...words])).code, 0);

    await run(['forget', '--user', '2', '--organization', 'school', ...words]);
    const audit = join(options.data, 'audit');
    for (const name of readdirSync(audit)) {
      const text = readFileSync(join(audit, name), 'utf8');
      for (const personal of ['bob@', 'bob%40', 'Bob']) assert.ok(!text.includes(personal), name);
    }

    const file = readdirSync(audit).find((name) => name.startsWith('access-'))!;
    const changed = readFileSync(join(audit, file), 'utf8').replace('"status":200', '"status":401');
    writeFileSync(join(audit, file), changed);
    const checked = await run(['check', ...words]);
    assert.equal(checked.code, 1);
    assert.match(checked.stdout, new RegExp(`Damage: ${file}, line 1: the record was changed`));
  });

  it('require a folder with a database, and a folder that can be written', async () => {
    const { words } = await newPlace('database', folder);
    for (const command of [
      ['serve', '--audit-access'],
      ['audit', '--access'],
    ]) {
      const { code, stderr } = await run([...command, ...words]);
      assert.deepEqual([code, stderr.includes('--audit-folder')], [2, true], stderr);
    }
    const place = await newPlace('folder', folder);
    const serve = ['serve', '--workers', '1', '--port', '0', '--audit-access', ...place.words];
    const { code, stderr } = await run([...serve, '--audit-folder', join(bundle, 'users.csv')]);
    assert.equal(code, 1);
    assert.match(stderr, /Access records cannot be written \(.*\)\. --audit-folder must name a folder/);
  });
});
