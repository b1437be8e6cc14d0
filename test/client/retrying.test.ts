import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { AnswerError, openClient, ProblemError, type Retry } from '../../src/client/client.ts';
import { all, answering, errorOf, KEY, sendLines, sendRefusal } from './odd-server.ts';

const BOARD = '{"id":7,"title":"Welcome"}';
const QUICK = { retries: 3, firstPauseMs: 1 };

describe('the client retries', () => {
  for (const status of [429, 502, 503, 504]) {
    it(`after ${status}`, async (t) => {
      let left = 2;
      const server = await answering(t, (response) => {
        left -= 1;
        if (left >= 0) return sendRefusal(response, status, 'database-away');
        return sendLines(response, [BOARD]);
      });
      assert.deepEqual(await all(server.client(QUICK).boards()), [{ id: '7', title: 'Welcome' }]);
      assert.equal(server.asked.length, 3);
    });
  }

  it('after a broken connection, and after a page that was cut short', async (t) => {
    const errors: string[] = [];
    const server = await answering(t, (response) => {
      if (server.asked.length === 1) return response.socket?.destroy();
      if (server.asked.length > 2) return sendLines(response, [BOARD]);
      response.writeHead(200, { 'content-type': 'application/x-ndjson', 'content-length': '1000' });
      return response.write(`${BOARD}\n`, () => response.socket?.destroy());
    });
    const onRetry = ({ error }: Retry) => errors.push(error.code);
    const boards = await all(server.client({ ...QUICK, onRetry }).boards({ pageSize: 5 }));
    assert.equal(boards.length, 1, 'nothing of the page that was cut short is given twice');
    assert.deepEqual(errors, ['unreachable', 'cut-short']);
  });

  it('no more often than configured, and then throws the last refusal', async (t) => {
    const server = await answering(t, (response) => sendRefusal(response, 503, 'not-published'));
    const error = await errorOf(server.client(QUICK).pointsOfBoard(7));
    assert.ok(error instanceof ProblemError);
    assert.deepEqual(
      [error.status, error.code, error.message],
      [503, 'not-published', 'Refused as not-published. (503 not-published)'],
    );
    assert.equal(server.asked.length, 4);
  });

  it('never after a permanent refusal', async (t) => {
    const server = await answering(t, (response) => sendRefusal(response, 404, 'not-found'));
    await errorOf(server.client(QUICK).pointsOfBoard(7));
    assert.equal(server.asked.length, 1);
  });

  it('with growing pauses, never shorter than the server requires', async (t) => {
    const retryAfter = ['', '', '', '7', new Date(Date.now() + 9_000).toUTCString()];
    const server = await answering(t, (response) => {
      const wanted = retryAfter[server.asked.length - 1] ?? '';
      sendRefusal(response, 429, 'rate-limited', wanted === '' ? {} : { 'retry-after': wanted });
    });
    const pauses: number[] = [];
    const controller = new AbortController();
    // The long pauses are checked, not waited for.
    const onRetry = ({ pauseMs }: Retry) => {
      pauses.push(pauseMs);
      if (pauseMs > 1_000) controller.abort(new Error('seen'));
    };
    const retry = { retries: 9, firstPauseMs: 8, onRetry };
    await assert.rejects(
      server.client(retry).pointsOfBoard(7, { signal: controller.signal }),
      /^Error: seen$/,
    );
    for (const [index, pauseMs] of pauses.slice(0, 3).entries()) {
      assert.ok(pauseMs >= 4 * 2 ** index && pauseMs <= 8 * 2 ** index, `${pauses}`);
    }
    assert.equal(pauses[3], 7_000);
    const error = await errorOf(server.client({ retries: 1, longestPauseMs: 2_000 }).pointsOfBoard(7));
    assert.ok(error instanceof ProblemError && error.retryAfterMs! > 2_000 && error.retryAfterMs! <= 9_000);
    assert.equal(server.asked.length, 5, 'a server that asks for a longer pause gets it');
  });
});

describe('a response that is not from this service', () => {
  it('is reported as unreachable when no server listens', async () => {
    const unused = createServer().listen(0, '127.0.0.1');
    await once(unused, 'listening');
    const address = unused.address();
    assert.ok(typeof address === 'object' && address !== null);
    unused.close();
    await once(unused, 'close');
    const open = { baseUrl: `http://127.0.0.1:${address.port}`, key: KEY, retry: { retries: 0 } };
    const error = await errorOf(openClient({ ...open, variant: 'a' }).pointsOfBoard(7));
    assert.ok(error instanceof AnswerError);
    assert.equal(error.code, 'unreachable');
    assert.match(error.message, /ECONNREFUSED/);
    assert.doesNotMatch(inspect(error, { depth: 9, showHidden: true }), new RegExp(KEY));
  });

  it('is refused if it is a redirect, which is not followed', async (t) => {
    const other = await answering(t, (response) => sendLines(response, [BOARD]));
    const server = await answering(t, (response) =>
      response.writeHead(301, { location: `${other.url}/v1/boards` }).end(),
    );
    const error = await errorOf(all(server.client(QUICK).boards()));
    assert.ok(error instanceof AnswerError);
    assert.equal(error.code, 'redirected');
    assert.deepEqual([server.asked.length, other.asked.length], [1, 0], 'the key goes nowhere else');
  });

  it('is refused if it is HTML or invalid JSON', async (t) => {
    const server = await answering(t, (response) => {
      if (server.asked.length === 1)
        return response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
      return sendLines(response, ['{"email":"ada@example.org",}']);
    });
    for (const telling of [/has the type text\/html/, /not JSON/]) {
      const error = await errorOf(all(server.client(QUICK).boards()));
      assert.ok(error instanceof AnswerError && error.code === 'unreadable');
      assert.match(error.message, telling);
      assert.doesNotMatch(inspect(error, { depth: 9 }), /ada@example/);
    }
  });

  it('is reported with its status if a proxy refuses, without the key', async (t) => {
    const server = await answering(t, (response) => {
      if (server.asked.length === 1) return response.writeHead(403).end('<html>');
      return response.writeHead(401).end(JSON.stringify({ code: 'x', title: KEY, detail: `Not ${KEY}!` }));
    });
    const error = await errorOf(server.client().pointsOfBoard(7));
    assert.ok(error instanceof ProblemError);
    assert.deepEqual([error.status, error.code], [403, 'unknown']);
    const echo = await errorOf(server.client().pointsOfBoard(7));
    assert.match(String(echo), /Not …! \(401 x\)/);
    assert.doesNotMatch(inspect(echo, { depth: 9, showHidden: true }), new RegExp(KEY));
  });
});
