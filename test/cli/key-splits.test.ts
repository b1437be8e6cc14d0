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
});
