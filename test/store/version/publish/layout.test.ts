/** The position of rows in a version file, and the rows that are read if they came late. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { FULL_SCOPE } from '../../../../src/domain/scope.ts';
import { openFolderStore } from '../../../../src/store/files/open-folder.ts';
import type { Store } from '../../../../src/store/store.ts';
import { openPublished, publishRecords, type Records } from '../../../dataset/small-world.ts';
import { readGeneration } from '../generation-rows.ts';

const THINGS: Records = {
  users: [1n, 2n, 3n].map((id) => ({ id, email: `u${id}@x.example`, name: `User ${id}` })),
  boards: [7n, 8n].map((id) => ({ id, title: `Board ${id}` })),
};

/** Times jump back and forth over the whole range, so that every publication brings late events. */
const EVENTS = Array.from({ length: 230 }, (_, place) => ({
  id: BigInt(place),
  type: 'board',
  action: 'visited',
  ownerId: 1n,
  actorId: BigInt(1 + (place % 3)),
  boardId: BigInt(7 + (place % 2)),
  timestampMs: (place * 7_919) % 1_000,
}));

describe('the layout of a version file', () => {
  let folder: string;
  let store: Store;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corkboard-layout-'));
    store = await openFolderStore(folder);
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  const fileOf = (organization: string, generation: number) =>
    join(folder, 'organizations', organization, 'generations', `${generation}.duckdb`);

  const publish = async (organization: string, ends: readonly number[]) => {
    await store.createOrganization(organization, {});
    await publishRecords(store, organization, { ...THINGS, events: EVENTS.slice(0, ends[0]) });
    for (const [step, end] of ends.entries()) {
      await publishRecords(store, organization, { events: EVENTS.slice(end, ends[step + 1]) });
    }
  };

  it('is in order except for a small part, in whatever order the events came', async () => {
    await publish('late', [100, 200, 210, 220]);
    const { outOfOrder } = await readGeneration(fileOf('late', 5));
    for (const table of ['events', 'board_events', 'actor_events']) {
      const rows = outOfOrder[table] ?? 0;
      assert.ok(rows >= 10, `${table} was put in order for the last ten events`);
      assert.ok(rows <= 230 / 16, `${table} was not put in order, ${rows} rows are out of it`);
    }
  });

  it('changes no response: all, by board, by actor, from a position on', async () => {
    await publish('answers', [150, 160, 170]);
    const dataset = await openPublished(store, 'answers');
    const read = async (query: object) => {
      const found: [time: number, actor: number, board: number][] = [];
      for await (const batch of dataset.events({ scope: FULL_SCOPE, range: {}, ...query })) {
        for (const [row, time] of batch.timestampMs.entries())
          found.push([time, batch.actor[row] ?? -1, batch.board[row] ?? -1]);
      }
      return found;
    };
    const all = EVENTS.map((event): [number, number, number] => [
      event.timestampMs,
      Number(event.actorId) - 1,
      Number(event.boardId) - 7,
    ]).sort((one, other) => one[0] - other[0]);
    assert.deepEqual(await read({}), all);
    assert.deepEqual(
      await read({ board: 1 }),
      all.filter(([, , board]) => board === 1),
    );
    assert.deepEqual(
      await read({ actor: 2, range: { startMs: 300, endMs: 700 } }),
      all.filter(([time, actor]) => actor === 2 && time >= 300 && time < 700),
    );
    const [time = 0] = all[99] ?? [];
    assert.deepEqual(
      await read({ after: { timestampMs: time, sequence: 1_000_000 }, limit: 50 }),
      all.slice(100, 150),
    );
    await dataset.close();
  });

  it('keeps the order of import for pins whose texts are inserted in portions', async () => {
    await store.createOrganization('texts', {});
    // Several portions.
    const pins = Array.from({ length: 14 }, (_, place) => ({
      ...{ id: BigInt(100 - place), boardId: 7n, ownerId: 1n, title: `Pin ${place}` },
      body: String.fromCharCode(97 + place).repeat(10_000_000),
    }));
    await publishRecords(store, 'texts', { ...THINGS, pins });
    const instance = await DuckDBInstance.create(fileOf('texts', 1));
    const connection = await instance.connect();
    const rows = await connection.runAndReadAll('SELECT ix, id, title, strlen(body), body[1] FROM pins');
    connection.closeSync();
    instance.closeSync();
    assert.deepEqual(
      rows.getRows(),
      pins.map(({ id, title, body }, place) => [place, id, title, 10_000_000n, body[0]]),
    );
  });

  it('leaves rows in their places that a publication does not change', async () => {
    await store.createOrganization('places', {});
    await publishRecords(store, 'places', { ...THINGS, events: EVENTS.slice(0, 200) });
    const before = await readGeneration(fileOf('places', 1));
    // Visits are worth no points, and all three have been on both boards.
    await publishRecords(store, 'places', { events: EVENTS.slice(200, 210) });
    const after = await readGeneration(fileOf('places', 2));
    assert.equal(after.outOfOrder['events'], 10);
    for (const table of ['board_people', 'standings'] as const) {
      assert.deepEqual(after.tables[table], before.tables[table]);
      assert.equal(after.outOfOrder[table], undefined, table);
    }
  });

  it('is refused with an explanation if a different version of Corkboard wrote it', async () => {
    await store.createOrganization('older', {});
    await publishRecords(store, 'older', THINGS);
    const instance = await DuckDBInstance.create(fileOf('older', 1));
    const connection = await instance.connect();
    await connection.run('COMMENT ON TABLE version IS NULL');
    connection.closeSync();
    instance.closeSync();
    const refusal = { code: 'data-unreadable', message: /different version of Corkboard/ };
    await assert.rejects(store.openDataset('older'), refusal);
    await assert.rejects(store.beginPublication('older', { waitMs: 0 }), refusal);
  });
});
