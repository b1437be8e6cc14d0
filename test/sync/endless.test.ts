/** `corkboard sync` with a server whose responses or pages never end: it ends, in little memory. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { run, runProcess, temporaryFolder } from '../cli/command.ts';
import { sendEndless } from '../client/endless.ts';
import { answering, KEY, sendLines, sendRefusal } from '../client/odd-server.ts';
import '../without-coverage.ts';

/** Less than what the server sends; more than a page and the program need. */
const HEAP_MEGABYTES = 300;
const folder = temporaryFolder();

const EVENT = eventLine('a');
const NOTHING_NEW = { 'sync-token': 't' };

function eventLine(id: string): string {
  return JSON.stringify({ sync_id: id, timestamp: '2018-03-12T09:00:00.000+00:00' });
}

describe('sync from a server without an end', () => {
  for (const [what, path, part, reason] of [
    ['changes', '/a/v1/events', `${EVENT}\n`, /A page of the response has more than .*\./],
    ['tiny changes', '/a/v1/events', '{}\n', /A page of the response has more than .*\./],
    ['users', '/a/v1/users', '{"id":1}\n', /A page of the response has more than .*\./],
    ['points', '/insights/v1/points', '{"user_id":1}\n', /A page of the response has more than .*\./],
    ['one change', '/a/v1/events', '[1,', /A line of the response has more than .*\./],
    ['one board', '/a/v1/boards', '[1,', /A line of the response has more than .*\./],
  ] as const) {
    it(`refuses ${what}, in bounded memory, and leaves the copy as it was`, async (t) => {
      const server = await answering(t, (response, request) =>
        request.url?.startsWith(path)
          ? sendEndless(response, part, undefined, NOTHING_NEW)
          : sendLines(response, [], NOTHING_NEW),
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

describe('sync from a server with pages without an end', () => {
  const circle = /The pages of the response lead in a circle\./;
  for (const [what, path, lines, cursor, reason] of [
    ['changes with the same cursors', '/a/v1/events', (at: number) => [eventLine(`${at}`)], 3, circle],
    ['the same changes with new cursors', '/a/v1/events', () => [EVENT], Infinity, circle],
    ['no changes', '/a/v1/events', () => [], Infinity, /A page of the response is empty and not the last/],
    ['users with the same cursors', '/a/v1/users', (at: number) => [`{"id":${at}}`], 3, circle],
    ['the same boards with new cursors', '/a/v1/boards', () => ['{"id":1}'], Infinity, circle],
  ] as const) {
    it(`refuses ${what}, and leaves the copy as it was`, async (t) => {
      let at = 0;
      const server = await answering(t, (response, request) => {
        if (!request.url?.startsWith(path)) return sendLines(response, [], NOTHING_NEW);
        at += 1;
        const link = `</v1?cursor=${Number.isFinite(cursor) ? at % cursor : at}>; rel="next"`;
        return sendLines(response, lines(at), { ...NOTHING_NEW, link });
      });
      await refused(`${server.url}/a`, what, reason);
      assert.ok(at < 20, `${at} requests`);
    });
  }

  it('refuses a server that does not accept its own cursors', async (t) => {
    const link = '</v1?cursor=c>; rel="next"';
    const server = await answering(t, (response, { url = '' }) =>
      url.includes('cursor=')
        ? sendRefusal(response, 400, 'cursor-scope-changed')
        : sendLines(response, [EVENT], { ...NOTHING_NEW, link }),
    );
    await refused(`${server.url}/a`, 'own cursors', /it responded with status 400/);
    assert.ok(server.asked.length < 20, `${server.asked.length} requests`);
  });

  /** The copy is new, and must be empty afterwards. */
  async function refused(url: string, name: string, reason: RegExp): Promise<void> {
    const copy = join(folder, `${name}.sqlite`);
    const environment = { CORKBOARD_SYNC_KEY: KEY };
    const { code, stdout, stderr } = await run(['sync', url, '--to', `sqlite:${copy}`], { environment });
    assert.deepEqual([code, stdout], [1, ''], stderr);
    assert.match(stderr, /Cannot read from the server: /);
    assert.match(stderr, reason);
    using database = new DatabaseSync(copy);
    for (const table of ['corkboard_sync', 'events', 'users', 'boards']) {
      assert.deepEqual(database.prepare(`SELECT * FROM ${table}`).all(), [], table);
    }
  }
});
