/** Parquet files of the API, imported again, give the same responses (decision 28). */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { importBundle } from '../../src/ingest/import.ts';
import { readParquet } from '../../src/store/version/parquet/parquet-reader.ts';
import { get } from '../model/client.ts';
import { openWorld, type World } from '../world.ts';

const FILES = { a: ['events', 'boards', 'users'], b: ['events', 'boards', 'users'] } as const;

describe('Parquet of the API', () => {
  let world: World;
  before(async () => {
    world = await openWorld();
  });
  after(() => world.close());

  /** Imports the files of these lists into a new organization; returns a key for it. */
  async function importAgain(variant: 'a' | 'b', names: readonly string[]): Promise<string> {
    const organization = `again-${variant}-${names.join('-')}`;
    const folder = join(world.folder, organization);
    await mkdir(folder);
    for (const name of names) {
      const reply = await fetch(`${world.url}/${variant}/v1/${name}?format=parquet`, {
        headers: { apikey: world.keys.full },
      });
      assert.equal(reply.status, 200);
      await writeFile(join(folder, `${name}.parquet`), Buffer.from(await reply.arrayBuffer()));
    }
    const report = await importBundle({ store: world.store, organization, paths: [folder], readParquet });
    assert.deepEqual(report.problems, []);
    assert.equal(report.outcome, 'published');
    return await world.makeKey(organization);
  }

  for (const variant of ['a', 'b'] as const) {
    it(`gives the same events in both variants, from variant ${variant}`, async () => {
      const key = await importAgain(variant, ['events']);
      for (const path of ['/a/v1/events', '/b/v1/events', '/a/v1/events?format=csv', '/b/v1/pins']) {
        const again = await get(world.url + path, key);
        assert.equal(again.text, (await get(world.url + path, world.keys.full)).text, path);
      }
    });

    it(`gives the same lists, from variant ${variant}`, async () => {
      const key = await importAgain(variant, FILES[variant]);
      for (const name of FILES[variant]) {
        const path = `/${variant}/v1/${name}`;
        const again = await get(world.url + path, key);
        assert.equal(again.text, (await get(world.url + path, world.keys.full)).text, path);
      }
    });
  }
});
