/** Chunks in a folder: the contract, and files of other processes in the folder. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openChunkFolder } from '../../src/store/chunks/folder.ts';
import { describeChunkPlace, listed } from './chunk-place-contract.ts';

let parent: string;
before(async () => {
  parent = await mkdtemp(join(tmpdir(), 'corkboard-chunks-'));
});
after(() => rm(parent, { recursive: true }));

describeChunkPlace('in a folder', async () => {
  const folder = join(parent, 'contract');
  await mkdir(folder, { recursive: true });
  return openChunkFolder(folder);
});

describe('chunks in a folder', () => {
  const bytes = Buffer.from('bytes of a chunk');

  async function makeFolder(): Promise<string> {
    return await mkdtemp(join(parent, 'folder-'));
  }

  it('are readable only by their owner', async () => {
    const folder = await makeFolder();
    await openChunkFolder(folder).put('school/one', bytes);
    assert.equal((await stat(join(folder, 'school'))).mode & 0o777, 0o700);
    assert.equal((await stat(join(folder, 'school/one'))).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(join(folder, 'school')), ['one'], 'no temporary file is left');
  });

  it('are not confused with temporary files, which are removed after a day', async () => {
    const folder = await makeFolder();
    const place = openChunkFolder(folder);
    const [fresh, old] = ['.fresh.temporary', '.old.temporary'];
    const yesterday = new Date(Date.now() - 25 * 3_600_000);

    async function leave(): Promise<void> {
      for (const name of [fresh, old]) await writeFile(join(folder, 'school', name), 'half a chu');
      await utimes(join(folder, 'school', old), yesterday, yesterday);
    }

    await place.put('school/one', bytes);
    await utimes(join(folder, 'school/one'), yesterday, yesterday);
    await leave();
    assert.deepEqual(await listed(place, 'school/'), ['school/one']);
    assert.deepEqual((await readdir(join(folder, 'school'))).sort(), [fresh, 'one']);
    await leave();
    await place.delete(['school/two']);
    assert.deepEqual((await readdir(join(folder, 'school'))).sort(), [fresh, 'one']);
  });

  it('are listed without files of other programs', async () => {
    const folder = await makeFolder();
    const place = openChunkFolder(folder);
    await place.put('school/one', bytes);
    await writeFile(join(folder, 'README'), '');
    await writeFile(join(folder, 'school', 'Thumbs.db'), '');
    await mkdir(join(folder, '.snapshot'));
    await writeFile(join(folder, '.snapshot', 'one'), '');
    assert.deepEqual(await listed(place, ''), ['school/one']);
  });

  it('are away, and nothing is created, while the folder does not exist', async () => {
    const folder = join(parent, 'not-mounted');
    const place = openChunkFolder(folder);
    const away = { name: 'AppError', code: 'chunks-away' };
    await assert.rejects(place.get('school/one'), away);
    await assert.rejects(place.put('school/one', bytes), away);
    await assert.rejects(listed(place, 'school/'), away);
    await assert.rejects(listed(place, ''), away);
    await assert.rejects(stat(folder));
    await mkdir(folder);
    assert.equal(await place.get('school/one'), undefined);
    await place.put('school/one', bytes);
  });

  it('are unreadable if the folder is a file', async () => {
    const file = join(parent, 'file');
    await writeFile(file, '');
    const place = openChunkFolder(file);
    const refused = { name: 'AppError', code: 'data-unreadable', message: /Check that it is a folder/ };
    await assert.rejects(place.get('school/one'), refused);
    await assert.rejects(place.put('school/one', bytes), refused);
    await assert.rejects(listed(place, ''), refused);
  });

  it('leave no temporary file if the rename of a chunk fails', async () => {
    const folder = await makeFolder();
    await mkdir(join(folder, 'school', 'one'), { recursive: true });
    await assert.rejects(openChunkFolder(folder).put('school/one', bytes));
    assert.deepEqual(await readdir(join(folder, 'school')), ['one']);
  });
});
