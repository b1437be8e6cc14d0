/**
 * The browser profile after the console was closed: on a shared machine the next user can read it.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startProfile } from './browser.ts';
import { stand } from './shared-stand.ts';
import { BOARD, PERSON } from './visit.ts';

let profile: string;

/** The contents of all profile files; each cached response is stored under its URL. */
async function leftBehind(): Promise<string> {
  const names = await readdir(profile, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile());
  const texts = await Promise.all(
    files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'latin1').catch(() => '')),
  );
  return texts.join('\n');
}

export function describeCache(): void {
  describe('the cache of a browser', () => {
    before(async () => {
      profile = await mkdtemp(join(tmpdir(), 'corkboard-profile-'));
    });
    after(() => rm(profile, { recursive: true, force: true }));

    it('contains files of the closed console and no data, even after requests without no-store', async () => {
      const context = await startProfile(profile);
      await context.addInitScript((key) => sessionStorage.setItem('corkboard.key', key), stand().key);
      const page = context.pages()[0] ?? (await context.newPage());
      for (const path of [
        '/',
        `/console/boards/${BOARD}/people`,
        `/console/people/${PERSON}`,
        '/console/events',
      ]) {
        await page.goto(stand().url + path);
        await page.waitForLoadState('networkidle');
      }
      // A request without `cache: 'no-store'`, as earlier versions of the console sent.
      const status = await page.evaluate(
        async ({ path, apikey }) => {
          const response = await fetch(path, { headers: { apikey } });
          await response.text();
          return response.status;
        },
        { path: '/b/v1/users?limit=10', apikey: stand().key },
      );
      assert.equal(status, 200);
      await context.close();
      const left = await leftBehind();
      assert.match(left, /\/console\/assets\//, 'the profile holds a cache');
      assert.deepEqual(left.match(/127\.0\.0\.1:\d+\/(?:[ab]|insights)\/v1\/[\w/?=&]*/g), null);
    });
  });
}
