import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { AnswerError } from '../../src/client/client.ts';
import { until } from '../server/stand.ts';
import { all, answering, errorOf, sendLines } from './odd-server.ts';

function board(id: number, title = 'x'.repeat(1_000)): string {
  return JSON.stringify({ id, title });
}

/** Writes lines without end, no faster than the client reads them. */
async function sendForEver(response: ServerResponse, wrote: (bytes: number) => void): Promise<void> {
  function* lines() {
    for (let id = 0; ; id += 1) {
      const line = `${board(id)}\n`;
      wrote(line.length);
      yield line;
    }
  }
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  // The client is expected to disconnect.
  await pipeline(Readable.from(lines()), response).catch(() => undefined);
}

describe('a list as a stream', () => {
  it('is read no faster than its consumer takes it, and closes when the consumer stops', async (t) => {
    let written = 0;
    let lastMs = performance.now();
    let closed = false;
    const server = await answering(t, (response) => {
      response.on('close', () => {
        closed = true;
      });
      return sendForEver(response, (bytes) => {
        written += bytes;
        lastMs = performance.now();
      });
    });
    for await (const { id } of server.client().boards()) {
      // A client that reads ahead would make the server write on and on.
      if (id === '0') await until(() => performance.now() - lastMs > 300);
      if (id === '0') assert.ok(written < 64e6, `${written} bytes lie between the two`);
      if (id === '9000') break;
    }
    await until(() => closed);
    assert.ok(written > 9e6);
  });

  it('has the same elements however its bytes are cut', async (t) => {
    const lines = [board(1, 'Zoë Ångström 🙂'), board(2, ''), board(3, 'a\nb\u2028"id":5')];
    const bytes = Buffer.from(`${lines.join('\n')}\n`);
    const server = await answering(t, async (response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson; charset=utf-8' });
      response.socket?.setNoDelay(true);
      for (const byte of bytes) {
        await new Promise((resolve) => response.write(Uint8Array.of(byte), resolve));
      }
      response.end();
    });
    const expected = lines
      .map((line) => JSON.parse(line))
      .map(({ id, title }) => ({ id: String(id), title }));
    assert.deepEqual(await all(server.client().boards()), expected);
  });

  it('may be empty', async (t) => {
    const server = await answering(t, (response) => sendLines(response, []));
    assert.deepEqual(await all(server.client().boards()), []);
  });

  it('may be compressed, with a Content-Length of the compressed bytes', async (t) => {
    // So short that compression makes it longer.
    const body = gzipSync(`${board(1, '')}\n`);
    assert.ok(body.length > board(1, '').length + 1);
    const server = await answering(t, (response) => {
      const fields = { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' };
      response.writeHead(200, { ...fields, 'content-length': String(body.length) }).end(body);
    });
    assert.equal((await all(server.client().boards())).length, 1);
  });

  it('reports that it was cut short, after the complete elements', async (t) => {
    const server = await answering(t, (response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson', 'content-length': '5000' });
      response.write(`${board(1)}\n${board(2)}\n`, () => response.socket?.end());
    });
    const seen: string[] = [];
    const error = await errorOf(
      (async () => {
        for await (const { id } of server.client({ retries: 5, firstPauseMs: 1 }).boards()) seen.push(id);
      })(),
    );
    assert.deepEqual(seen, ['1', '2']);
    assert.ok(error instanceof AnswerError);
    assert.equal(error.code, 'cut-short');
    assert.match(error.message, / of 5000 and is incomplete/);
    assert.equal(server.asked.length, 1, 'what has been given is not asked for again');
  });

  it('reports that it was cut short if the runtime does not notice', async (t) => {
    const server = await answering(t, (response) => sendLines(response, [board(1)]));
    const body = `${board(1)}\n${board(2)}\n`;
    // Responses as the platform delivers them: shorter than Content-Length, or without the last
    // line end.
    const cut = (length: string | undefined, text: string) => async (): Promise<Response> =>
      new Response(text, {
        headers: {
          'content-type': 'application/x-ndjson',
          ...(length !== undefined && { 'content-length': length }),
        },
      });
    for (const fetch of [cut(String(body.length), `${board(1)}\n`), cut(undefined, body.slice(0, -1))]) {
      const error = await errorOf(all(server.client({ retries: 0 }, fetch).boards()));
      assert.ok(error instanceof AnswerError && error.code === 'cut-short', String(error));
    }
  });
});

describe('a list in pages', () => {
  it('uses only the cursor of Link, so that a proxy may be in between', async (t) => {
    const server = await answering(t, (response) => {
      if (server.asked.length === 2) return sendLines(response, [board(3, '')]);
      const link = '<http://inside.example/v1/boards?limit=2&cursor=ab_-c>; rel="next"';
      return sendLines(response, [board(1, ''), board(2, '')], { link });
    });
    assert.deepEqual(
      (await all(server.client().boards({ pageSize: 2 }))).map(({ id }) => id),
      ['1', '2', '3'],
    );
    assert.deepEqual(server.asked, ['/a/v1/boards?limit=2', '/a/v1/boards?limit=2&cursor=ab_-c']);
  });
});
