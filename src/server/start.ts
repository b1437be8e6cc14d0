/** The running server: the application on a socket, from the first connection to the last answer. */
import { lookup } from 'node:dns/promises';
import type { Server } from 'node:http';
import { keepTickClass } from '../system/tick-class.ts';
import { type AppOptions, buildApp } from './app.ts';

/**
 * Connections that the system holds until they are accepted; beyond it their clients try again after
 * a second. Linux takes at most `net.core.somaxconn`.
 */
const BACKLOG = 4_096;
const STOP_TIMEOUT_MS = 30_000;
const IDLE_CHECK_MS = 50;

export interface ServerOptions extends AppOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Answers that take longer to end are cut; absent: 30 seconds. */
  readonly stopTimeoutMs?: number | undefined;
}

export interface RunningServer {
  /** `http://host:port`, without a slash at its end. */
  readonly address: string;
  /** Takes no more requests, lets the answers in flight end, and closes the datasets, not the store. */
  stop(): Promise<void>;
}

/** Throws the error of the socket when the address cannot be had. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { host, port, stopTimeoutMs = STOP_TIMEOUT_MS } = options;
  keepTickClass();
  const app = buildApp(options);
  const { server } = app.fastify;
  // Without `dropMaxConnection`, which the types do not know yet, full workers would hand them round among each other.
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

/** For `localhost`, which may have two, the framework would open a second server that nothing else knows of. */
async function oneAddress(host: string): Promise<string> {
  return host === 'localhost' ? (await lookup(host)).address : host;
}

async function closeInTime(server: Server, close: () => Promise<void>, timeoutMs: number): Promise<void> {
  // A connection that was busy when the stop began is idle once its answer has ended.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const late = setTimeout(() => server.closeAllConnections(), timeoutMs);
  try {
    await close();
  } finally {
    clearInterval(idle);
    clearTimeout(late);
  }
}
