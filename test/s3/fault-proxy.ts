/** An HTTP proxy in front of an S3-compatible server that injects faults into requests. */
import { createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export interface Proxied {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Counts requests since the fault was set, from 1. */
  readonly number: number;
  /** Sends the request to the server and returns its response. */
  forward(): Promise<Reply>;
}

/** Responds itself, or returns `false` to let the request pass. */
export type Fault = (proxied: Proxied) => boolean | Promise<boolean>;

export class FaultProxy {
  readonly #server = createServer();
  readonly #target: string;
  #fault: Fault = () => false;
  /** Requests since the fault was set. */
  requests = 0;

  private constructor(target: string) {
    this.#target = target;
  }

  static async start(target: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    proxy.#server.on('request', (request, response) => {
      proxy.#handle(request, response).catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  set fault(fault: Fault) {
    this.#fault = fault;
    this.requests = 0;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Reads the whole body first: a response in the middle of a request sometimes breaks the
    // connection.
    const body = await buffer(request);
    const number = ++this.requests;
    const forward = () => forwarded(this.#target, request, body);
    if (await this.#fault({ request, response, number, forward })) return;
    send(response, await forward());
  }
}

export function send(response: ServerResponse, { status, headers, body }: Reply): void {
  response.writeHead(status, headers).end(body);
}

/** Responds with an error as S3 words it. */
export function sendError(response: ServerResponse, status: number, code: string, message = 'No.'): true {
  const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`;
  response.writeHead(status, { 'content-type': 'application/xml' }).end(body);
  return true;
}

/** Sends a reply up to the middle of its body, if it has one, then breaks the connection. */
export function sendHalf(response: ServerResponse, { status, headers, body }: Reply): boolean {
  if (body.length === 0) return response.destroy().destroyed;
  response.writeHead(status, headers);
  response.write(body.subarray(0, body.length >> 1), () => response.destroy());
  return true;
}

async function forwarded(target: string, request: IncomingMessage, body: Buffer): Promise<Reply> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const { method, headers, url } = request;
    sendRequest(new URL(target), { method, headers, path: url, agent: false }, resolve)
      .on('error', reject)
      .end(body);
  });
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
}
