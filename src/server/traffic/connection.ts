/**
 * What does not reach the pipeline by itself: bytes that Node's parser refuses, and the events that stand beside
 * `request`. Whatever is a request is led into the pipeline; the rest is answered here, before the socket closes.
 */

import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, ServerResponse, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { ConnectionError } from 'fastify';
import { PROBLEMS, type ProblemCode } from '../../domain/app-error.ts';
import { problemBody, problemHeaders } from '../http/problem.ts';
import { hasIgnoredBody, receiveBody } from '../http/request-body.ts';
import { LONGEST_TARGET_BYTES } from '../http/target.ts';
import { addressOf, type Observe } from '../observability/observe.ts';

/** So many may be in line on a connection, with the one being answered; while more are, nothing is read from it. */
const MOST_IN_LINE = 8;
/** The bytes of one read can hold more still, but not of requests with a key: who sends so many wants no answers. */
const MOST_IN_LINE_EVER = 1_000;

interface Turn {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** By socket: the request that is being answered, and after it those that wait until its answer has ended. */
const turns = new WeakMap<Socket, Turn[]>();

/** Sockets from which the body of the first request is still being received. */
const receiving = new WeakSet<Socket>();

/** Requests whose clients wait for "100 Continue" before they send a body. */
const expectant = new WeakSet<IncomingMessage>();

/** While it does, writing a refusal would garble an answer, and closing would cut it. */
export function isAnswering(socket: Socket): boolean {
  return turns.has(socket) && !receiving.has(socket);
}

/** Sockets on which nothing more can be understood; they close after the answers under way. */
const incomprehensible = new WeakSet<Socket>();

type Answer = (turn: Turn) => void;

/** Node starts all that a client sends ahead at once; then the number of connections would bound nothing. */
function answerInTurn(socket: Socket, turn: Turn, answer: Answer): void {
  if (socket.destroyed) return;
  const queue = turns.get(socket);
  if (queue === undefined) {
    turns.set(socket, [turn]);
    startTurn(socket, turn, answer);
  } else if (queue.length < MOST_IN_LINE_EVER) {
    queue.push(turn);
    // Node reads on after each request of the bytes at hand, so the pause has to come after them.
    if (queue.length > MOST_IN_LINE) process.nextTick(pauseIfMany, socket, queue);
  } else {
    socket.destroy();
  }
}

function pauseIfMany(socket: Socket, queue: readonly Turn[]): void {
  if (queue.length > MOST_IN_LINE) socket.pause();
}

function startTurn(socket: Socket, turn: Turn, answer: Answer): void {
  const { response } = turn;
  response.once('close', () => endTurn(socket, answer));
  // Node does this for all but those it takes for the beginning of a tunnel.
  if (response.socket === null) response.assignSocket(socket);
  if (hasIgnoredBody(turn.request)) answerAfterBody(socket, turn, answer);
  else answer(turn);
}

/**
 * Until the body is there the connection counts as idle, so one that is malformed or takes too long
 * is refused like any other request that has not been received.
 */
function answerAfterBody(socket: Socket, turn: Turn, answer: Answer): void {
  receiving.add(socket);
  if (expectant.has(turn.request)) turn.response.writeContinue();
  receiveBody(turn.request, () => {
    receiving.delete(socket);
    answer(turn);
  });
}

function endTurn(socket: Socket, answer: Answer): void {
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
  // While a response is being made, the client waits for the server, not the other way round.
  server.on('timeout', (socket: Socket) => {
    if (!isAnswering(socket) || socket.writableLength > 0) socket.destroy();
  });
  const listeners = server.listeners('request');
  const answer: Answer = ({ request, response }) => {
    for (const listener of listeners) Reflect.apply(listener, server, [request, response]);
  };
  server.removeAllListeners('request');
  server.on('request', (request, response) => answerInTurn(request.socket, { request, response }, answer));
  // Only a body that is going to be received is invited; other expectations may be ignored (RFC
  // 9110, 10.1.1).
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
    // Ended only, it would stay half open for as long as the client likes.
    response.once('finish', () => socket.destroySoon());
    return server.emit('request', request, response);
  });
}

/** What is to be a tunnel has lost all listeners of Node, which would have kept it from failing and from lasting. */
function listenInstead(socket: Socket): void {
  socket.on('error', () => socket.destroy());
  socket.on('timeout', () => socket.destroy());
  // An answer that was asked for before it may be under way.
  socket.on('drain', () => turns.get(socket)?.[0]?.response.emit('drain'));
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
  observe({ type: 'connection-refused', code, client: addressOf(socket.remoteAddress) });
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
  // What was no request is over with its next byte; a slow one could go on for ever, and is not looked at again.
  if (code === 'request-timeout') socket.destroySoon();
}

function codeOf({ code, rawPacket }: ConnectionError): ProblemCode {
  if (code === 'HPE_INVALID_METHOD') return 'method-not-implemented';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request-timeout';
  if (code !== 'HPE_HEADER_OVERFLOW') return 'request-malformed';
  // The parser counts the URL among the headers. A first line that alone is too long tells which of them it was.
  const lineEnd = Buffer.isBuffer(rawPacket) ? rawPacket.indexOf('\r\n') : -1;
  return lineEnd === -1 || lineEnd > LONGEST_TARGET_BYTES ? 'uri-too-long' : 'headers-too-large';
}
