/** The users of a board for gradebooks, with no more read and kept than the board needs. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import fc from 'fast-check';
import { joinRecords } from '../../src/dataset/records.ts';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { readGradedUsers } from '../../src/points/graded-users.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import { BIG, openPublished, publishRecords, WORLD } from '../dataset/small-world.ts';
import { runs } from '../model/runs.ts';
import { PlainDataset } from '../render/plain-dataset.ts';
import { anyWorld } from '../render/worlds.ts';

it('users of a board are the same from batches of all users as from memory', async () => {
  const property = fc.asyncProperty(anyWorld, fc.integer({ min: 1, max: 4 }), async (world, batchSize) => {
    const dataset = new PlainDataset(world, batchSize);
    const loaded = await joinRecords('users', dataset.records('users'));
    for (const board of world.boards.keys()) {
      const query = { scope: FULL_SCOPE, range: {}, board, gradebook: 'generic' } as const;
      const [read, held] = [
        await readGradedUsers(dataset, query),
        await readGradedUsers(dataset, query, loaded),
      ];
      const users = [...read.users];
      assert.equal(users.length, world.standings.filter((one) => one.board === board).length);
      assert.deepEqual(users, [...held.users]);
    }
  });
  await fc.assert(property, runs(50));
});

it('LMS ids are read for one property and the users of one board', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-graded-'));
  const store = await openFolderStore(folder);
  t.after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  const lms = { sis: 'A-1', login: 'a' };
  const users = [
    ...(WORLD.users ?? []),
    { id: 1n, lms },
    { id: 4n, lms: { login: 'm' } },
    { id: 11n, lms: { sis: 'N-1' } },
  ];
  await store.createOrganization('acme', {});
  await publishRecords(store, 'acme', { ...WORLD, users }, { lmsUserProperties: ['sis', 'login'] });
  const dataset = await openPublished(store, 'acme');
  const board = await dataset.findBoard(FULL_SCOPE, { by: 'id', value: 8n });
  assert.ok(board !== undefined);
  const read: string[] = [];
  for await (const { property, value } of dataset.tables().properties({ property: 'sis', board })) {
    read.push(...property.map((name, row) => `${name} ${value[row]}`));
  }
  assert.deepEqual(read, ['sis B-1']);
  const query = { scope: FULL_SCOPE, range: {}, board, property: 'sis', gradebook: 'generic' } as const;
  const graded = await readGradedUsers(dataset, query);
  assert.deepEqual(
    [...graded.users].map(({ id, lmsId }) => [id, lmsId]),
    [[BIG, 'B-1']],
  );
  assert.ok(graded.leftOut.withoutId > 0);
  await dataset.close();
});
