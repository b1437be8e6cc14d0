import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import type { Followed } from '../client/followed.ts';
import { SERVERS } from '../client/followed-servers.ts';
import { complaintsAbout, installClient } from '../client/installed.ts';
import { openWorld, type World } from '../world.ts';
import { blocksOf, type Ended, runBlock } from './blocks.ts';

const PAGE = blocksOf('client.md');
let folder: string;
let world: World;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corkboard-recipes-'));
  [world] = await Promise.all([openWorld(), installClient(folder)]);
});
after(async () => {
  await world.close();
  await rm(folder, { recursive: true });
});

async function run(
  document: string,
  name: string,
  words: readonly string[] = [],
  followed?: Followed,
): Promise<Ended> {
  const { code, language } = blocksOf(document).find((block) => block.name === name) ?? assert.fail(name);
  const file = join(folder, `program.${language === 'js' ? 'mjs' : language}`);
  await writeFile(file, code);
  const { baseUrl, key } = followed ?? { baseUrl: `${world.url}/a`, key: world.keys.full };
  const variables = { CORKBOARD_URL: baseUrl, CORKBOARD_KEY: key, NODE_NO_WARNINGS: '1' };
  return await runBlock([process.execPath, file, ...words], folder, variables);
}

describe('docs/client.md', () => {
  for (const [index, { name, code }] of PAGE.entries()) {
    it(`${name} has no type errors`, async () => {
      await writeFile(join(folder, `typed-${index}.ts`), code);
      assert.equal(await complaintsAbout(folder, `typed-${index}.ts`, 'node'), '');
    });
  }

  it('starts with a program that reads events', async () => {
    const ended = await run('client.md', 'Client for TypeScript and JavaScript 1');
    // The number of words of the only pin that was created in that month.
    assert.deepEqual(ended, { code: 0, stdout: '7\n', stderr: '' });
  });

  it('distinguishes errors', async () => {
    const { code, stdout } = await run('client.md', 'Errors and retries 1');
    assert.equal(code, 0);
    assert.match(stdout, /^refused: 404 not-found [0-9a-f-]{36}\n$/);
  });

  for (const { name, open } of SERVERS) {
    it(`keeps a copy ${name}`, async (t) => {
      const followed = await open();
      t.after(async () => {
        await followed.close();
        await rm(join(folder, 'community.db'));
      });
      const update = async () => {
        assert.deepEqual(await run('client.md', 'Keep a copy 1', [], followed), {
          code: 0,
          stdout: '',
          stderr: '',
        });
        const database = new DatabaseSync(join(folder, 'community.db'));
        const rows = database.prepare('SELECT event FROM events').all();
        database.close();
        return rows.map(({ event }) => JSON.parse(String(event)).actor.name).sort();
      };
      await followed.add(...[1, 2, 2].map((actor) => ({ actor, owner: 3, board: 7 })));
      assert.deepEqual(await update(), ['Person 1', 'Person 2', 'Person 2']);
      await followed.rename(1, 'Ada L.');
      await followed.forget(2);
      assert.deepEqual(await update(), ['Ada L.']);
      await followed.invalidateTokens();
      await followed.add({ actor: 1, owner: 1, board: 8 });
      assert.deepEqual(await update(), ['Ada L.', 'Ada L.']);
    });
  }
});
