/** The settings beside the records of a bundle, and their possible errors. */
import assert from 'node:assert/strict';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { importBundle } from '../../src/ingest/import.ts';
import { readSettings } from '../../src/ingest/settings-files.ts';
import { BOARDS } from './imported-files.ts';
import { openRecordingStore } from './recording-store.ts';
import { makeFolder } from './temporary-folder.ts';

const ORGANIZATION = JSON.stringify({
  ...{ name: 'elsewhere', id: 42, title: 'School', domain: 'x.example', category_id: 7 },
  ...{ course_lookup: true, lms_user_properties: ['sis'] },
});

test('settings are read with all digits, and without the name', async (t) => {
  const id = 2n ** 63n - 1n;
  const text = ORGANIZATION.replace('42', String(id));
  const folder = await makeFolder(t, { 'organization.json': text, 'policy.json': '{"goal": 5}' });
  const paths = ['organization.json', 'policy.json'].map((name) => join(folder, name));
  assert.deepEqual(await readSettings(paths, false), {
    ...{ id, title: 'School', domain: 'x.example', categoryId: 7n, courseLookup: true },
    ...{ lmsUserProperties: ['sis'], policy: '{"goal": 5}' },
  });
  assert.equal((await readSettings(paths.slice(0, 1), false)).policy, '');
  assert.deepEqual(await readSettings(paths.slice(1), false), { policy: '{"goal": 5}' });
});

for (const [what, files, code, message] of [
  ['no file', {}, 'option-malformed', /no organization\.json or policy\.json/],
  ['what is no JSON', { 'organization.json': '{' }, 'settings-refused', /organization\.json: .*valid JSON/],
  ['a list', { 'organization.json': '[]' }, 'settings-refused', /must be a JSON object/],
  [
    'an unknown setting',
    { 'organization.json': '{"titel":"x"}' },
    'settings-refused',
    /titel is not a setting/,
  ],
  ['a bad id', { 'organization.json': '{"id":"x"}' }, 'settings-refused', /id "x" is not an integer/],
  ['a bad policy', { 'policy.json': '{"goal":0}' }, 'policy-malformed', /goal/],
  [
    'two of them',
    { 'organization.json': '{}', 'b/organization.json': '{}' },
    'option-malformed',
    /two files/,
  ],
] as const) {
  test(`${what} is refused`, async (t) => {
    const folder = await makeFolder(t, files);
    const paths = Object.keys(files).map((name) => join(folder, name));
    await assert.rejects(readSettings(paths, false), { code, message });
  });
}

test('a link is refused only where settings are read', async (t) => {
  const elsewhere = await makeFolder(t, { 'organization.json': ORGANIZATION });
  const folder = await makeFolder(t, { 'boards.ndjson': BOARDS });
  await symlink(join(elsewhere, 'organization.json'), join(folder, 'organization.json'));
  const options = { organization: 'school', paths: [folder] };
  const store = () => openRecordingStore({ school: 7n });
  assert.equal((await importBundle({ ...options, store: store() })).outcome, 'published');
  const taking = { ...options, takesSettings: true };
  await assert.rejects(importBundle({ ...taking, store: store() }), { code: 'file-unreadable' });
  const followed = await importBundle({ ...taking, store: store(), followsLinks: true });
  assert.equal(followed.settingsTaken, true);
});

test('a created organization has the settings, whatever its events say', async (t) => {
  const folder = await makeFolder(t, { 'boards.ndjson': BOARDS, 'organization.json': ORGANIZATION });
  const store = openRecordingStore();
  await importBundle({ store, organization: 'new', paths: [folder], takesSettings: true });
  const { settings } = await store.organization('new');
  assert.deepEqual([settings.id, settings.title, settings.courseLookup], [42n, 'School', true]);
});
