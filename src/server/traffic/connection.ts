/**
 * Connection events that do not reach the pipeline by themselves: bytes that Node's parser refuses,
 * and events other than `request`. Every request is passed to the pipeline. Anything else gets its
 * response here, before the socket closes.
 */

import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, ServerResponse, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { ConnectionError } from 'fastify';
import { PROBLEMS, type ProblemCode } from '../../domain/app-error.ts';
import { addressOf } from '../../domain/network.ts';
import { problemBody, problemHeaders } from '../http/problem.ts';
import { hasIgnoredBody, receiveBody } from '../http/request-body.ts';
import { LONGEST_TARGET_BYTES } from '../http/target.ts';
import type { Observe } from '../observability/observe.ts';

/**
 * Requests that may be queued on a connection, including the one in progress. While there are more,
 * the connection is not read.
 */
const MOST_IN_LINE = 8;
/**
 * Hard limit. One read can contain more pipelined requests than this only if they carry no key;
 * such a client is disconnected.
 */
const MOST_IN_LINE_EVER = 1_000;

interface ConnectionTurn {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** By socket: the request in progress, followed by those that wait until its response has ended. */
const turns = new WeakMap<Socket, ConnectionTurn[]>();

/** Sockets from which the body of the first request is still being received. */
const receiving = new WeakSet<Socket>();

/** Requests whose clients wait for "100 Continue" before they send a body. */
const expectant = new WeakSet<IncomingMessage>();

/**
 * Whether a response is in progress. If so, a refusal would garble it, and closing would cut it.
 */
export function isAnswering(socket: Socket): boolean {
  return turns.has(socket) && !receiving.has(socket);
}

/** Sockets whose further bytes cannot be parsed. They close after the responses in progress. */
const incomprehensible = new WeakSet<Socket>();

type WriteResponse = (turn: ConnectionTurn) => void;

/**
 * Node starts all pipelined requests of a client at once. Without this queue, the limit on
 * connections would not limit the work.
 */
function answerInTurn(socket: Socket, turn: ConnectionTurn, answer: WriteResponse): void {
  if (socket.destroyed) return;
  const queue = turns.get(socket);
  if (queue === undefined) {
    turns.set(socket, [turn]);
    startTurn(socket, turn, answer);
  } else if (queue.length < MOST_IN_LINE_EVER) {
    queue.push(turn);
    // Node continues to read after each request in the received bytes, so the pause must follow
    // them all.
    if (queue.length > MOST_IN_LINE) process.nextTick(pauseIfMany, socket, queue);
  } else {
    socket.destroy();
  }
}

function pauseIfMany(socket: Socket, queue: readonly ConnectionTurn[]): void {
  if (queue.length > MOST_IN_LINE) socket.pause();
}

function startTurn(socket: Socket, turn: ConnectionTurn, answer: WriteResponse): void {
  const { response } = turn;
  response.once('close', () => endTurn(socket, answer));
  // Node does this for all requests except those that it takes for the start of a tunnel.
  if (response.socket === null) response.assignSocket(socket);
  if (hasIgnoredBody(turn.request)) answerAfterBody(socket, turn, answer);
  else answer(turn);
}

/**
 * Until the body has been received, the connection counts as idle. So a body that is malformed or
 * takes too long is refused like any other incomplete request.
 */
function answerAfterBody(socket: Socket, turn: ConnectionTurn, answer: WriteResponse): void {
  receiving.add(socket);
  if (expectant.has(turn.request)) turn.response.writeContinue();
  receiveBody(turn.request, () => {
    receiving.delete(socket);
    answer(turn);
  });
}

function endTurn(socket: Socket, answer: WriteResponse): void {
  const queue = turns.get(socket) ?? [];
  queue.shift();
  const next = queue[0];
  if (next !== undefined && socket.writable && !lacksBody(socket, next.request)) {
    if (queue.length <= MOST_IN_LINE && socket.isPaused()) socket.resume();
    startTurn(socket, next, answer);
  } else {
    turns.delete(socket);
    if (incomprehensible.has(socket)) socket.destroySoon();
  }
}

/** Whether the body of the request can no longer arrive. */
function lacksBody(socket: Socket, request: IncomingMessage): boolean {
  return incomprehensible.has(socket) && hasIgnoredBody(request) && !request.complete;
}

/**
 * Node's own implementation takes a response that is written but not yet sent for ended, and cuts
 * it. It also takes a connection without any bytes so far for busy.
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
  // While a response is being made, the client waits for the server, so the connection stays open.
  server.on('timeout', (socket: Socket) => {
    if (!isAnswering(socket) || socket.writableLength > 0) socket.destroy();
  });
  const listeners = server.listeners('request');
  const answer: WriteResponse = ({ request, response }) => {
    for (const listener of listeners) Reflect.apply(listener, server, [request, response]);
  };
  server.removeAllListeners('request');
  server.on('request', (request, response) => answerInTurn(request.socket, { request, response }, answer));
  // "100 Continue" is sent only if the body will be received; other expectations may be ignored
  // (RFC 9110, 10.1.1).
  server.on('checkContinue', (request, response) => {
    expectant.add(request);
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('connect', (request, socket) => {
    if (!(socket instanceof Socket)) return socket.destroy();
    listenInstead(socket);
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    // With `end` alone the connection would stay half open as long as the client likes.
    response.once('finish', () => socket.destroySoon());
    return server.emit('request', request, response);
  });
}

/**
 * Node removes its listeners from the socket of a tunnel, including those for errors and timeouts.
 */
function listenInstead(socket: Socket): void {
  socket.on('error', () => socket.destroy());
  socket.on('timeout', () => socket.destroy());
  // The response to an earlier request may be in progress.
  socket.on('drain', () => turns.get(socket)?.[0]?.response.emit('drain'));
}

/**
 * Responds to bytes that are not a request, and closes the connection. If a response is in
 * progress, the connection closes after it, without a further response. `common` are the fields of
 * every response.
 */
export function refuseConnection(
  error: ConnectionError,
  socket: Socket,
  observe: Observe,
  common: Readonly<Record<string, string>>,
): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  if (isAnswering(socket)) {
    incomprehensible.add(socket);
    return;
  }
  const code = codeOf(error);
  observe({ type: 'connection-refused', code, client: addressOf(socket.remoteAddress) });
  const { status, title, remedy } = PROBLEMS[code];
  const requestId = randomUUID();
  const body = problemBody(code, `${title}. ${remedy}`, '/', requestId);
  const fields = {
    ...problemHeaders(code),
    'content-length': body.length,
    ...common,
    'x-request-id': requestId,
    date: new Date().toUTCString(),
    connection: 'close',
  };
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    Buffer.concat([Buffer.from(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n`), body]),
  );
  // A malformed request ends with its next byte. A slow one could continue without end, because
  // Node does not check it again.
  if (code === 'request-timeout') socket.destroySoon();
}

function codeOf({ code, rawPacket }: ConnectionError): ProblemCode {
  if (code === 'HPE_INVALID_METHOD') return 'method-not-implemented';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request-timeout';
  if (code !== 'HPE_HEADER_OVERFLOW') return 'request-malformed';
  // The parser counts the URL among the headers. If the first line alone is too long, the URL is
  // the cause.
  const lineEnd = Buffer.isBuffer(rawPacket) ? rawPacket.indexOf('\r\n') : -1;
  return lineEnd === -1 || lineEnd > LONGEST_TARGET_BYTES ? 'uri-too-long' : 'headers-too-large';
}
