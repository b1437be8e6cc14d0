/**
 * Version files that are overwritten, truncated or removed, as clients, operators and load
 * balancers see them.
 */
import assert from 'node:assert/strict';
import { copyFile, open, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { publishRecords, type Records } from '../dataset/small-world.ts';
import { EMBEDDED } from '../storage.ts';
import { largeRecords, ORGANIZATION, openStand, type Stand, type StandOptions } from './stand.ts';

async function withStand(options: StandOptions, test: (stand: Stand) => Promise<void>): Promise<void> {
  const stand = await openStand(options);
  try {
    await test(stand);
  } finally {
    await stand.close();
  }
}

function fileOf({ folder }: Stand, generation: number): string {
  return join(folder, 'data', 'organizations', ORGANIZATION, 'generations', `${generation}.duckdb`);
}

const DAMAGES: Readonly<Record<string, (file: string) => Promise<void>>> = {
  removed: (file) => rm(file),
  overwritten: (file) => writeFile(file, 'this is no database'),
  'cut short': (file) => truncate(file, 20_000),
};

const BOARD: Records = { boards: [{ id: 99n, title: 'Second version' }] };

async function readiness({ url }: Stand) {
  const response = await fetch(`${url}/readyz`);
  return { status: response.status, body: JSON.parse(await response.text()) };
}

async function metric({ url }: Stand, name: string): Promise<number | undefined> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}

function failures({ log }: Stand) {
  return log.filter(({ level }) => level === 'error');
}

describe('a version whose file is damaged', () => {
  for (const [name, damage] of Object.entries(DAMAGES)) {
    it(`is reported once when the file was ${name}, and each request gets 503`, () =>
      withStand({}, async (stand) => {
        await damage(fileOf(stand, 1));
        for (const _ of [1, 2, 3, 4, 5]) {
          const response = await stand.get('/a/v1/boards');
          assert.equal(response.status, 503);
          assert.equal(response.headers.get('retry-after'), '5');
          const problem = await response.text();
          assert.match(problem, /"code":"data-unreadable"/);
          assert.ok(!problem.includes(stand.folder));
        }
        const [line, ...others] = failures(stand);
        assert.deepEqual(others, []);
        assert.equal(line?.['msg'], 'version cannot be read');
        assert.equal(line?.['organization'], ORGANIZATION);
        assert.match(String(line?.['version']), /^1-/);
        assert.equal(line?.['serving'], 'nothing');
        assert.equal(await metric(stand, 'corkboard_impaired_organizations{state="unavailable"}'), 1);
        assert.equal(await metric(stand, 'corkboard_dataset_failures_total'), 1);
        // No organization can be served, so the balancer should use a different server.
        assert.deepEqual(await readiness(stand), {
          status: 503,
          body: { status: 'degraded', impaired_organizations: { unavailable: 1, earlier: 0, partial: 0 } },
        });
      }));
  }

  it('is replaced by the previous version, after a restart as well', () =>
    withStand({}, async (stand) => {
      await stand.publish(BOARD);
      await rm(fileOf(stand, 2));
      for (const _ of [1, 2]) {
        const response = await stand.get('/a/v1/boards');
        assert.equal(response.status, 200);
        assert.doesNotMatch(await response.text(), /Second version/);
      }
      assert.deepEqual(
        failures(stand).map(({ serving, version }) => [serving, String(version).slice(0, 2)]),
        [['an earlier version', '2-']],
      );
      assert.deepEqual(await readiness(stand), {
        status: 200,
        body: { status: 'degraded', impaired_organizations: { unavailable: 0, earlier: 1, partial: 0 } },
      });
    }));

  it('is not replaced by a version from before a user was forgotten, even if its file exists', () =>
    withStand({}, async (stand) => {
      const kept = join(stand.folder, 'kept.duckdb');
      await copyFile(fileOf(stand, 1), kept);
      await stand.publish({ users: [{ id: 1n, forgotten: true }] });
      // A process that was killed before it could remove the file leaves this state.
      await copyFile(kept, fileOf(stand, 1));
      await rm(fileOf(stand, 2));
      assert.equal((await stand.get('/a/v1/users')).status, 503);
    }));
});

describe('a damaged version of one of two organizations', () => {
  it('leaves the server ready for the other one', () =>
    withStand({}, async (stand) => {
      await stand.store.createOrganization('other', {});
      await publishRecords(stand.store, 'other', BOARD);
      await rm(fileOf(stand, 1));
      assert.equal((await stand.get('/a/v1/boards')).status, 503);
      const other = await stand.makeKey({ organization: 'other' });
      assert.equal((await stand.get('/a/v1/boards', { apikey: other })).status, 200);
      assert.deepEqual(await readiness(stand), {
        status: 200,
        body: { status: 'degraded', impaired_organizations: { unavailable: 1, earlier: 0, partial: 0 } },
      });
    }));
});

describe('damage that is found only while reading', () => {
  it('gives 503 for requests that meet it and 200 otherwise, and is reported once', () =>
    withStand({ kind: EMBEDDED, records: largeRecords(30, 2_000) }, async (stand) => {
      assert.equal((await stand.get('/a/v1/boards')).status, 200);
      const file = fileOf(stand, 1);
      // The bytes read so far are in memory; the end of the file is overwritten on the disk.
      const { size } = await stat(file);
      const handle = await open(file, 'r+');
      await handle.write(Buffer.alloc(size - 800_000, 0xaa), 0, size - 800_000, 800_000);
      await handle.close();
      for (const _ of [1, 2]) {
        const response = await stand.get('/a/v1/events');
        assert.equal(response.status, 503);
        assert.match(await response.text(), /"code":"data-unreadable"/);
      }
      assert.equal((await stand.get('/a/v1/boards')).status, 200);
      assert.deepEqual(
        failures(stand).map(({ serving }) => serving),
        ['what can be read of it'],
      );
      assert.deepEqual((await readiness(stand)).body.impaired_organizations.partial, 1);
    }));
});
