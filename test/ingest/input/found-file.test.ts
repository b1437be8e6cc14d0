/** Links, pipes and replaced files in folders of an import (decision 61). */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { rename, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { findBundle, type PathRules } from '../../../src/ingest/input/bundle.ts';
import { openInput } from '../../../src/ingest/input/open-input.ts';
import { readParquetInput } from '../../../src/ingest/input/parquet-input.ts';
import { readParquet } from '../../../src/store/version/parquet/parquet-reader.ts';
import { openScratchDatabase } from '../../../src/store/version/parquet/scratch-database.ts';
import { makeFolder } from '../temporary-folder.ts';

const SECRET = 'id,email\n1,somebody@tenant-b.example\n';

/** Two tenants, the first of which can write to its folder. */
async function tenants(t: TestContext) {
  const place = await makeFolder(t, {
    'a/boards.csv': 'id,title\n7,Seven\n',
    'a/users.csv': 'id,email\n5,five@tenant-a.example\n',
    'b/users.csv': SECRET,
  });
  return { a: join(place, 'a'), b: join(place, 'b'), place };
}

const find = (path: string, rules?: PathRules) => findBundle([path], undefined, undefined, '-', rules);

/** Finds the files of a folder, makes a change, and reads the users of the folder. */
async function readUsers(folder: string, change: () => Promise<void>, rules?: PathRules): Promise<string> {
  const { inputs } = await find(folder, rules);
  await change();
  const users = inputs.find(({ kind }) => kind === 'users');
  assert.ok(users);
  const { source } = await openInput(users, undefined, () => {});
  return await text(source.read(true));
}

const refusal = (path: string, reason: RegExp) => (error: Error & { code?: string }) => {
  assert.equal(error.code, 'file-unreadable', error.stack);
  assert.ok(error.message.startsWith(path), error.message);
  assert.match(error.message, reason);
  return true;
};

describe('a folder of an import', () => {
  it('is refused if it contains a link, with the option that allows it', async (t) => {
    const { a, b } = await tenants(t);
    const link = join(a, 'users-2.csv');
    for (const target of [
      join(b, 'users.csv'),
      '../b/users.csv',
      join(a, 'users.csv'),
      'nowhere',
      '/dev/zero',
      b,
    ]) {
      await symlink(target, link);
      await assert.rejects(find(a), refusal(link, /is a symbolic link.*--follow-symlinks/));
      await rm(link);
    }
  });

  it('may contain links that an import does not read', async (t) => {
    const { a, b } = await tenants(t);
    await symlink(join(b, 'users.csv'), join(a, 'notes.txt'));
    const { inputs, passedOver } = await find(a);
    assert.deepEqual(
      inputs.map(({ name }) => basename(name)),
      ['users.csv', 'boards.csv'],
    );
    assert.deepEqual(
      passedOver.map((name) => basename(name)),
      ['notes.txt'],
    );
  });

  it('has its links read with --follow-symlinks; links that are given as paths are always read', async (t) => {
    const { a, b, place } = await tenants(t);
    await rm(join(a, 'users.csv'));
    await symlink(join(b, 'users.csv'), join(a, 'users.csv'));
    await symlink(a, join(place, 'link'));
    assert.equal(await readUsers(a, async () => {}, { followsLinks: true }), SECRET);
    assert.equal(await readUsers(join(a, 'users.csv'), async () => {}), SECRET);
    assert.equal(await readUsers(join(place, 'link'), async () => {}, { followsLinks: true }), SECRET);
    await assert.rejects(find(join(place, 'link')), { code: 'file-unreadable' });
  });

  it('is refused if it contains a pipe or a device, with and without --follow-symlinks', async (t) => {
    const { a } = await tenants(t);
    execFileSync('sh', ['-c', 'mkfifo "$0"', join(a, 'events.csv')]);
    for (const followsLinks of [false, true]) {
      await assert.rejects(find(a, { followsLinks }), refusal(join(a, 'events.csv'), /not a regular file/));
    }
    await rm(join(a, 'events.csv'));
    await symlink('/dev/zero', join(a, 'events.csv'));
    await assert.rejects(
      find(a, { followsLinks: true }),
      refusal(join(a, 'events.csv'), /not a regular file/),
    );
  });

  it('is read as it was found, or not at all', async (t) => {
    const changes: Record<string, (place: { a: string; b: string }) => Promise<void>> = {
      'a link in the place of the file': async ({ a, b }) => {
        await rm(join(a, 'users.csv'));
        await symlink(join(b, 'users.csv'), join(a, 'users.csv'));
      },
      'another file in its place': async ({ a, b }) =>
        await rename(join(b, 'users.csv'), join(a, 'users.csv')),
      'a pipe in its place': async ({ a }) => {
        await rm(join(a, 'users.csv'));
        execFileSync('sh', ['-c', 'mkfifo "$0"', join(a, 'users.csv')]);
      },
      'a link in the place of the folder': async ({ a, b }) => {
        await rename(a, `${a}-away`);
        await symlink(b, a);
      },
      'another folder in its place': async ({ a, b }) => {
        await rename(a, `${a}-away`);
        await rename(b, a);
      },
    };
    for (const [what, change] of Object.entries(changes)) {
      const place = await tenants(t);
      const reading = readUsers(place.a, () => change(place));
      await assert.rejects(reading, refusal(join(place.a, 'users.csv'), /symbolic link|was replaced/), what);
    }
  });

  it('has its Parquet files read, but no file that has replaced one', async (t) => {
    const { a, b } = await tenants(t);
    for (const [folder, id] of [
      [a, 5],
      [b, 1],
    ] as const) {
      const path = join(folder, 'pins.parquet');
      using database = await openScratchDatabase([path]);
      await database.connection.run(`COPY (SELECT ${id} AS id) TO '${path}' (FORMAT parquet)`);
    }
    const read = async (change: () => Promise<void>) => {
      const { inputs } = await find(a);
      const pins = inputs.find(({ kind }) => kind === 'pins');
      assert.ok(pins);
      const open = await openInput(pins, undefined, () => {});
      await change();
      const rows: string[] = [];
      for await (const some of readParquetInput(open, true, readParquet))
        rows.push(...some.map((row) => row.text));
      return rows;
    };
    assert.deepEqual(await read(async () => {}), ['{"id":5}']);
    const exchanged = read(async () => await rename(join(b, 'pins.parquet'), join(a, 'pins.parquet')));
    await assert.rejects(exchanged, refusal(join(a, 'pins.parquet'), /was replaced/));
  });

  it('has its subfolders read as they were found, or not at all', async (t) => {
    const rules = { searchesSubfolders: true };
    const changes: Record<string, (place: { a: string; b: string; place: string }) => Promise<void>> = {
      'a link to another folder in the place of the subfolder': async ({ a, b }) => {
        await rm(join(a, 'sub'), { recursive: true });
        await symlink(b, join(a, 'sub'));
      },
      'a link to the same folder elsewhere': async ({ a, place }) => {
        await rename(join(a, 'sub'), join(place, 'elsewhere'));
        await symlink(join(place, 'elsewhere'), join(a, 'sub'));
      },
      'another folder in its place': async ({ a, b }) => {
        await rm(join(a, 'sub'), { recursive: true });
        await rename(b, join(a, 'sub'));
      },
    };
    const make = async () => {
      const place = await makeFolder(t, { 'a/sub/users.csv': 'id,email\n', 'b/users.csv': SECRET });
      return { a: join(place, 'a'), b: join(place, 'b'), place };
    };
    assert.equal(await readUsers((await make()).a, async () => {}, rules), 'id,email\n');
    for (const [what, change] of Object.entries(changes)) {
      const place = await make();
      const reading = readUsers(place.a, () => change(place), rules);
      await assert.rejects(reading, refusal(join(place.a, 'sub', 'users.csv'), /was replaced/), what);
    }
  });

  it('has no links to folders read with its subfolders, unless --follow-symlinks is given', async (t) => {
    const { a, b, place } = await tenants(t);
    const [link, rules] = [join(a, 'link'), { searchesSubfolders: true }];
    for (const target of [b, '../b', '.', '..']) {
      await symlink(target, link);
      assert.equal((await find(a)).inputs.length, 2, 'without subfolders the link is ignored');
      await assert.rejects(find(a, rules), refusal(link, /is a symbolic link.*--follow-symlinks/));
      await rm(link);
    }
    await symlink('/dev/zero', link);
    assert.equal((await find(a, rules)).inputs.length, 2, 'only links to folders are followed');
    await rm(link);
    await symlink(b, link);
    const followed = await find(a, { ...rules, followsLinks: true });
    assert.deepEqual(
      followed.inputs.map(({ name }) => name),
      [join(link, 'users.csv'), join(a, 'users.csv'), join(a, 'boards.csv')],
    );
    for (const [from, to] of [
      [join(a, 'self'), '.'],
      [join(b, 'back'), a],
      [join(a, 'twice'), b],
      [join(b, 'top'), place],
    ] as const) {
      await symlink(to, from);
      await assert.rejects(find(a, { ...rules, followsLinks: true }), {
        code: 'option-malformed',
        message: /leads to a folder that is read already/,
      });
      await rm(from);
    }
  });

  it('is read while it grows', async (t) => {
    const { a } = await tenants(t);
    const more = 'id,email\n5,five@tenant-a.example\n6,six@tenant-a.example\n';
    assert.equal(await readUsers(a, () => writeFile(join(a, 'users.csv'), more)), more);
  });
});
