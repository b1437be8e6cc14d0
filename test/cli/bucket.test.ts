/**
 * `corkboard migrate --bucket`: the chunks of a database move to a bucket, to a folder and back,
 * and every command works after each move.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { PostgresDatabase } from '../../src/store/catalog/postgres-database.ts';
import { startBucket, type TestBucket } from '../s3/server.ts';
import { until } from '../server/stand.ts';
import { newMigratedDatabase } from '../storage.ts';
import { run, runJson, temporaryFolder } from './command.ts';
import { ask, type Serving, serving } from './serving.ts';
import { writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();

describe('migrate --bucket', () => {
  let bucket: TestBucket;
  let url: string;
  let key: string;
  let server: Serving;
  const ends: (() => void)[] = [];
  before(async () => {
    bucket = await startBucket();
    url = await newMigratedDatabase();
    await runCommand('import', writeSmallBundle(join(folder, 'bundle')), '--organization', 'school');
    key = (await runJson(['keys', 'create', '--organization', 'school', '--database', url])).key;
    const t = { after: (end: () => void) => ends.push(end) };
    // The commands that this test starts inherit the credentials.
    Object.assign(process.env, bucket.env);
    server = await serving(t, ['serve', '--workers', '1', '--database', url]);
    assert.match(await boards(), /"id":7/);
  });
  after(async () => {
    for (const end of ends) end();
    await bucket.close();
  });

  const boards = async () => (await ask(`${server.printed['Variant A']}/v1/boards`, key)).body;

  /** With a new local cache, as on a machine that has none yet. */
  async function runCommand(...words: readonly string[]) {
    const cache = join(folder, `cache-${Math.random()}`);
    const result = await run([...words, '--database', url, '--cache', cache]);
    assert.equal(result.code, 0, result.stderr);
    return result;
  }

  async function rowsOfChunks(): Promise<number> {
    const database = new PostgresDatabase(url);
    const [row] = await database.rows('SELECT count(*) FROM chunks');
    await database.close();
    return Number(row?.[0]);
  }

  async function assertServed(title: string): Promise<void> {
    const more = join(folder, `boards-${title}.csv`);
    writeFileSync(more, `id,title\n100,${title}\n`);
    await runCommand('import', more, '--organization', 'school');
    await runCommand('export', join(folder, `out-${title}`), '--organization', 'school');
    await until(async () => (await boards()).includes(title));
  }

  it('moves the chunks to a bucket', async () => {
    const place = bucket.address.replace('?', '/versions?');
    const { stdout } = await runCommand('migrate', '--bucket', place);
    assert.equal(stdout, 'The database is up to date.\nMoved the chunks of: school.\n');
    assert.equal(await rowsOfChunks(), 0);
    await assertServed('Bucket');
    assert.equal(await rowsOfChunks(), 0, 'imports put theirs there, too');
    assert.match(
      (await runCommand('migrate', '--bucket', place)).stdout,
      /Moved the chunks of: no organization\./,
    );
  });

  it('lets a machine with an empty local cache fetch the chunks from the bucket', async () => {
    const { stdout } = await runCommand('prefetch', '--json');
    const [{ organization, version, bytes }] = JSON.parse(stdout);
    assert.equal(organization, 'school');
    assert.match(version, /^2-/);
    assert.ok(bytes > 12_288);
  });

  it('moves the chunks to a folder, and back into the database', async () => {
    const shared = join(folder, 'shared');
    mkdirSync(shared);
    await runCommand('migrate', '--bucket', shared);
    const [own = ''] = readdirSync(shared);
    assert.ok(readdirSync(join(shared, own)).length > 0);
    await assertServed('Folder');
    const { stdout } = await runCommand('migrate', '--bucket', 'database', '--json');
    assert.deepEqual(JSON.parse(stdout), { steps: [], setAside: false, moved: ['school'] });
    assert.deepEqual(readdirSync(join(shared, own)), []);
    assert.ok((await rowsOfChunks()) > 0);
    await assertServed('Database');
  });

  it('refuses invalid and unusable places, and keeps using the current one', async () => {
    for (const [place, code] of [
      ['', 2],
      ['ftp://x', 2],
      ['s3://name:secret@x', 2],
      [join(folder, 'missing'), 1],
    ] as const) {
      const result = await run(['migrate', '--bucket', place, '--database', url]);
      assert.equal(result.code, code, `${place}: ${result.stderr}`);
      assert.ok(!result.stderr.includes('secret'));
    }
    await assertServed('After');
  });
});
