/** `--lms-splits` of `keys create` and `keys configure` (decision 104). */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { openSqliteKeyring } from '../../src/keys/sqlite-keyring.ts';
import { run, runJson, temporaryFolder } from './command.ts';

const data = temporaryFolder();
const keys = (...args: string[]) => runJson(['keys', ...args, '--data', data]);

before(() => runJson(['organizations', 'create', 'school', '--data', data]));

/** The splits that a server finds. */
async function foundSplits(key: string): Promise<readonly string[] | undefined> {
  const keyring = openSqliteKeyring(data);
  try {
    return (await keyring.find(key)).lmsSplits;
  } finally {
    await keyring.close();
  }
}

describe('the splits of a key', () => {
  it('are those of --lms-splits, which rotation keeps and an empty text removes', async () => {
    const created = await keys('create', '--organization', 'school', '--lms-splits', 'cohort,campus,cohort');
    assert.deepEqual(created.lmsSplits, ['cohort', 'campus']);
    assert.deepEqual(await foundSplits(created.key), ['cohort', 'campus']);
    const { stdout } = await run(['keys', 'show', created.id, '--data', data]);
    assert.match(stdout, /^LMS splits +cohort,campus$/m);
    assert.deepEqual((await keys('rotate', created.id)).lmsSplits, ['cohort', 'campus']);
    const configure = async (...words: string[]) => (await keys('configure', created.id, ...words)).lmsSplits;
    assert.deepEqual(await configure('--label', 'kept'), ['cohort', 'campus']);
    assert.deepEqual(await configure('--lms-splits', 'campus'), ['campus']);
    assert.deepEqual(await configure('--lms-splits', ''), []);
    assert.equal(await foundSplits(created.key), undefined);
    assert.deepEqual((await keys('create', '--organization', 'school', '--lms-splits', '')).lmsSplits, []);
  });

  it('are one property if the key redacts, which is withdrawn when it redacts less', async () => {
    const redacting = ['--redact', 'name,email'];
    const create = (splits: string) => ['create', '--organization', 'school', '--lms-splits', splits];
    const refusal = async (...words: string[]) => {
      const { code, stderr } = await run(['keys', ...words, '--data', data]);
      assert.equal(code, 2);
      assert.match(stderr, /redacts can have one LMS property/);
    };
    await refusal(...create('cohort,campus'), ...redacting);
    const two = await keys(...create('cohort,campus'));
    await refusal('configure', two.id, ...redacting);
    await keys('configure', two.id, ...redacting, '--lms-splits', 'cohort');
    await refusal('configure', two.id, '--lms-splits', 'cohort,campus');
    const one = await keys(...create('cohort'), ...redacting);
    const configure = async (...words: string[]) => (await keys('configure', one.id, ...words)).lmsSplits;
    assert.deepEqual(await configure('--redact', 'name,email,id'), ['cohort']);
    assert.deepEqual(await configure('--redact', 'name,email'), []);
    assert.deepEqual(await configure('--redact', 'name', '--lms-splits', 'cohort'), ['cohort']);
    assert.deepEqual(await configure('--redact', 'none'), []);
    assert.deepEqual(await configure('--lms-splits', 'cohort,campus'), ['cohort', 'campus']);
  });

  it('have names that LMS properties can have', async () => {
    for (const [names, hint] of [
      ['lms.cohort', /Leave out lms\./],
      ['cohort,my campus', /without white space/],
      ['x'.repeat(65), /1 to 64/],
      ['none', /Use "" for no property/],
    ] as const) {
      for (const command of [
        ['create', '--organization', 'school'],
        ['configure', 'abcdefghijkl'],
      ]) {
        const { code, stderr } = await run(['keys', ...command, '--lms-splits', names, '--data', data]);
        assert.equal(code, 2);
        assert.match(stderr, hint);
      }
    }
    const longest = `é${'x'.repeat(63)}`;
    const created = await keys('create', '--organization', 'school', '--lms-splits', longest);
    assert.deepEqual(created.lmsSplits, [longest]);
  });

  it('stay as they are if something else changes, even if no command would accept them', async () => {
    const { id } = await keys('create', '--organization', 'school', '--redact', 'name');
    const keyring = openSqliteKeyring(data);
    await keyring.configure(id, () => ({ lmsSplits: ['cohort', 'campus'] }));
    await keyring.close();
    assert.deepEqual((await keys('configure', id, '--label', 'new')).lmsSplits, ['cohort', 'campus']);
    const { code } = await run(['keys', 'configure', id, '--redact', 'name,email', '--data', data]);
    assert.equal(code, 2);
  });
});
