import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, IncomingMessage, type ServerOptions, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { after, before, describe, it } from 'node:test';
import type { ConnectionError } from 'fastify';
import { prepareConnections, refuseConnection } from '../../../src/server/traffic/connection.ts';
import { head, openStand, type Stand, sendRaw, until } from '../stand.ts';

const GET = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';
const CONNECT = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';

/** Opens a connection whose own half stays open until the test ends it. */
function open(port: number): Socket {
  // The server may reset a connection instead of reading everything.
  return connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined);
}

/**
 * Waits until the server has closed the connection completely, not only its own half: only then is
 * a byte answered by a reset.
 */
async function assertGivenUp(client: Socket, byte = 'x'): Promise<void> {
  await until(() => {
    if (!client.destroyed) client.write(byte);
    return client.destroyed;
  });
}

/** Status of each response, in order. */
function statuses(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

describe('a connection to the service', () => {
  let stand: Stand;
  before(async () => {
    stand = await openStand();
  });
  after(() => stand.close());

  async function assertNothingInFlight(): Promise<void> {
    await until(async () =>
      (await (await fetch(`${stand.url}/metrics`)).text()).includes('corkboard_requests_in_flight 1\n'),
    );
  }

  it('responds to a CONNECT in its turn after the request before it', async () => {
    const { status, body } = await sendRaw(stand.port, GET + CONNECT);
    assert.equal(status, 200);
    assert.deepEqual(statuses(body), [405]);
    await assertNothingInFlight();
  });

  it('may be reset at any moment during a CONNECT without consequences', async () => {
    for (const request of [CONNECT, GET + CONNECT]) {
      for (const wait of ['connect', 'write', 'data', 'end']) {
        for (let times = 0; times < 10; times++) {
          const client = open(stand.port).resume();
          if (wait !== 'connect') await once(client, 'connect');
          const written = new Promise((resolve) => client.write(request, resolve));
          if (wait === 'connect') await once(client, 'connect');
          if (wait === 'write') await written;
          if (wait === 'data' || wait === 'end') await once(client, wait);
          client.resetAndDestroy();
        }
      }
    }
    await assertNothingInFlight();
  });

  it('is closed after the response to a CONNECT', async () => {
    const client = open(stand.port).resume();
    client.write(CONNECT);
    await once(client, 'end');
    await assertGivenUp(client);
    await assertNothingInFlight();
  });

  it('gets the responses to pipelined requests in order, for requests of every kind', async () => {
    const key = { apikey: stand.key, connection: 'keep-alive' };
    const tag = (await stand.get('/a/v1/boards')).headers.get('etag') ?? '';
    const requests = [
      head('GET', '/a/v1/boards', key),
      head('HEAD', '/a/v1/boards', key),
      head('GET', '/a/v1/boards', { ...key, 'if-none-match': tag }),
      head('GET', '/a/v1/nowhere', key),
      head('OPTIONS', '/a/v1/boards', key),
      `${head('POST', '/a/v1/boards', { ...key, 'content-length': '5' })}hello`,
      head('GET', '/a/v1/boards', { ...key, expect: 'the unexpected' }),
      head('GET', '/a/v1/events', { connection: 'keep-alive' }),
    ];
    const { status, body } = await sendRaw(stand.port, requests.join('').repeat(20) + head('GET', '/livez'));
    const once = [200, 200, 304, 404, 204, 405, 200, 401];
    assert.deepEqual([status, ...statuses(body)], [...Array.from({ length: 20 }, () => once).flat(), 200]);
  });

  it('ignores bytes that are not a request after the responses to preceding requests', async () => {
    const { status, body } = await sendRaw(stand.port, `${GET + GET}no request\r\n\r\n`);
    assert.deepEqual([status, ...statuses(body)], [200, 200]);
  });
});

describe('a request on a connection', () => {
  type Handle = (request: IncomingMessage, response: ServerResponse) => void;

  interface Bare {
    readonly client: Socket;
    /** The end of the server. */
    readonly socket: Socket;
    /** Everything that the client has received so far. */
    text(): string;
  }

  /** A server with one client and any handler. Both are closed after the test. */
  async function withServer(
    handle: Handle,
    test: (bare: Bare) => Promise<void>,
    options: ServerOptions = {},
  ) {
    const server = createServer({ requireHostHeader: false, ...options }, handle);
    server.on('clientError', (error, socket) => {
      // The framework narrows both types in the same way.
      refuseConnection(error as ConnectionError, socket as Socket, () => undefined, {});
    });
    prepareConnections(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = open((server.address() as AddressInfo).port);
    let text = '';
    client.on('data', (bytes) => {
      text += bytes.toString('latin1');
    });
    try {
      const [socket] = await once(server, 'connection');
      await test({ client, socket, text: () => text });
    } finally {
      client.destroy();
      server.close();
      await once(server, 'close');
    }
  }

  it('is 408 and never begins if it is a GET whose body does not arrive', async () => {
    let begun = 0;
    const handle: Handle = () => {
      begun += 1;
    };
    const options = { requestTimeout: 50, headersTimeout: 50, connectionsCheckingInterval: 10 };
    await withServer(
      handle,
      async ({ client, socket, text }) => {
        client.write('GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{');
        await until(() => socket.destroyed);
        assert.deepEqual(statuses(text()), [408]);
        assert.equal(begun, 0);
      },
      options,
    );
  });

  it('begins when the response before it has ended', async () => {
    const underWay: ServerResponse[] = [];
    let begun = 0;
    const handle: Handle = (_request, response) => {
      begun += 1;
      underWay.push(response);
    };
    await withServer(handle, async ({ client, text }) => {
      client.write(GET.repeat(40));
      for (let turn = 1; turn <= 40; turn++) {
        await until(() => begun >= turn);
        assert.equal(begun, turn);
        underWay.pop()?.end();
      }
      await until(() => statuses(text()).length === 40);
    });
  });

  it('is not read while more than a few requests wait', async () => {
    let made = 0;
    class Counted extends IncomingMessage {
      constructor(socket: Socket) {
        super(socket);
        made += 1;
      }
    }
    const requests = 5_000;
    const request = `GET / HTTP/1.1\r\nfiller: ${'x'.repeat(1_000)}\r\n\r\n`;
    const perRead = Math.ceil((64 * 1024) / request.length);
    let answered = 0;
    let first: ServerResponse | undefined;
    const handle: Handle = (_request, response) => {
      assert.ok(made - answered <= 8 + perRead, `${made - answered} wait`);
      response.once('close', () => {
        answered += 1;
      });
      if (first === undefined) first = response;
      else response.end();
    };
    await withServer(
      handle,
      async ({ client, socket, text }) => {
        client.write(request.repeat(requests));
        await until(() => socket.isPaused());
        first?.end();
        await until(() => answered === requests);
        await until(() => statuses(text()).length === requests);
        assert.ok(!socket.isPaused());
      },
      { IncomingMessage: Counted },
    );
  });

  it('is cut off with its connection if a thousand requests wait', async () => {
    let begun = 0;
    await withServer(
      () => {
        begun += 1;
      },
      async ({ client }) => {
        client.write('GET / HTTP/1.1\r\n\r\n'.repeat(3_000));
        await once(client, 'end');
        assert.equal(begun, 1);
      },
    );
  });

  it('does not begin if its connection is closed', async () => {
    let begun = 0;
    let closed = 0;
    const handle: Handle = (_request, response) => {
      begun += 1;
      response.once('close', () => {
        closed += 1;
      });
    };
    await withServer(handle, async ({ client, socket }) => {
      client.write(GET.repeat(5));
      await until(() => begun === 1);
      client.resetAndDestroy();
      await until(() => socket.destroyed && closed === 1);
      assert.equal(begun, 1);
    });
  });

  it('does not stop a large response before it if it is a CONNECT', async () => {
    const piece = 'x'.repeat(100_000);
    const handle: Handle = ({ method }, response) => {
      const pieces = method === 'CONNECT' ? ['.'] : Array.from({ length: 200 }, () => piece);
      // Uses `drain`, which Node itself no longer forwards.
      pipeline(Readable.from(pieces), response).catch(() => undefined);
    };
    await withServer(handle, async ({ client, text }) => {
      client.write(GET + CONNECT);
      await once(client, 'end');
      assert.deepEqual(statuses(text()), [200, 200]);
      assert.equal(text().match(/x/g)?.length, 200 * piece.length);
    });
  });

  it('ends if it takes too long, even while bytes arrive', async () => {
    const options = { headersTimeout: 50, requestTimeout: 50, connectionsCheckingInterval: 10 };
    for (const start of ['GET / HTTP/1.1\r\na: ', 'POST / HTTP/1.1\r\ncontent-length: 9999999\r\n\r\n']) {
      await withServer(
        (_request, response) => void response.end(),
        async ({ client, text }) => {
          client.write(start);
          await assertGivenUp(client);
          assert.equal(statuses(text()).at(-1), 408);
        },
        options,
      );
    }
  });
});
