/** An HTTP server with any response a test needs, even invalid ones, and a client for it. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ClientA, openClient, type RetryOptions } from '../../src/client/client.ts';

export const KEY = 'cork_0123_a-secret-that-stays-hidden_9';

export interface OddServer {
  readonly url: string;
  /** Path and query of every request so far. */
  readonly asked: readonly string[];
  client(retry?: RetryOptions, fetch?: typeof globalThis.fetch): ClientA;
  close(): Promise<void>;
}

export type Answering = (response: ServerResponse, request: IncomingMessage) => unknown;

export async function openOddServer(answer: Answering): Promise<OddServer> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    // Broken connections are part of these tests.
    response.on('error', () => undefined);
    void answer(response, request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...{ url, asked },
    client: (retry = { retries: 0 }, fetch = globalThis.fetch) =>
      openClient({ baseUrl: `${url}/a`, key: KEY, variant: 'a', retry, fetch }),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A server that closes at the end of the test. */
export async function answering(
  t: { after(end: () => Promise<void>): void },
  answer: Answering,
): Promise<OddServer> {
  const server = await openOddServer(answer);
  t.after(() => server.close());
  return server;
}

export function sendLines(
  response: ServerResponse,
  lines: readonly string[],
  fields: Record<string, string> = {},
): void {
  response.writeHead(200, { 'content-type': 'application/x-ndjson', ...fields });
  response.end(lines.map((line) => `${line}\n`).join(''));
}

export function sendRefusal(
  response: ServerResponse,
  status: number,
  code: string,
  fields: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/problem+json', ...fields });
  response.end(JSON.stringify({ title: 'Refused', status, detail: `Refused as ${code}.`, code }));
}

export async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const elements: T[] = [];
  for await (const element of list) elements.push(element);
  return elements;
}

/** The error with which a promise is rejected. */
export async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => {
      throw new Error('it was not rejected');
    },
    (error: unknown) => error,
  );
}
