/** The options of the framework, chosen so that it adds and withholds nothing of its own. */
import cluster from 'node:cluster';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import { type FastifyHttpOptions, LogController } from 'fastify';
import { addressOf, isInNetworks } from '../domain/network.ts';
import { routablePath } from './http/target.ts';
import type { Limits } from './limits/limits.ts';

const LARGEST_HEADERS_BYTES = 16 * 1024;
/** Two chunks: one is made while the other one is sent. */
const SOCKET_BUFFER_BYTES = 512 * 1024;
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** How often Node checks both timeouts. Its default is every 30 seconds. */
const TIMEOUTS_EXACT_TO_MS = 5_000;
/**
 * Longer than the idle time of usual proxies, so that the proxy closes first and never writes to a
 * connection that is closing.
 */
const KEEP_ALIVE_MS = 72_000;
type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'silent';

/** A field of every log line: the worker that wrote it. */
const WRITER = cluster.worker ? { worker: cluster.worker.id } : null;

export interface LogStream {
  /** Receives one line, including its line break. */
  write(line: string): void;
}

export interface LogOptions {
  readonly logLevel?: LogLevel | undefined;
  /** Destination of the log lines; absent: standard output. */
  readonly logStream?: LogStream | undefined;
}

export function frameworkOptions(
  logLevel: LogLevel,
  stream: LogStream,
  limits: Pick<Limits, 'stalled-after'>,
  trustedProxies: readonly string[] = [],
) {
  return {
    logger: {
      level: logLevel,
      base: WRITER,
      stream,
      formatters: { level: (level) => ({ level }) },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
    },
    logController: new LogController({ disableRequestLogging: true }),
    // The observer logs everything about a request, under its id, so loggers per request are not
    // needed.
    childLoggerFactory: (logger) => logger,
    genReqId: requestIdOf,
    // The client is the rightmost address of `X-Forwarded-For` that is not a trusted proxy.
    trustProxy:
      trustedProxies.length > 0 && ((text: string) => isInNetworks(trustedProxies, addressOf(text))),
    rewriteUrl: (request) => routablePath(request.url ?? '/', request.method),
    // `path-resource.ts` reads names from the path, and `query.ts` reads parameters from the query.
    routerOptions: { maxParamLength: LARGEST_HEADERS_BYTES, querystringParser: () => ({}) },
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Half of the limit: if some of the last bytes have been sent, Node waits a second time.
    connectionTimeout: limits['stalled-after'] / 2,
    http: {
      maxHeaderSize: LARGEST_HEADERS_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUTS_EXACT_TO_MS,
      highWaterMark: SOCKET_BUFFER_BYTES,
      // A missing host is refused with a problem document, like every other error.
      requireHostHeader: false,
    },
  } as const satisfies FastifyHttpOptions<Server>;
}

/** The client's own id if it is harmless, so that one id can be traced through all systems. */
function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  const harmless = typeof given === 'string' && /^[\w.:-]{1,64}$/.test(given) && !/cork_/i.test(given);
  return harmless ? given : randomUUID();
}
