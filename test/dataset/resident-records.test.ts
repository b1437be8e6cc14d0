/** The records of a dataset in memory equal those of its file, column by column. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { joinRecords, RECORDS } from '../../src/dataset/records.ts';
import { TextColumn } from '../../src/dataset/text-column.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import { withResidentDatasets } from '../../src/store/resident-store.ts';
import { openPublished, publishRecords, type Records } from './small-world.ts';

/** More records than one chunk read from the file contains. */
const MANY = 5_000;
const DIFFICULT = ['', 'é', '😀\u2028', '"quoted"\\', '\u0085', 'a\tb\nc', '=1+1', '\u0000'];

function recordsOf(): Records {
  const all = Array.from({ length: MANY }, (_, at) => ({
    id: BigInt(at * 7 + 1),
    text: `${DIFFICULT[at % 8]} ${at}`,
  }));
  return {
    users: all.map(({ id, text }, at) => ({
      ...{ id, email: `user${at}@x.example`, firstName: text, lastName: `${at % 5}`, classRole: text },
      ...(at % 3 === 0 && { createdMs: at }),
    })),
    boards: all.map(({ id, text }, at) => ({ id, title: text, ltiId: at % 2 ? `lti ${at}` : '' })),
    pins: all.map(({ id, text }) => ({
      id,
      boardId: 1n,
      ownerId: 1n,
      title: text,
      body: text.repeat(9),
      tags: [text],
    })),
  };
}

/** Values by column, independent of the memory that holds them. */
async function valuesOf(dataset: Dataset) {
  const tables = {
    users: await joinRecords('users', dataset.records('users')),
    boards: await joinRecords('boards', dataset.records('boards')),
    pins: await joinRecords('pins', dataset.records('pins')),
  };
  return Object.entries(tables).flatMap(([table, columns]) =>
    Object.entries(columns).map(([name, column]) => ({
      name: `${table}.${name}`,
      values:
        column instanceof TextColumn
          ? Array.from({ length: column.count }, (_, index) => column.at(index))
          : Array.from(column as ArrayLike<unknown>),
    })),
  );
}

test('records in memory and from the file are the same in every column', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-records-'));
  const store = await openFolderStore(folder);
  t.after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  await store.createOrganization('acme', {});
  await publishRecords(store, 'acme', recordsOf());
  const stored = await openPublished(store, 'acme');
  const resident = await openPublished(
    withResidentDatasets(store, { limitBytes: Number.POSITIVE_INFINITY }),
    'acme',
  );
  const columns = await valuesOf(resident);
  assert.deepEqual(columns, await valuesOf(stored));
  assert.equal(columns.length, Object.values(RECORDS).flatMap((table) => Object.keys(table)).length);
  for (const { name, values } of columns) assert.equal(values.length, MANY, name);
  const tags = columns.find(({ name }) => name === 'pins.tags')?.values;
  assert.deepEqual(tags?.slice(2, 4), ['["😀\\u2028 2"]', '["\\"quoted\\"\\\\ 3"]']);
  await Promise.all([stored.close(), resident.close()]);
});
