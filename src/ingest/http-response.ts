/**
 * One response of another server, by `node:http`. With `fetch` a server that closes its connection
 * while its response is not being read ends the whole process: an assertion of the library fails
 * where nobody can catch it (nodejs/undici#5360).
 */
import { get as getPlain, type IncomingMessage } from 'node:http';
import { get as getSecure } from 'node:https';

/** The parts of a body as they come. A body that ends before its time throws between two of them. */
export type Body = AsyncIterable<Uint8Array>;

export interface HttpResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Ends the connection when it is left before its end. */
  readonly body: Body;
  /** Of no use any more: ends the connection, unless all of the response has come. */
  discard(): void;
}

/** Rejects when no response comes. The signal ends the connection, also while the body is read. */
export async function requestResponse(
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const get = url.protocol === 'https:' ? getSecure : getPlain;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = get(url, { headers: { 'accept-encoding': 'identity', ...headers }, signal }, resolve);
  request.on('error', reject);
  // A server that changes to another protocol sends no response.
  request.on('close', () => reject(new Error('the connection was closed without a response')));
  const message = await promise;
  // A body that is not read to its end is of no interest, and neither is how it breaks.
  message.on('error', () => {});
  return {
    status: message.statusCode ?? 0,
    headers: headersOf(message),
    body: message,
    discard: () => {
      if (message.complete) message.resume();
      else message.destroy();
    },
  };
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  }
  return headers;
}
