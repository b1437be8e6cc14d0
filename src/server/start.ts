/**
 * The running server: the application on a socket, from the first connection to the last response.
 */
import cluster from 'node:cluster';
import { lookup } from 'node:dns/promises';
import type { Server } from 'node:http';
import { allocateYoung } from '../system/allocations.ts';
import { keepTickClass } from '../system/tick-class.ts';
import { type AppOptions, buildApp } from './app.ts';
import { joinHealth } from './observability/cluster-health.ts';
import type { Operation } from './observability/health.ts';

/**
 * Connections that the operating system queues until they are accepted. Further clients try again
 * after a second. Linux limits the value to `net.core.somaxconn`.
 */
const BACKLOG = 4_096;
const STOP_TIMEOUT_MS = 30_000;
const IDLE_CHECK_MS = 50;

export interface ServerOptions extends AppOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Responses that take longer to end are cut; in milliseconds, absent: 30 seconds. */
  readonly stopTimeoutMs?: number | undefined;
}

export interface RunningServer {
  /** `http://host:port`, without a slash at its end. */
  readonly address: string;
  /** For the admin address. */
  readonly operation: Operation;
  /**
   * Accepts no more requests, lets responses in progress end, and closes the datasets, but not the
   * store.
   */
  stop(): Promise<void>;
}

/** Throws the error of the socket when the address is not available. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { host, port, stopTimeoutMs = STOP_TIMEOUT_MS } = options;
  keepTickClass();
  allocateYoung();
  const app = buildApp(options);
  if (cluster.isWorker) joinHealth(app.operation.readiness);
  const { server } = app.fastify;
  // Without `dropMaxConnection`, which the types lack, full workers would pass connections to each
  // other.
  Object.assign(server, { maxConnections: app.limits.connections, dropMaxConnection: true });
  let stopped: Promise<void> | undefined;

  async function stop(): Promise<void> {
    app.beginStop();
    await closeInTime(server, () => app.fastify.close(), stopTimeoutMs);
    await app.close();
  }

  try {
    return {
      address: await app.fastify.listen({ host: await oneAddress(host), port, backlog: BACKLOG }),
      operation: app.operation,
      stop: () => {
        stopped ??= stop();
        return stopped;
      },
    };
  } catch (error) {
    await app.close();
    throw error;
  }
}

/**
 * `localhost` may have two addresses, and the framework would then open a second server, which the
 * rest of the code does not know.
 */
async function oneAddress(host: string): Promise<string> {
  return host === 'localhost' ? (await lookup(host)).address : host;
}

async function closeInTime(server: Server, close: () => Promise<void>, timeoutMs: number): Promise<void> {
  // A connection that was busy when the stop began becomes idle when its response has ended.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const late = setTimeout(() => server.closeAllConnections(), timeoutMs);
  try {
    await close();
  } finally {
    clearInterval(idle);
    clearTimeout(late);
  }
}
