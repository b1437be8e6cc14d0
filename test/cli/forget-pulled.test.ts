/**
 * `corkboard forget` and the files of `corkboard pull` in the data folder, in both stores
 * (decision 54).
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import { forgetUsers } from '../../src/store/forgotten.ts';
import { IS_LONG } from '../long.ts';
import { ADDRESS, type HostileServer, openHostileServer, pageOf, syncEvent } from '../pull/hostile-server.ts';
import { newMigratedDatabase } from '../storage.ts';
import { run, start, temporaryFolder } from './command.ts';

const folder = temporaryFolder();
const environment = { CORKBOARD_PULL_KEY: 'key' };
let server: HostileServer;

before(async () => {
  server = await openHostileServer('tokens');
});
afterEach(() => {
  server.trick = () => undefined;
});
after(() => server.close());

for (const store of ['DuckDB', 'PostgreSQL'] as const) {
  describe(`forget, on ${store}`, () => {
    const data = join(folder, store);
    const kept = join(data, '.pull', 'school');
    let into: string[];

    before(async () => {
      const database = store === 'DuckDB' ? [] : ['--database', await newMigratedDatabase()];
      into = ['--organization', 'School', '--data', data, ...database];
      await pulled(0);
    });

    async function pulled(expected: number): Promise<void> {
      const { code, stderr } = await run(['pull', server.url, ...into], { environment });
      assert.equal(code, expected, stderr);
    }

    /** Leaves data of user 1 in the files of an interrupted pull. */
    async function interruptPull(): Promise<void> {
      server.version = `${server.version}, again`;
      server.trick = ({ path, query }) => {
        if (path === '/b/v1/users') return { body: 'trouble' };
        return query.has('since') ? pageOf([syncEvent(1)]) : undefined;
      };
      await pulled(1);
      server.trick = () => undefined;
      assert.notDeepEqual(filesWithThePerson(data), []);
    }

    const forget = (user = '1') => run(['forget', '--user', user, ...into]);

    it('leaves no data of the user in the data folder, nor does the next pull', async () => {
      await interruptPull();
      const { code, stderr } = await forget();
      assert.equal(code, 0, stderr);
      assert.deepEqual(filesWithThePerson(data), []);
      await pulled(0);
      assert.deepEqual(filesWithThePerson(data), []);
    });

    if (store === 'PostgreSQL') {
      it('finds them under the name that the organization had before another machine renamed it', async () => {
        const place = into.slice(2);
        await interruptPull();
        const rename = ['organizations', 'rename', 'School', 'College', ...place];
        assert.equal((await run([...rename, '--data', join(folder, 'elsewhere')])).code, 0);
        const { code, stderr } = await run(['forget', '--user', '1', '--organization', 'College', ...place]);
        assert.equal(code, 0, stderr);
        assert.deepEqual(filesWithThePerson(data), []);
        assert.equal((await run(['organizations', 'rename', 'College', 'School', ...place])).code, 0);
      });

      it('are not used for a different organization of that name', async () => {
        const place = into.slice(2);
        await pulled(0);
        const rename = ['organizations', 'rename', 'School', 'College', ...place];
        assert.equal((await run([...rename, '--data', join(folder, 'elsewhere')])).code, 0);
        const { stdout } = await run(['pull', server.url, ...into], { environment });
        assert.match(stdout, /Published as version .* of School/);
      });
    }

    // The pulled files are in the data folder for both.
    if (store !== 'DuckDB' && !IS_LONG) return;

    it('keeps the pulled files when the user does not exist', async () => {
      await interruptPull();
      const { code, stderr } = await forget('77');
      assert.deepEqual([code, /no user 77/.test(stderr)], [1, true]);
      assert.ok(existsSync(join(kept, 'progress.json')));
    });

    it('removes the pulled files even if the user was forgotten before', async () => {
      await interruptPull();
      const { stdout } = await forget();
      assert.equal(stdout, 'Nothing has changed: these users were erased before.\n');
      assert.deepEqual(filesWithThePerson(data), []);
    });

    it('waits for a running pull', async () => {
      await pulled(0);
      server.version = `${server.version}, later`;
      const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
      const { promise: isPulling, resolve: tell } = Promise.withResolvers<void>();
      server.trick = ({ path }) => {
        if (path !== '/a/v1/boards') return undefined;
        tell();
        return {
          async *body() {
            await goesOn;
            yield '[{"id":7,"title":"Seven"}]';
          },
        };
      };
      const pull = start(['pull', server.url, ...into], environment);
      const pullEnds = once(pull, 'close');
      await isPulling;
      const onRemark = (text: string) => {
        if (text.includes('Waiting for another change of School')) goOn();
      };
      const { code, stderr } = await run(['forget', '--user', '1', ...into], { onRemark });
      await pullEnds;
      assert.deepEqual([pull.exitCode, code], [0, 0], stderr);
      assert.match(stderr, /^Waiting/);
      assert.deepEqual(filesWithThePerson(data), []);
    });
  });
}

it('forget changes nothing in the store when the pulled files cannot be removed', async () => {
  const data = join(folder, 'failing');
  const { code } = await run(['pull', server.url, '--organization', 'school', '--data', data], {
    environment,
  });
  assert.equal(code, 0);
  const store = await openFolderStore(data);
  const version = await store.currentVersion('school');
  const beforeErasing = () => Promise.reject(new Error('the disk is gone'));
  await assert.rejects(forgetUsers(store, 'school', [1n], { waitMs: 0, beforeErasing }), /the disk is gone/);
  assert.equal(await store.currentVersion('school'), version);
  const { published } = await forgetUsers(store, 'school', [1n], { waitMs: 0 });
  assert.ok(published);
  await store.close();
});

function filesWithThePerson(data: string): string[] {
  return readdirSync(data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => /Ada|King/.test(readFileSync(file, 'latin1')) || readFileSync(file).includes(ADDRESS));
}
