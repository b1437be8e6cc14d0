/**
 * Bodies of GET and HEAD. They have no meaning (RFC 9110, 9.3.1), but some clients always send one:
 * a small one is received and ignored (decision 67). Bodies of other methods are not read here.
 */
import type { IncomingMessage } from 'node:http';

const LARGEST_IGNORED_BYTES = 64 * 1024;

/** Requests with a body of unknown length that turned out to be larger. */
const larger = new WeakSet<IncomingMessage>();

/** Whether the body must be received before the request is handled. */
export function hasIgnoredBody(request: IncomingMessage): boolean {
  return hasBody(request) && ignoresBody(request) && announcedBytes(request) <= LARGEST_IGNORED_BYTES;
}

/** Whether the request has a body that is not ignored, as far as it has been received. */
export function hasUnexpectedBody(request: IncomingMessage): boolean {
  return hasBody(request) && (!hasIgnoredBody(request) || larger.has(request));
}

/**
 * Calls back once: when the whole body has been received, or more of it than can be ignored. Never
 * calls back if the connection ends earlier.
 */
export function receiveBody(request: IncomingMessage, onReceived: () => void): void {
  let bytes = 0;
  request.once('end', onReceived);
  // The rest of a larger body is discarded until the response has closed the connection.
  request.on('data', function count(chunk: Buffer) {
    bytes += chunk.length;
    if (bytes <= LARGEST_IGNORED_BYTES) return;
    larger.add(request);
    request.off('data', count).off('end', onReceived).resume();
    onReceived();
  });
}

function hasBody(request: IncomingMessage): boolean {
  return announcedBytes(request) > 0 || request.headers['transfer-encoding'] !== undefined;
}

function ignoresBody({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

function announcedBytes({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0);
}
