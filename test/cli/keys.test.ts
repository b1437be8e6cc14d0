import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { NO_REDACTION } from '../../src/domain/redaction.ts';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { openSqliteKeyring } from '../../src/keys/sqlite-keyring.ts';
import { run, runJson, temporaryFolder } from './command.ts';
import { ask, serving } from './serving.ts';

const data = temporaryFolder();
const keys = (...args: string[]) => runJson(['keys', ...args, '--data', data]);

before(async () => {
  await runJson(['organizations', 'create', 'school', '--data', data]);
  await runJson(['organizations', 'create', 'club', '--data', data]);
});

/** Looks the key up as a server does. */
async function find(key: string) {
  const keyring = openSqliteKeyring(data);
  try {
    return await keyring.find(key);
  } finally {
    await keyring.close();
  }
}

describe('keys create', () => {
  it('prints id and key, and a server finds its grants', async () => {
    const created = await keys('create', '--organization', 'school', '--label', 'dashboard');
    assert.equal(created.key.split('_')[1], created.id);
    assert.deepEqual(
      { ...created, id: '', key: '', created: '' },
      {
        ...{ id: '', key: '', organization: 'school', label: 'dashboard', status: 'active' },
        ...{
          scope: { boards: 'all', users: 'all' },
          redact: [],
          lmsLookup: true,
          lmsIds: false,
          lmsSplits: [],
          rateLimit: null,
          networks: null,
          created: '',
        },
        ...{ expires: null, revoked: null, lastUsed: null, rotatedTo: null },
      },
    );
    const found = await find(created.key);
    assert.deepEqual([found.id, found.organization, found.label], [created.id, 'school', 'dashboard']);
  });

  it('accepts boards, users, redaction, expiry and rate limit, with ids digit for digit', async () => {
    const created = await keys(
      ...['create', '--organization', 'SCHOOL', '--boards', '9223372036854775807,-1', '--users', '3'],
      ...['--redact', 'email,name', '--expires', '2999-12-31', '--rate-limit', '100/minute'],
    );
    assert.deepEqual(created.scope, { boards: [-1, 9223372036854775807n], users: [3] });
    assert.deepEqual(created.redact, ['email', 'name']);
    assert.equal(created.expires, '3000-01-01T00:00:00.000+00:00');
    assert.deepEqual(created.rateLimit, { requests: 100, perSeconds: 60 });
    const found = await find(created.key);
    assert.deepEqual(found.scope, { boards: [-1n, 9223372036854775807n], users: [3n] });
    assert.equal(found.organization, 'school');
  });

  it('accepts any of email, name and id for --redact, and refuses other words', async () => {
    const created = await keys('create', '--organization', 'school', '--redact', 'id,name,email');
    assert.deepEqual(created.redact, ['email', 'name', 'id']);
    assert.deepEqual((await find(created.key)).redact, { email: true, name: true, id: true });
    const ids = await keys('create', '--organization', 'school', '--redact', 'id');
    assert.deepEqual(ids.redact, ['id']);
    const { code, stderr } = await run([
      ...['keys', 'create', '--organization', 'school', '--redact', 'email,role', '--data', data],
    ]);
    assert.equal(code, 2);
    assert.match(stderr, /Give any of email, name and id/);
  });

  it('allows a redacting key to look up users by LMS properties only with --allow-lms-lookup', async () => {
    const redacting = ['create', '--organization', 'school', '--redact', 'name'];
    const refused = await keys(...redacting);
    const allowed = await keys(...redacting, '--allow-lms-lookup');
    assert.deepEqual([refused.lmsLookup, allowed.lmsLookup], [false, true]);
    assert.equal((await find(allowed.key)).allowLmsLookup, true);
    const successor = await keys('rotate', allowed.id);
    assert.equal(successor.lmsLookup, true);
  });

  it('allows a key to see LMS ids only with --allow-lms-lookup and without --redact', async () => {
    const create = ['create', '--organization', 'school', '--allow-lms-lookup'];
    const [seeing, redacting] = [await keys(...create), await keys(...create, '--redact', 'name')];
    assert.deepEqual([seeing.lmsIds, redacting.lmsIds], [true, false]);
    const shown = async (...words: string[]) =>
      (await run(['keys', 'configure', seeing.id, ...words, '--data', data])).stdout;
    assert.match(await shown('--label', 'x'), /^LMS lookup +allowed, and LMS ids in gradebooks$/m);
    assert.match(await shown('--no-allow-lms-lookup'), /^LMS lookup +allowed$/m);
    assert.match(await shown('--redact', 'name'), /^LMS lookup +refused$/m);
    assert.match(await shown('--allow-lms-lookup'), /^LMS lookup +allowed$/m);
    assert.match(await shown('--redact', 'none'), /^LMS lookup +allowed$/m);
    assert.match(await shown('--allow-lms-lookup'), /^LMS lookup +allowed, and LMS ids in gradebooks$/m);
    assert.match(await shown('--redact', 'none'), /^LMS lookup +allowed, and LMS ids in gradebooks$/m);
  });

  it('limits a key with boards only to the users of these boards, and an empty list to nothing (decision 12)', async () => {
    const ofBoards = await keys('create', '--organization', 'school', '--boards', '1,2');
    assert.deepEqual(ofBoards.scope, { boards: [1, 2], users: 'of-boards' });
    const nothing = await keys('create', '--organization', 'school', '--boards', '', '--users', '');
    assert.deepEqual(nothing.scope, { boards: [], users: [] });
  });

  it('accepts an expiry in the past with a warning', async () => {
    const { code, stdout, stderr } = await run([
      ...['keys', 'create', '--organization', 'school', '--expires', '2020-01-01', '--json', '--data', data],
    ]);
    assert.equal(code, 0);
    assert.match(stderr, /is in the past/);
    assert.equal(JSON.parse(stdout).status, 'expired');
    await assert.rejects(find(JSON.parse(stdout).key), { code: 'key-expired' });
  });

  it('prints the key as text once, and never on standard error', async () => {
    const { stdout, stderr } = await run(['keys', 'create', '--organization', 'school', '--data', data]);
    assert.match(stdout, /^id +[a-z2-7]{12}\nkey +cork_[a-z2-7]{12}_[a-z2-7]{32}_[0-9a-f]{8}\n/);
    assert.doesNotMatch(stderr, /cork_/);
  });

  it('refuses an organization that does not exist', async () => {
    const { code, stdout, stderr } = await run(['keys', 'create', '--organization', 'none', '--data', data]);
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, /^corkboard: There is no organization "none"/);
  });
});

describe('keys list', () => {
  it('shows status and last use, never a key', async () => {
    const used = await keys('create', '--organization', 'club', '--label', 'used');
    const keyring = openSqliteKeyring(data);
    keyring.recordUse(await keyring.find(used.key));
    await keyring.close();
    const revoked = await keys('create', '--organization', 'club', '--label', 'gone');
    await keys('revoke', revoked.id);
    await keys('create', '--organization', 'club', '--label', 'old', '--expires', '2020-01-01');
    const list: { label: string; status: string; lastUsed: string | null; key?: string }[] = await keys(
      'list',
      '--organization',
      'club',
    );
    assert.deepEqual(Object.fromEntries(list.map(({ label, status }) => [label, status])), {
      used: 'active',
      gone: 'revoked',
      old: 'expired',
    });
    assert.match(list.find(({ label }) => label === 'used')?.lastUsed ?? '', /^\d{4}-.*\+00:00$/);
    const table = await run(['keys', 'list', '--organization', 'club', '--data', data]);
    assert.match(table.stdout, /^ID +ORGANIZATION +LABEL .* STATUS .* LAST USE\n/);
    assert.match(table.stdout, new RegExp(`${revoked.id} +club +gone .* revoked`));
    assert.doesNotMatch(table.stdout + JSON.stringify(list), /cork_/);
  });
});

describe('keys configure', () => {
  it('changes the given settings of a key, and keeps the others', async () => {
    const { id, key } = await keys('create', '--organization', 'school', '--label', 'first');
    const changed = await keys(
      ...['configure', id, '--boards', '1,2', '--redact', 'email,name', '--allow-lms-lookup'],
      ...['--expires', '2999-12-31', '--rate-limit', '100/minute'],
    );
    assert.deepEqual(
      [changed.id, changed.label, changed.scope, changed.redact, changed.lmsLookup, changed.expires],
      [
        ...[id, 'first', { boards: [1, 2], users: 'of-boards' }, ['email', 'name'], true],
        '3000-01-01T00:00:00.000+00:00',
      ],
    );
    assert.deepEqual(changed.rateLimit, { requests: 100, perSeconds: 60 });
    assert.equal(changed.key, undefined);
    assert.deepEqual((await find(key)).scope, { boards: [1n, 2n], users: 'of-boards' });
    const back = await keys(
      ...['configure', id, '--boards', 'all', '--redact', 'none', '--no-allow-lms-lookup'],
      ...['--expires', 'never', '--rate-limit', 'default', '--label', ''],
    );
    assert.deepEqual(
      [back.scope, back.redact, back.expires, back.rateLimit, back.label],
      [{ boards: 'all', users: 'all' }, [], null, null, ''],
    );
    const found = await find(key);
    assert.deepEqual([found.allowLmsLookup, found.scope.users], [false, 'all']);
  });

  it('keeps the list of users when the boards change, and the boards when the users change', async () => {
    const { id } = await keys('create', '--organization', 'school', '--users', '3');
    assert.deepEqual((await keys('configure', id, '--boards', '1')).scope, { boards: [1], users: [3] });
    const { scope } = await keys('configure', id, '--users', 'of-boards');
    assert.deepEqual(scope, { boards: [1], users: 'of-boards' });
    assert.deepEqual((await keys('configure', id, '--boards', '')).scope, { boards: [], users: 'of-boards' });
  });

  it('prints the key without its secret, and warns about an expiry in the past', async () => {
    const { id } = await keys('create', '--organization', 'school');
    const { code, stdout, stderr } = await run([
      ...['keys', 'configure', id, '--expires', '2020-01-01', '--rate-limit', '5/second', '--data', data],
    ]);
    assert.equal(code, 0);
    assert.match(stdout, /^id +[a-z2-7]{12}\norganization +school\n/);
    assert.match(stdout, /\nrate limit +5 per 1 s\nexpires +2020-01-02T00:00:00Z/);
    assert.match(stderr, /is in the past/);
  });

  it('refuses a call without changes, a key of a different organization, and a revoked key', async () => {
    const { id, key } = await keys('create', '--organization', 'school');
    const refused = async (...words: string[]) => {
      const { code, stderr } = await run(['keys', 'configure', id, ...words, '--data', data]);
      return [code, stderr] as const;
    };
    const [nothing, told] = await refused();
    assert.deepEqual([nothing, /nothing to change/.test(told)], [2, true]);
    assert.equal((await refused('--redact', 'role'))[0], 2);
    assert.equal((await refused('--label', 'x', '--organization', 'club'))[0], 1);
    assert.equal((await find(key)).label, '');
    await keys('revoke', id);
    const [code, message] = await refused('--label', 'x');
    assert.equal(code, 1);
    assert.match(message, /has been revoked/);
  });

  it('takes effect on the next request to a running server', async (t) => {
    const { id, key } = await keys('create', '--organization', 'school');
    const { printed } = await serving(t, ['serve', '--data', data]);
    const url = `${printed['Variant A']}/v1/boards`;
    const asked = async () => (await ask(url, key)).headers['ratelimit-policy'];
    assert.equal(await asked(), undefined);
    await keys('configure', id, '--rate-limit', '100/minute');
    assert.equal(await asked(), '"default";q=100;w=60');
  });
});

describe('the networks of a key', () => {
  it('are set, listed, kept by a rotation, and removed by "any" only', async () => {
    const networks = ['10.0.0.0/8', '2001:db8::/32'];
    const created = await keys('create', '--organization', 'school', '--networks', networks.join());
    assert.deepEqual(created.networks, networks);
    assert.deepEqual((await find(created.key)).networks, networks);
    const list: { id: string; networks: unknown }[] = await keys('list');
    assert.deepEqual(list.find(({ id }) => id === created.id)?.networks, networks);
    const table = await run(['keys', 'list', '--data', data]);
    assert.match(table.stdout, new RegExp(`${created.id} .* 10\\.0\\.0\\.0/8,2001:db8::/32 `));
    assert.deepEqual((await keys('rotate', created.id)).networks, networks);
    assert.deepEqual((await keys('configure', created.id, '--label', 'kept')).networks, networks);
    assert.equal((await run(['keys', 'configure', created.id, '--networks', '', '--data', data])).code, 2);
    assert.deepEqual((await find(created.key)).networks, networks);
    assert.equal((await keys('configure', created.id, '--networks', 'any')).networks, null);
    assert.equal((await find(created.key)).networks, undefined);
  });
});

describe('the longest life of keys of an organization', () => {
  const YEAR = '365d';
  const YEAR_MS = 365 * 86_400_000;
  const guild = (command: string, ...words: string[]) =>
    keys(command, ...words, ...(command === 'create' ? ['--organization', 'guild'] : []));
  const refused = async (...words: string[]) => {
    const { code, stdout, stderr } = await run(['keys', ...words, '--data', data]);
    assert.deepEqual([code, stdout], [1, ''], stderr);
    assert.match(stderr, /may live for at most 365 days.*--expires.*--longest-key-life/);
  };

  it('is shown, limits new keys and changes, and marks existing keys that exceed it', async () => {
    const configure = async (...words: string[]) =>
      await runJson(['organizations', 'configure', 'guild', ...words, '--data', data]);
    await runJson(['organizations', 'create', 'guild', '--data', data]);
    const endless = await guild('create');
    const kept = await guild('create', '--expires', '30d');
    assert.equal((await configure('--longest-key-life', YEAR)).longestKeyLifeSeconds, YEAR_MS / 1_000);
    const shown = await run(['organizations', 'show', 'guild', '--data', data]);
    assert.match(shown.stdout, /^longest key life +365 days$/m);
    const usual = await guild('create');
    assert.equal(Date.parse(usual.expires) - Date.parse(usual.created), YEAR_MS);
    assert.ok((await guild('create', '--expires', YEAR)).expires !== null);
    for (const expiry of ['366d', 'never', '2999-12-31']) {
      await refused('create', '--organization', 'guild', '--expires', expiry);
      await refused('configure', kept.id, '--expires', expiry);
      await refused('rotate', kept.id, '--expires', expiry);
    }
    assert.equal((await find(kept.key)).rotatedTo, undefined);
    const list: { id: string; warnings: string[] }[] = await keys('list', '--organization', 'guild');
    assert.deepEqual(
      list.filter(({ warnings }) => warnings.includes('lives-too-long')).map(({ id }) => id),
      [endless.id],
    );
    const table = await run(['keys', 'list', '--data', data]);
    assert.match(table.stdout, new RegExp(`${endless.id} .* active +lives too long`));
    // Every change that brings the key nearer to the limit is permitted.
    assert.notEqual((await guild('configure', endless.id, '--expires', '400d')).expires, null);
    assert.equal((await guild('configure', endless.id, '--label', 'kept')).label, 'kept');
    const successor = await guild('rotate', endless.id);
    assert.equal(Date.parse(successor.expires) - Date.parse(successor.created), YEAR_MS);
    assert.equal((await configure('--longest-key-life', 'none')).longestKeyLifeSeconds, null);
    assert.equal((await guild('create')).expires, null);
  });
});

describe('keys show', () => {
  const SOON = ['--expires', '13d'];

  it('shows everything about a key except the key', async () => {
    const old = await keys(
      ...['create', '--organization', 'school', '--label', 'shown', '--boards', '7', ...SOON],
      ...['--networks', '10.0.0.0/8', '--redact', 'name', '--rate-limit', '5/second'],
    );
    const successor = await keys('rotate', old.id, '--expires', 'never');
    const { key: _key, ...described } = old;
    const shown = await keys('show', old.id);
    assert.deepEqual(
      { ...shown, expires: '' },
      {
        ...{ ...described, expires: '', rotatedTo: successor.id, rotatedFrom: null },
        warnings: ['expires-soon'],
      },
    );
    const later = await keys('show', successor.id, '--organization', 'SCHOOL');
    assert.deepEqual([later.rotatedFrom, later.rotatedTo, later.warnings], [old.id, null, []]);
    await keys('revoke', successor.id);
    const { code, stdout } = await run(['keys', 'show', successor.id, '--data', data]);
    assert.equal(code, 0);
    for (const line of [
      ...[`id +${successor.id}`, 'organization +school', 'boards +7', 'users +of-boards', 'redacted +name'],
      ...['networks +10\\.0\\.0\\.0/8', 'rate limit +5 per 1 s', 'expires +never', 'label +shown'],
      ...['status +revoked', 'warnings +-', 'created +\\d{4}-.*Z', 'revoked +\\d{4}-.*Z', 'last use +-'],
      ...[`predecessor +${old.id}`, 'successor +-'],
    ]) {
      assert.match(stdout, new RegExp(`^${line}$`, 'm'));
    }
    assert.doesNotMatch(stdout + JSON.stringify(shown), /cork_/);
  });

  it('has the same warnings as the list', async () => {
    const soon = await keys('create', '--organization', 'school', ...SOON);
    const keyring = openSqliteKeyring(data, () => Date.now() - 91 * 86_400_000);
    const { entry } = await keyring.create({ ...soon, redact: NO_REDACTION, scope: FULL_SCOPE }, undefined);
    await keyring.close();
    const list: { id: string; warnings: string[] }[] = await keys('list');
    const listed = (id: string) => list.find((one) => one.id === id)?.warnings;
    assert.deepEqual([listed(soon.id), listed(entry.id)], [['expires-soon'], ['unused']]);
    assert.deepEqual((await keys('show', entry.id)).warnings, ['unused']);
    const { stdout } = await run(['keys', 'list', '--data', data]);
    assert.match(stdout, new RegExp(`${soon.id} .* active +expires soon +\\d`));
    assert.match(stdout, new RegExp(`${entry.id} .* active +unused +\\d`));
  });

  it('refuses an unknown id and a key of a different organization', async () => {
    const { id } = await keys('create', '--organization', 'school');
    for (const words of [['aaaaaaaaaaaa'], ['nonsense'], [id, '--organization', 'club']]) {
      const { code, stdout, stderr } = await run(['keys', 'show', ...words, '--data', data]);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, /"corkboard keys list/);
    }
  });
});

describe('keys rotate and revoke', () => {
  it('rotate creates a successor and expires the old key after the overlap', async () => {
    const old = await keys('create', '--organization', 'school', '--boards', '7', '--label', 'rotated');
    const successor = await keys('rotate', old.id, '--overlap', '7d');
    assert.deepEqual(successor.scope, old.scope);
    assert.equal(successor.label, 'rotated');
    const { expiresMs = 0, rotatedTo } = await find(old.key);
    assert.ok(Math.abs(expiresMs - Date.now() - 7 * 86_400_000) < 60_000);
    assert.equal(rotatedTo, successor.id);
    await find(successor.key);
  });

  it('rotate gives the successor the same lifetime again, or the given expiry', async () => {
    const old = await keys('create', '--organization', 'school', '--expires', '2020-01-01');
    assert.equal(old.status, 'expired');
    const successor = await keys('rotate', old.id, '--expires', '90d');
    assert.ok(Math.abs(Date.parse(successor.expires) - Date.now() - 90 * 86_400_000) < 60_000);
    const again = await keys('rotate', successor.id);
    assert.ok(Date.parse(again.expires) > Date.parse(successor.expires));
    assert.equal((await keys('rotate', again.id, '--expires', 'never')).expires, null);
  });

  it('revoke takes effect at once and can be repeated', async () => {
    const { id, key } = await keys('create', '--organization', 'school');
    const revoked = await keys('revoke', id);
    assert.equal(revoked.status, 'revoked');
    await assert.rejects(find(key), { code: 'key-revoked' });
    assert.equal((await keys('revoke', id)).revoked, revoked.revoked);
    const rotation = await run(['keys', 'rotate', id, '--data', data]);
    assert.deepEqual([rotation.code, rotation.stdout], [1, '']);
    assert.match(rotation.stderr, /has been revoked/);
  });

  it('refuse a key of a different organization and an unknown key', async () => {
    const { id, key } = await keys('create', '--organization', 'school');
    for (const command of ['rotate', 'revoke']) {
      const other = await run(['keys', command, id, '--organization', 'club', '--data', data]);
      assert.deepEqual([other.code, other.stdout], [1, '']);
      const unknown = await run(['keys', command, 'aaaaaaaaaaaa', '--data', data]);
      assert.equal(unknown.code, 1);
      assert.match(unknown.stderr, /There is no key aaaaaaaaaaaa/);
    }
    assert.equal((await find(key)).rotatedTo, undefined);
    assert.equal((await keys('revoke', id, '--organization', 'School')).status, 'revoked');
  });
});
