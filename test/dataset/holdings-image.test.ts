/** The arrays of a memory image, which servers of the same format must be able to read. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { piecesOf } from '../../src/dataset/image.ts';
import { imageOf } from '../../src/dataset/resident/holdings-image.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import { openFromImage } from './imaged.ts';
import { publishRecords, WORLD } from './small-world.ts';

const INTEGERS = [
  ...['users by id', 'boards by id', 'events', 'event runs', 'event runs starts'],
  ...['points user', 'points board', 'points of boards starts', 'points of boards ends'],
  ...['board people', 'events by board', 'events by actor', 'boards with points by user'].flatMap((index) => [
    `${index} offsets`,
    `${index} rows`,
    ...['replaced', 'replaced lengths', 'replaced rows'].map((part) => `${index} ${part}`),
  ]),
  ...['kind', 'actor', 'owner', 'board', 'pin'].map((column) => `tally ${column}`),
  'awards offsets',
];
const DOUBLES = [
  ...['users created_ms', 'boards created_ms', 'awards instants or scores', 'awards sums'],
  ...['kind', 'actor', 'owner', 'board', 'pin'].map((column) => `tally ${column} counts`),
];
const TEXTS = [
  ...['email', 'name', 'first_name', 'last_name', 'role', 'class_role'].map((field) => `users ${field}`),
  ...['title', 'category', 'lti_id', 'course_id'].map((field) => `boards ${field}`),
  ...['title', 'body', 'web_url', 'image_url', 'tags'].map((field) => `pins ${field}`),
];

it('are those of format 4; increment the format in image-file.ts when they change', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-image-'));
  t.after(() => rm(folder, { recursive: true }));
  const store = await openFolderStore(folder);
  await store.createOrganization('acme', {});
  await publishRecords(store, 'acme', WORLD);
  const dataset = await openFromImage(store, 'acme');
  const image = imageOf(dataset.held);
  const namesOf = (isOf: (name: string) => boolean) => [...image.keys()].filter(isOf).sort();
  const typed = (type: string) =>
    namesOf((name) => piecesOf(image.get(name)!)[0]?.[Symbol.toStringTag] === type);
  const isText = (name: string) => TEXTS.some((text) => name.startsWith(`${text} `));
  assert.deepEqual(
    typed('Int32Array').filter((name) => !isText(name)),
    INTEGERS.sort(),
  );
  assert.deepEqual(
    typed('Float64Array').filter((name) => !isText(name)),
    DOUBLES.sort(),
  );
  assert.deepEqual(typed('BigInt64Array'), ['boards id', 'pins id', 'users id']);
  assert.deepEqual(
    typed('Uint8Array').filter((name) => !isText(name)),
    ['points imported', 'users name_is_derived'],
  );
  assert.deepEqual(namesOf(isText), TEXTS.flatMap((text) => [`${text} bytes`, `${text} offsets`]).sort());
  await dataset.close();
  await store.close();
});
