/**
 * Requests to a server that closes its connection at a bad moment: the body arrives whole, or its
 * reader can refuse it.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '../../../src/domain/app-error.ts';
import { requestWithRetry, textOf } from '../../../src/ingest/remote/request-with-retry.ts';

/** The number of bytes that are read ahead of the consumer. */
const BODY = 'a'.repeat(64 * 1024);
const refused = (reason: string) => new AppError('source-refused', reason);
const REQUEST = { path: '/' };
/**
 * After this many turns of the event loop, an idle client has seen that the connection is closed.
 */
const TURNS = 200;

/** Sends the head and the body at once, and closes; `closed` resolves when all of it is sent. */
async function openHasty(t: TestContext, head: string) {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () =>
      socket.end(`HTTP/1.1 200 OK\r\n${head}connection: close\r\n\r\n${BODY}`, resolve),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return { origin: { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }, closed };
}

for (const [what, head] of [
  ['a length', `content-length: ${BODY.length}\r\n`],
  ['no length', ''],
] as const) {
  describe(`a response with ${what} from a server that closes the connection at once`, () => {
    it('is whole, even if its reading starts only then', async (t) => {
      const { origin, closed } = await openHasty(t, head);
      const read = async (body: AsyncIterable<Uint8Array>) => {
        await closed;
        for (let turn = 0; turn < TURNS; turn++) await nextTurn();
        return await textOf(body, BODY.length, () => refused('too long'));
      };
      assert.equal(await requestWithRetry(origin, REQUEST, read), BODY);
    });

    it('can be refused after its first chunk', async (t) => {
      const { origin } = await openHasty(t, head);
      const read = async (body: AsyncIterable<Uint8Array>) => {
        for await (const _part of body) throw refused('no list');
      };
      await assert.rejects(requestWithRetry(origin, REQUEST, read), { message: 'no list' });
      for (let turn = 0; turn < TURNS; turn++) await nextTurn();
    });

    it('need not be read at all', async (t) => {
      const { origin } = await openHasty(t, head);
      assert.equal(await requestWithRetry(origin, REQUEST, async () => 'unread'), 'unread');
      for (let turn = 0; turn < TURNS; turn++) await nextTurn();
    });
  });
}
