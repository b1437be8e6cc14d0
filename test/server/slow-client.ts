/** A client that reads the beginning of a response, and the rest only on demand. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import type { Stand } from './stand.ts';

export interface SlowClient {
  readonly status: number;
  readonly headers: string;
  /** Bytes of the body so far. */
  bodyBytes(): number;
  /** The body so far, as text. */
  bodyText(): string;
  /** Reads the rest. Resolves with the received body once the server has closed the connection. */
  takeRest(): Promise<Buffer>;
  /** Resolves when the connection is closed, even if bytes have not been read. */
  readonly closed: Promise<unknown>;
  vanish(): void;
}

/** Resolves when the head of the response has arrived, or the connection is closed without one. */
export async function askSlowly(
  { port, key }: Pick<Stand, 'port' | 'key'>,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<SlowClient> {
  const socket = connect(port, '127.0.0.1');
  const fields = Object.entries({ host: 'x', connection: 'close', apikey: key, ...headers });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  // A response that is cut off resets the connection.
  socket.on('error', () => undefined);
  socket.write(
    `${method} ${path} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
  );
  const chunks = await readHead(socket);
  const received = () => Buffer.concat(chunks);
  const headEnd = received().indexOf('\r\n\r\n');
  // If the connection was closed without a response, the status is NaN.
  const bodyStart = headEnd === -1 ? 0 : headEnd + 4;
  const head = received().subarray(0, bodyStart).toString('latin1');
  return {
    status: Number(head.split(' ')[1]),
    headers: head,
    bodyBytes: () => chunks.reduce((sum, { length }) => sum + length, 0) - bodyStart,
    bodyText: () => received().subarray(bodyStart).toString(),
    async takeRest() {
      socket.resume();
      await closed;
      return received().subarray(bodyStart);
    },
    closed,
    vanish: () => socket.destroy(),
  };
}

async function readHead(socket: Socket): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    if (chunks.length === 1) socket.pause();
  });
  await new Promise((resolve) => {
    socket.once('data', resolve);
    socket.once('close', resolve);
  });
  return chunks;
}

/** The value of a line of `/metrics`; 0 if there is no such line. */
export async function metric({ url }: Pick<Stand, 'url'>, line: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const found = text.split('\n').find((one) => one.startsWith(`${line} `));
  return Number(found?.slice(line.length + 1) ?? 0);
}

/**
 * Asserts that a response is a refusal because of a limit, names the limit, and has no header
 * fields of the requested response.
 */
export async function assertRefused(
  asked: Promise<SlowClient>,
  status: number,
  code: string,
  limit: string,
): Promise<void> {
  const refused = await asked;
  const body = (await refused.takeRest()).toString();
  assert.equal(refused.status, status, body);
  assert.match(refused.headers, /\r\nretry-after: 5\r\n/i);
  assert.doesNotMatch(refused.headers, /\r\n(etag|sync-token|content-encoding):/i);
  const problem = JSON.parse(body);
  assert.equal(problem.code, code);
  assert.ok(problem.detail.includes(`(${limit}`), problem.detail);
}
