/** How the framework is set up, so that it adds and withholds nothing of its own. */
import cluster from 'node:cluster';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import { type FastifyHttpOptions, LogController } from 'fastify';
import { routablePath } from './http/target.ts';
import type { Limits } from './limits/limits.ts';

const LARGEST_HEADERS_BYTES = 16 * 1024;
/** Two chunks under way: one is made while the other leaves. */
const SOCKET_BUFFER_BYTES = 512 * 1024;
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Without it they would be looked at twice a minute. */
const TIMEOUTS_EXACT_TO_MS = 5_000;
/** Longer than the idle time of usual proxies, so that they close first and never write into a closing connection. */
const KEEP_ALIVE_MS = 72_000;
type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'silent';

/** In every line: which of several workers has written it. */
const WRITER = cluster.worker ? { worker: cluster.worker.id } : null;

export interface LogStream {
  /** Takes a line with its line break. */
  write(line: string): void;
}

export interface LogOptions {
  readonly logLevel?: LogLevel | undefined;
  /** Where the lines of the log go; absent: standard output. */
  readonly logStream?: LogStream | undefined;
}

export function frameworkOptions(
  logLevel: LogLevel,
  stream: LogStream,
  limits: Limits,
  trustedProxies: readonly string[] = [],
) {
  return {
    logger: {
      level: logLevel,
      base: WRITER,
      stream,
    },
    logController: new LogController({ disableRequestLogging: true }),
    // What concerns a request is logged by the observer, under its id; a logger for each would never be used.
    childLoggerFactory: (logger) => logger,
    genReqId: requestIdOf,
    // The rightmost address of `X-Forwarded-For` that is none of them is the client.
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    rewriteUrl: (request) => routablePath(request.url ?? '/', request.method),
    // Names are read from the path, and parameters from the query, by `subject.ts` and `query.ts`.
    routerOptions: { maxParamLength: LARGEST_HEADERS_BYTES, querystringParser: () => ({}) },
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Half of it: when a part of the last bytes has left, Node waits once more for the same time.
    connectionTimeout: limits['stalled-after'] / 2,
    http: {
      maxHeaderSize: LARGEST_HEADERS_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUTS_EXACT_TO_MS,
      highWaterMark: SOCKET_BUFFER_BYTES,
      // A missing host is refused with a problem document like everything else.
      requireHostHeader: false,
    },
  } as const satisfies FastifyHttpOptions<Server>;
}

/** The client's own id when it is harmless, so that one id runs through all its systems. */
function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  const harmless = typeof given === 'string' && /^[\w.:-]{1,64}$/.test(given) && !/cork_/i.test(given);
  return harmless ? given : randomUUID();
}
