/** `corkboard sync` with a server whose responses have no end: it ends, within its memory. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { runProcess, temporaryFolder } from '../cli/command.ts';
import { sendEndless } from '../client/endless.ts';
import { answering, KEY, sendLines } from '../client/odd-server.ts';
import '../without-coverage.ts';

/** Less than what the server sends; more than a page and the program need. */
const HEAP_MEGABYTES = 300;
const folder = temporaryFolder();

const EVENT = JSON.stringify({ sync_id: 'a', timestamp: '2018-03-12T09:00:00.000+00:00' });

describe('sync from a server without an end', () => {
  for (const [what, path, part, reason] of [
    ['changes', '/a/v1/events', `${EVENT}\n`, /A page of the response has more than .*\./],
    ['tiny changes', '/a/v1/events', '{}\n', /A page of the response has more than .*\./],
    ['users', '/a/v1/users', '{"id":1}\n', /A page of the response has more than .*\./],
    ['one change', '/a/v1/events', '[1,', /A line of the response has more than .*\./],
    ['one board', '/a/v1/boards', '[1,', /A line of the response has more than .*\./],
  ] as const) {
    it(`refuses ${what}, in bounded memory, and leaves the copy as it was`, async (t) => {
      const server = await answering(t, (response, request) =>
        request.url?.startsWith(path)
          ? sendEndless(response, part, undefined, { 'sync-token': 't' })
          : sendLines(response, [], { 'sync-token': 't' }),
      );
      const copy = join(folder, `${what}.sqlite`);
      const { code, stdout, stderr } = await runProcess(
        ['sync', `${server.url}/a`, '--to', `sqlite:${copy}`],
        {
          environment: {
            CORKBOARD_SYNC_KEY: KEY,
            NODE_OPTIONS: `--max-old-space-size=${HEAP_MEGABYTES}`,
          },
        },
      );
      assert.deepEqual([code, stdout], [1, ''], stderr);
      assert.match(stderr, /Cannot read from the server: /);
      assert.match(stderr, reason);
      using database = new DatabaseSync(copy);
      assert.deepEqual(database.prepare('SELECT * FROM corkboard_sync').all(), []);
    });
  }
});
