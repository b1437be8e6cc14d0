/** Statements of a learning record store that responds in pages, slowly, wrongly or not at all. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it, type TestContext } from 'node:test';
import { readStatements } from '../../../src/ingest/remote/record-store.ts';

type RenderedBody = (request: IncomingMessage, response: ServerResponse) => void;

async function openStore(t: TestContext, answers: readonly RenderedBody[]) {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    const answer = answers[asked.length - 1] ?? answers.at(-1);
    answer?.(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/xapi` };
}

const page =
  (statements: readonly unknown[], more = ''): RenderedBody =>
  (_request, response) =>
    response.end(JSON.stringify({ statements, more }));
const text =
  (body: string): RenderedBody =>
  (_request, response) =>
    response.end(body);
const status =
  (code: number, headers = {}): RenderedBody =>
  (_request, response) =>
    response.writeHead(code, headers).end('{}');

async function read(url: string, options = {}): Promise<string> {
  let text = '';
  for await (const part of readStatements({ url, ...options }, 1)) text += part;
  return text;
}

it('readStatements reads page after page, with its credentials, in the order of storing', async (t) => {
  const { asked, url } = await openStore(t, [
    page([{ id: 1 }, { id: 2 }], '/xapi/statements/more/7'),
    page([], '/xapi/statements/more/8'),
    page([{ id: 3 }]),
  ]);
  const options = { authorization: 'Basic eDp5', since: '2026-11-01T00:00:00Z' };
  assert.equal(await read(url, options), '{"id":1}\n{"id":2}\n{"id":3}\n');
  assert.deepEqual(
    asked.map(({ url }) => url),
    [
      '/xapi/statements?ascending=true&limit=500&since=2026-11-01T00%3A00%3A00Z',
      '/xapi/statements/more/7',
      '/xapi/statements/more/8',
    ],
  );
  for (const { headers } of asked) {
    assert.equal(headers['authorization'], 'Basic eDp5');
    assert.equal(headers['x-experience-api-version'], '1.0.3');
  }
});

it('readStatements keeps statements as written, deep ones and large numbers included, one per line', async (t) => {
  const nested = `{"x":${'['.repeat(6000)}${']'.repeat(6000)}}`;
  const written = `{ "more" : "" ,"statements":[\n{"id": 12345678901234567890,\r\n "a":"],}\\""}\n,${nested}] }\n`;
  const { url } = await openStore(t, [text(written)]);
  assert.equal(await read(url), `{"id": 12345678901234567890,  "a":"],}\\""}\n${nested}\n`);
});

it('readStatements retries when the store is busy, fails, or breaks off in the middle', async (t) => {
  const { asked, url } = await openStore(t, [
    status(429, { 'retry-after': '0' }),
    status(503),
    (request, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('{"state');
      setTimeout(() => request.socket.destroy(), 10);
    },
    (request) => request.socket.destroy(),
    page([{ id: 1 }]),
  ]);
  assert.equal(await read(url), '{"id":1}\n');
  assert.equal(asked.length, 5);
});

for (const [what, answer, reason] of [
  ['refuses', status(401), /status 401/],
  ['keeps failing', status(500), /status 500/],
  ['is something else', text('<html>'), /not a page of statements/],
  ['has no list', text('{"statements":1}'), /not a page of statements/],
  ['sends half a page', text('{"statements":[{"id":1},{"id":2'), /not a page of statements/],
  ['has an address that is no text', text('{"statements":[],"more":"\\x"}'), /not a page of statements/],
  ['leads to another host', page([{ id: 1 }], 'http://127.0.0.2:1/xapi/more'), /a different host/],
  ['leads in circles', page([{ id: 1 }], '/xapi/statements/more/1'), /in a circle/],
  ['leads nowhere', page([{ id: 1 }], 'http://['), /is invalid/],
  ['redirects', status(302, { location: 'http://127.0.0.2:1/' }), /./],
] as const satisfies readonly (readonly [string, RenderedBody, RegExp])[]) {
  it(`fails with the reason where the store ${what}`, async (t) => {
    const { url } = await openStore(t, [answer]);
    await assert.rejects(read(url, { authorization: 'Basic eDp5' }), (error: Error) => {
      assert.equal(Reflect.get(error, 'code'), 'file-unreadable');
      assert.match(error.message, reason);
      assert.doesNotMatch(error.message, /eDp5/);
      return true;
    });
  });
}
