/** The admin address in this process: its form, its limits, and what it shows during a stop. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { startAdmin } from '../../src/server/admin.ts';
import { ALIVE, bad, good, type Health } from '../../src/server/observability/health.ts';
import { startServer } from '../../src/server/start.ts';
import { assertProblem, head, openStand, type Stand, sendRaw, until } from './stand.ts';

describe('the admin address', () => {
  let stand: Stand;
  let port: number;
  let readiness: () => Promise<Health> = async () => good('ready');
  const lines: Record<string, unknown>[] = [];
  const logStream = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const close: (() => Promise<void>)[] = [];

  before(async () => {
    stand = await openStand();
    const admin = await startAdmin(
      { host: '127.0.0.1', port: 0, logStream },
      {
        liveness: async () => ALIVE,
        readiness: () => readiness(),
        metrics: async () => 'corkboard_workers 1\n',
      },
    );
    port = Number(new URL(admin.address).port);
    close.push(() => admin.stop(), stand.close);
  });
  after(async () => {
    for (const end of close) await end();
  });

  it('has the routes for operators and no others', async () => {
    assert.equal((await sendRaw(port, head('GET', '/livez'))).body, '{"status":"alive"}');
    assert.equal(
      (await sendRaw(port, head('GET', '/healthz'))).body,
      (await sendRaw(port, head('GET', '/readyz'))).body,
    );
    assert.equal((await sendRaw(port, head('GET', '/metrics'))).body, 'corkboard_workers 1\n');
    assert.equal((await sendRaw(port, head('HEAD', '/metrics'))).body, '');
    assert.equal((await sendRaw(port, head('OPTIONS', '/readyz'))).status, 204);
    for (const path of ['/', '/docs', '/a/v1/boards', '/openapi.json', '/console']) {
      const reply = await sendRaw(port, head('GET', path, { apikey: stand.key }));
      assertProblem(reply, 404, 'not-found');
      assert.ok(!reply.body.includes(stand.key));
    }
  });

  it('is as strict about requests as the public port, and logs neither requests nor keys', async () => {
    assertProblem(await sendRaw(port, head('POST', '/livez')), 405, 'method-not-allowed');
    const long = head('GET', `/${'x'.repeat(9_000)}`);
    assertProblem(await sendRaw(port, long), 414, 'uri-too-long');
    const many = head('GET', '/livez', { 'x-filler': 'x'.repeat(17_000) });
    assertProblem(await sendRaw(port, many), 431, 'headers-too-large');
    assertProblem(await sendRaw(port, `X ${stand.key}\r\n\r\n`), 501, 'method-not-implemented');
    const text = JSON.stringify(lines);
    assert.ok(!text.includes(stand.key) && !text.includes('"request"'), text);
    assert.match(text, /"code":"headers-too-large","client":"127\.0\.0\.1"/);
  });

  it('closes excessive connections', async () => {
    const sockets = Array.from({ length: 80 }, () => connect(port, '127.0.0.1').on('error', () => {}));
    let closed = 0;
    for (const socket of sockets) socket.once('close', () => (closed += 1)).resume();
    await until(() => closed === 16);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await sendRaw(port, head('GET', '/livez'))).status === 200);
  });

  it('logs a failure and sends only its id', async () => {
    readiness = async () => {
      throw new Error('secret detail');
    };
    const reply = await sendRaw(port, head('GET', '/readyz'));
    const problem = assertProblem(reply, 500, 'internal');
    assert.ok(!reply.body.includes('secret detail'));
    await until(() => lines.some((line) => line['request_id'] === problem['request_id']));
    assert.match(JSON.stringify(lines), /"msg":"request failed"/);
    readiness = async () => bad('stopping');
    assert.equal((await sendRaw(port, head('GET', '/readyz'))).status, 503);
  });

  it('shows the state of a server, also while it stops', async () => {
    const server = await startServer({
      ...{ host: '127.0.0.1', port: 0, defaultVariant: 'a', logStream, hasAdmin: true },
      ...{ store: stand.served, keyring: stand.keyring },
    });
    assert.deepEqual(await server.operation.readiness(), good('ready'));
    assert.equal((await fetch(`${server.address}/metrics`)).status, 404);
    const stopped = server.stop();
    assert.deepEqual(await server.operation.readiness(), bad('stopping'));
    assert.deepEqual(await server.operation.liveness(), ALIVE);
    await stopped;
  });
});

describe('the version of the product', () => {
  it('is in every response, unless the server does not show it', async () => {
    for (const showsVersion of [true, false]) {
      const stand = await openStand({ showsVersion });
      const { port } = stand;
      const etag = (await stand.get('/a/v1/boards')).headers.get('etag') ?? '';
      const replies = await Promise.all([
        sendRaw(port, head('GET', '/a/v1/boards', { apikey: stand.key })),
        sendRaw(port, head('GET', '/a/v1/boards', { apikey: stand.key, 'if-none-match': etag })),
        sendRaw(port, head('GET', '/a/v1/boards')),
        sendRaw(port, head('GET', '/nowhere')),
        sendRaw(port, head('OPTIONS', '/livez')),
        sendRaw(port, 'garbage\r\n\r\n'),
      ]);
      assert.deepEqual(
        replies.map(({ status }) => status),
        [200, 304, 401, 404, 204, 501],
      );
      for (const { headers } of replies) {
        assert.match(headers.get('server') ?? 'none', showsVersion ? /^corkboard\/\d+\.\d+\.\d+$/ : /^none$/);
      }
      const document = await (await stand.get('/openapi.json')).text();
      assert.equal(document.includes('x-corkboard-version'), showsVersion);
      await stand.close();
    }
  });
});
