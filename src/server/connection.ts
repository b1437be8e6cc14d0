/**
 * What does not reach the pipeline by itself: bytes that Node's parser refuses, and the events that stand beside
 * `request`. Whatever is a request is led into the pipeline; the rest is answered here, before the socket closes.
 */

import { randomUUID } from 'node:crypto';
import { type Server, ServerResponse, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { ConnectionError } from 'fastify';
import type { Observe } from './observe.ts';
import { PROBLEMS, type ProblemCode, problemBody, problemHeaders } from './problem.ts';
import { LONGEST_TARGET_BYTES } from './target.ts';

/** Answers under way, by socket: writing a refusal among them would garble them, closing would cut them. */
const answersUnderWay = new WeakMap<Socket, number>();

function isAnswering(socket: Socket): boolean {
  return (answersUnderWay.get(socket) ?? 0) > 0;
}

/** Sockets on which nothing more can be understood; they close after the answers under way. */
const incomprehensible = new WeakSet<Socket>();

function countAnswers(socket: Socket, change: 1 | -1): void {
  answersUnderWay.set(socket, (answersUnderWay.get(socket) ?? 0) + change);
  if (!isAnswering(socket) && incomprehensible.has(socket)) socket.end();
}

/**
 * Node's own way takes an answer that is written, but has not left yet, for ended and cuts it, and a connection on
 * which nothing has come yet for busy.
 */
function closeOnlyIdleConnections(server: Server): void {
  const connections = new Set<Socket>();
  server.on('connection', (connection: Socket) => {
    connections.add(connection);
    connection.once('close', () => connections.delete(connection));
  });
  server.closeIdleConnections = () => {
    for (const connection of connections) if (!isAnswering(connection)) connection.destroy();
  };
}

export function prepareConnections(server: Server): void {
  closeOnlyIdleConnections(server);
  server.on('request', ({ socket }, response) => {
    countAnswers(socket, 1);
    response.once('close', () => countAnswers(socket, -1));
  });
  // No body is wanted, so none is invited; other expectations may be passed over (RFC 9110, 10.1.1).
  server.on('checkContinue', (request, response) => server.emit('request', request, response));
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('connect', (request, socket) => {
    if (!(socket instanceof Socket)) return socket.destroy();
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.end());
    return server.emit('request', request, response);
  });
}

/** Answers bytes that are no request, if nothing else is being said on the connection, and closes it. */
export function refuseConnection(error: ConnectionError, socket: Socket, observe: Observe): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  if (isAnswering(socket)) {
    incomprehensible.add(socket);
    return;
  }
  const code = codeOf(error);
  observe({ type: 'connection-refused', code });
  const { status, title, remedy } = PROBLEMS[code];
  const requestId = randomUUID();
  const body = problemBody(code, `${title}. ${remedy}`, '/', requestId);
  const fields = {
    ...problemHeaders(code),
    'content-length': body.length,
    'x-content-type-options': 'nosniff',
    'x-request-id': requestId,
    date: new Date().toUTCString(),
    connection: 'close',
  };
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    Buffer.concat([Buffer.from(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n`), body]),
  );
}

function codeOf({ code, rawPacket }: ConnectionError): ProblemCode {
  if (code === 'HPE_INVALID_METHOD') return 'method-not-implemented';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request-timeout';
  if (code !== 'HPE_HEADER_OVERFLOW') return 'request-malformed';
  // The parser counts the URL among the headers. A first line that alone is too long tells which of them it was.
  const lineEnd = Buffer.isBuffer(rawPacket) ? rawPacket.indexOf('\r\n') : -1;
  return lineEnd === -1 || lineEnd > LONGEST_TARGET_BYTES ? 'uri-too-long' : 'headers-too-large';
}
