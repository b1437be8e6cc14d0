/** Names of users over several records and publications (decisions 28, 29). */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFolderStore } from '../../../src/store/files/open-folder.ts';
import { everybodyOf } from '../../dataset/record-columns.ts';
import { openPublished, publishRecords, type Records } from '../../dataset/small-world.ts';

test('decision 29: an absent half of a name keeps its value', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-names-'));
  const store = await openFolderStore(folder);
  t.after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  await store.createOrganization('acme', {});
  await publishRecords(store, 'acme', {
    users: [
      { id: 1n, email: 'a@x', name: 'Ann de Bee' },
      { id: 2n, email: 'b@x', firstName: 'Bo Bo', lastName: 'Li' },
      { id: 3n, email: 'c@x', firstName: 'Cher' },
      { id: 4n, email: 'd@x', name: 'Di Roe' },
    ],
  });
  const records: Records = {
    users: [
      { id: 1n, firstName: 'Eve' },
      { id: 2n, lastName: 'van Li' },
      { id: 2n, name: 'Bo Bo van Li' },
      { id: 3n, lastName: 'Oh' },
      { id: 3n, name: 'Che Guevara' },
      { id: 3n, firstName: 'Rosa' },
      { id: 4n, firstName: 'Dee', name: 'Doctor Dee' },
    ],
  };
  await publishRecords(store, 'acme', records);
  const dataset = await openPublished(store, 'acme');
  const people = await everybodyOf(dataset.records('users'));
  await dataset.close();
  assert.deepEqual(
    people.map(({ name, firstName, lastName }) => [name, firstName, lastName]),
    [
      ['Eve Bee', 'Eve', 'Bee'],
      ['Bo Bo van Li', 'Bo Bo', 'van Li'],
      ['Rosa Guevara', 'Rosa', 'Guevara'],
      ['Doctor Dee', 'Dee', 'Roe'],
    ],
  );
  assert.equal((await publishRecords(store, 'acme', records)).published, false);
});
