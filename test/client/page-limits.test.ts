/** What the client holds of a response is limited, whatever a server sends. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { AnswerError } from '../../src/client/client.ts';
import { sendEndless } from './endless.ts';
import { all, answering, errorOf, sendLines } from './odd-server.ts';

/** What a server may have written before the client refuses: the limit, and what is on its way. */
const MOST_WRITTEN = 64e6;

function limitsOf(asked: readonly string[]): (string | null)[] {
  return asked.map((path) => new URL(path, 'http://server').searchParams.get('limit'));
}

describe('a response without an end', () => {
  it('is refused if a line has no end, in lists, pages, changes and live streams', async (t) => {
    let written = 0;
    const wrote = (bytes: number) => {
      written += bytes;
    };
    const server = await answering(t, (response, request) => {
      written = 0;
      const isStream = request.headers.accept === 'text/event-stream';
      const type = isStream ? 'text/event-stream' : 'application/x-ndjson';
      return sendEndless(response, isStream ? 'data: [' : '[1,', wrote, { 'content-type': type });
    });
    const client = server.client();
    for (const list of [
      client.boards(),
      client.boards({ pageSize: 10 }),
      client.sync({ pageSize: 10 }),
      client.live({ token: 't' }),
    ]) {
      const error = await errorOf(all<unknown>(list));
      assert.ok(error instanceof AnswerError && error.code === 'unreadable', String(error));
      assert.match(error.message, /A line of the response has more than 16,777,216 characters/);
      assert.ok(written < MOST_WRITTEN, `${written} bytes`);
    }
    assert.equal(server.asked.length, 4, 'it is not requested again');
  });

  for (const [what, line] of [
    ['long', JSON.stringify({ id: 1, title: 'x'.repeat(10_000) })],
    ['short', '{}'],
  ] as const) {
    it(`is refused if a page of ${what} elements has no end, however few are requested`, async (t) => {
      let written = 0;
      const server = await answering(t, (response) => {
        written = 0;
        const wrote = (bytes: number) => {
          written += bytes;
        };
        return sendEndless(response, `${line}\n`, wrote, { 'sync-token': 't' });
      });
      for (const list of [server.client().boards({ pageSize: 10 }), server.client().sync({ pageSize: 10 })]) {
        const error = await errorOf(all<unknown>(list));
        assert.ok(error instanceof AnswerError && error.code === 'too-large', String(error));
        assert.ok(written < MOST_WRITTEN, `${written} bytes`);
      }
      assert.deepEqual(limitsOf(server.asked), ['10', '3', '1', '10', '3', '1']);
    });
  }
});

it('a page with long texts is requested as smaller ones, and each element is returned once', async (t) => {
  const body = 'x'.repeat(1_000_000);
  const ids = Array.from({ length: 60 }, (_, at) => String(at));
  const server = await answering(t, (response) => sendPage(response, server.asked.at(-1)!, ids, body));
  const boards = await all(server.client().boards({ pageSize: 50 }));
  assert.deepEqual(
    boards.map(({ id }) => id),
    ids,
  );
  const sizes = ['50', ...new Array(5).fill('13')];
  assert.deepEqual(limitsOf(server.asked), sizes);
  const batches = await all(server.client().sync({ pageSize: 50 }));
  assert.deepEqual(
    batches.flatMap(({ events }) => events.map(({ sync_id }) => sync_id)),
    ids,
  );
  assert.deepEqual(limitsOf(server.asked), [...sizes, ...sizes]);
});

/** A page of a list whose elements all have a long text. */
function sendPage(response: ServerResponse, path: string, ids: readonly string[], body: string): void {
  const { searchParams } = new URL(path, 'http://server');
  const first = Number(searchParams.get('cursor') ?? 0);
  const next = first + Number(searchParams.get('limit'));
  const lines = ids.slice(first, next).map((id) => JSON.stringify({ id: Number(id), sync_id: id, body }));
  const link = { link: `</v1?cursor=${next}>; rel="next"` };
  sendLines(response, lines, { 'sync-token': 't', ...(next < ids.length && link) });
}
