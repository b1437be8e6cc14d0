/**
 * `fetch` for untrusted servers, built on `node:http`. With the global `fetch`, a server that
 * closes its connection while its response is not being read ends the whole process: an assertion
 * of the library fails where it cannot be caught (nodejs/undici#5360).
 */
import { get as getPlain, type IncomingMessage } from 'node:http';
import { get as getSecure } from 'node:https';

const WITHOUT_BODY: readonly number[] = [204, 304];

/**
 * Accepts only a URL, plain header fields and a signal; does not follow redirects. The body is not
 * read before it is requested. Cancelling the body closes the connection, and so does the signal.
 */
export const fetchUntrusted: typeof fetch = async (url, { headers, signal } = {}) => {
  const get = String(url).startsWith('https:') ? getSecure : getPlain;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const options = {
    headers: { 'accept-encoding': 'identity', ...(headers as Readonly<Record<string, string>>) },
    ...(signal && { signal }),
  };
  const request = get(String(url), options, resolve);
  request.on('error', reject);
  // A server that switches to a different protocol sends no response.
  request.on('close', () => reject(new Error('the connection was closed without a response')));
  const message = await promise;
  // The rest of a body that is not read to its end is of no interest, including its errors.
  message.on('error', () => {});
  const { statusCode: status = 0 } = message;
  // A `Response` cannot have these.
  if (status < 200 || status === 205 || status > 599) {
    message.destroy();
    throw new Error(`it responded with status ${status}`);
  }
  const hasBody = !WITHOUT_BODY.includes(status);
  if (!hasBody) message.resume();
  return new Response(hasBody ? bodyOf(message) : null, { status, headers: headersOf(message) });
};

function bodyOf(message: IncomingMessage): ReadableStream<Uint8Array> {
  const parts: AsyncIterator<Uint8Array> = message[Symbol.asyncIterator]();
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await parts.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => {
        message.destroy();
      },
    },
    { highWaterMark: 0 },
  );
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  }
  return headers;
}
