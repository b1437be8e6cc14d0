import assert from 'node:assert/strict';
import { symlink } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { test } from 'node:test';
import { findBundle } from '../../../src/ingest/input/bundle.ts';
import { makeFolder } from '../temporary-folder.ts';

test('a folder is read in the order of kinds, within a kind by name with numbers as numbers', async (t) => {
  const folder = await makeFolder(t, {
    'events-10.csv': '',
    'events-9.ndjson.gz': '',
    'users.csv': '',
    'pins_old.parquet': '',
    'boards.json.zst': '',
    'README.md': '',
    'eventsx.csv': '',
    'users/users.csv': '',
  });
  const { inputs, passedOver } = await findBundle([folder], undefined);
  assert.deepEqual(
    inputs.map(({ name, kind, form }) => [basename(name), kind, form?.format, form?.compression]),
    [
      ['users.csv', 'users', 'csv', 'none'],
      ['boards.json.zst', 'boards', 'json', 'zstd'],
      ['pins_old.parquet', 'pins', 'parquet', 'none'],
      ['events-9.ndjson.gz', 'events', 'ndjson', 'gzip'],
      ['events-10.csv', 'events', 'csv', 'none'],
    ],
  );
  assert.deepEqual(
    passedOver.map((path) => basename(path)),
    ['eventsx.csv', 'README.md', 'users'],
  );
});

test('the folders in a folder are searched if requested, each in the place of its name', async (t) => {
  const folder = await makeFolder(t, {
    'events-1.csv': '',
    'b/events-0.csv': '',
    'b/deep/er/events.csv': '',
    'f/users.csv': '',
    'f/organization.json': '',
    'f/notes.txt': '',
    'users.csv/users-2.csv': '',
    '.git/users.csv': '',
    'empty/README': '',
    'organization.json': '',
  });
  const { inputs, settings, passedOver } = await findBundle([folder], undefined, undefined, '-', {
    searchesSubfolders: true,
  });
  const within = (paths: readonly string[]) => paths.map((path) => relative(folder, path));
  assert.deepEqual(within(inputs.map(({ name }) => name)), [
    ...['f/users.csv', 'users.csv/users-2.csv'],
    ...['b/deep/er/events.csv', 'b/events-0.csv', 'events-1.csv'],
  ]);
  assert.deepEqual(within(settings), ['organization.json']);
  assert.deepEqual(within(passedOver).sort(), ['.git', 'empty/README', 'f/notes.txt', 'f/organization.json']);
  const first = await findBundle([folder], undefined);
  assert.deepEqual(within(first.inputs.map(({ name }) => name)), ['events-1.csv']);
  const nothing = await makeFolder(t, { 'a/b/README': '' });
  const rules = { searchesSubfolders: true };
  await assert.rejects(findBundle([nothing], undefined, undefined, '-', rules), {
    code: 'option-malformed',
    message: /has no file named by its kind of records/,
  });
  for (const paths of [
    [folder, join(folder, 'b')],
    [join(folder, 'b'), folder],
  ]) {
    await assert.rejects(findBundle(paths, undefined, undefined, '-', rules), { code: 'option-malformed' });
  }
});

test('the case of letters in a file name does not matter', async (t) => {
  const folder = await makeFolder(t, { 'Users.CSV': '', 'BOARDS-1.NdJson.GZ': '' });
  const { inputs, passedOver } = await findBundle([folder], undefined);
  assert.deepEqual(
    inputs.map(({ kind, form }) => [kind, form]),
    [
      ['users', { format: 'csv', compression: 'none' }],
      ['boards', { format: 'ndjson', compression: 'gzip' }],
    ],
  );
  assert.deepEqual(passedOver, []);
});

test('a file that must be unpacked or saved in a different form is reported with the remedy', async (t) => {
  const folder = await makeFolder(t, {
    'logs.zip': '',
    'users.xlsx': '',
    'a/users.csv': '',
    'b/users.csv': '',
  });
  const onlyFolders = await makeFolder(t, { 'a/users.csv': '', 'b/users.csv': '' });
  for (const [path, message] of [
    [join(folder, 'logs.zip'), /logs\.zip is an archive\. Unpack it/],
    [join(folder, 'users.xlsx'), /users\.xlsx is a workbook\. Save each sheet as a CSV file/],
    [folder, /logs\.zip is an archive/],
    [
      onlyFolders,
      /contains only folders, which are searched only with --subfolders\. Give it, or .* like .*a\./,
    ],
  ] as const) {
    await assert.rejects(findBundle([path], undefined), { code: 'option-malformed', message }, path);
  }
});

test('files given by name keep their order within a kind', async (t) => {
  const folder = await makeFolder(t, { 'events-b.csv': '', 'events-a.csv': '', 'users.csv': '' });
  const paths = ['events-b.csv', 'users.csv', 'events-a.csv'].map((name) => join(folder, name));
  const { inputs } = await findBundle(paths, undefined);
  assert.deepEqual(
    inputs.map(({ name }) => basename(name)),
    ['users.csv', 'events-b.csv', 'events-a.csv'],
  );
});

test('--as sets the kind of files given by name and of standard input', async (t) => {
  const folder = await makeFolder(t, { 'dump.txt': '12' });
  const { inputs } = await findBundle([join(folder, 'dump.txt'), '-'], 'events');
  assert.deepEqual(
    inputs.map(({ kind, form, byteLength }) => [kind, form, byteLength]),
    [
      ['events', undefined, 2],
      ['events', undefined, undefined],
    ],
  );
});

test('an input of unknown kind is a usage error', async (t) => {
  const folder = await makeFolder(t, { 'dump.csv': '', 'none/README': '' });
  for (const path of ['-', join(folder, 'dump.csv'), join(folder, 'none')]) {
    await assert.rejects(findBundle([path], undefined), { code: 'option-malformed' }, path);
  }
});

test('a file given twice is a usage error, under whatever name', async (t) => {
  const folder = await makeFolder(t, { 'users.csv': '' });
  await symlink(join(folder, 'users.csv'), join(folder, 'users-2.csv'));
  for (const paths of [
    [folder, join(folder, 'users-2.csv')],
    [join(folder, 'users.csv'), join(folder, '.', 'users.csv')],
  ]) {
    const rules = { followsLinks: true };
    await assert.rejects(findBundle(paths, undefined, undefined, '-', rules), { code: 'option-malformed' });
  }
  await assert.rejects(findBundle(['-', '-'], 'users'), { code: 'option-malformed' });
});

test('a missing file is reported under its given name', async () => {
  await assert.rejects(findBundle(['no/such/users.csv'], undefined), {
    code: 'file-unreadable',
    message: 'Cannot read no/such/users.csv: there is no such file.',
  });
});
