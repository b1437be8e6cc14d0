/**
 * Servers over PostgreSQL are notified of a publication at once, and otherwise find it by polling.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Datasets } from '../../src/server/versions/datasets.ts';
import { PostgresDatabase } from '../../src/store/catalog/postgres-database.ts';
import type { Store } from '../../src/store/store.ts';
import { temporaryFolder } from '../cli/command.ts';
import { publishRecords, WORLD } from '../dataset/small-world.ts';
import { newMigratedDatabase, openCachedStore } from '../storage.ts';

const folder = temporaryFolder();
const NEVER_MS = 1e9;
/** Much less than never, but enough for a busy machine. */
const SOON_MS = 60_000;

describe('a server over PostgreSQL', () => {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  /** A server that has leased a first version, and a separate store that publishes. */
  async function serve(pollMs: number) {
    const url = await newMigratedDatabase();
    const database = new PostgresDatabase(url);
    const [publishing, serving] = [
      await openCachedStore(url, join(folder, 'publishing')),
      await openCachedStore(url, join(folder, 'serving')),
    ];
    await publishing.createOrganization('acme', {});
    await publishRecords(publishing, 'acme', WORLD);
    const datasets = new Datasets(serving, () => undefined, { pollMs });
    closing.push(...[database, publishing, serving, datasets].map((opened) => () => opened.close()));
    (await datasets.lease('acme')).end();
    /** The backend process that listens for notifications; absent if there is none. */
    const listener = async () => {
      const [row] = await database.rows(
        `SELECT pid FROM pg_stat_activity
         WHERE datname = current_database() AND state = 'idle' AND query = 'LISTEN corkboard'`,
      );
      return row?.[0] ?? undefined;
    };
    await until(async () => (await listener()) !== undefined);
    const endListener = async () => {
      const ended = await listener();
      await database.rows('SELECT pg_terminate_backend($1)', [ended ?? null]);
      await until(async () => (await listener()) !== ended);
    };
    return { publishing, datasets, listener, endListener };
  }

  async function publishAndTakeUp(publishing: Store, datasets: Datasets, title: string) {
    const { version } = await publishRecords(publishing, 'acme', {}, { title });
    await until(async () => {
      const { dataset, end } = await datasets.lease('acme');
      end();
      return dataset.version === version;
    });
  }

  it('switches to a version when it is published, without polling', async () => {
    const { publishing, datasets } = await serve(NEVER_MS);
    await publishAndTakeUp(publishing, datasets, 'Second');
    await publishAndTakeUp(publishing, datasets, 'Third');
  });

  it('listens again when its connection has been terminated', async () => {
    const { publishing, datasets, listener, endListener } = await serve(NEVER_MS);
    await endListener();
    await until(async () => (await listener()) !== undefined);
    await publishAndTakeUp(publishing, datasets, 'Second');
  });

  it('finds a version by polling if it was not notified', async () => {
    const { publishing, datasets, endListener } = await serve(100);
    await endListener();
    await publishAndTakeUp(publishing, datasets, 'Second');
  });

  it('stops listening when it closes', async () => {
    const { datasets, listener } = await serve(NEVER_MS);
    await datasets.close();
    closing.pop();
    await until(async () => (await listener()) === undefined);
  });
});

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + SOON_MS;
  while (!(await isSo())) {
    assert.ok(performance.now() < deadline, 'it has not happened in time');
    await delay(10);
  }
}
