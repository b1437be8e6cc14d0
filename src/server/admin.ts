/**
 * The admin address: health and metrics on a port of their own, which clients of the API cannot
 * reach. It serves no data, requires no key, and its requests are neither logged nor counted.
 */
import { type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { AppError } from '../domain/app-error.ts';
import { frameworkOptions, type LogOptions } from './framework.ts';
import { checkRequest } from './http/check-request.ts';
import { sendMethods } from './http/methods.ts';
import { sendProblem } from './http/problem.ts';
import { addHealthRoutes, addMetricsRoute, type Operation } from './observability/health.ts';
import { type Observe, Visit } from './observability/observe.ts';
import { prepareConnections, refuseConnection } from './traffic/connection.ts';

/** Probes and scrapers need a few; further connections are closed immediately. */
const MOST_CONNECTIONS = 64;
/** How long a client may read nothing at all of a response. */
const STALLED_AFTER_MS = 10_000;
/** The fields of every response. */
const COMMON_FIELDS = { 'x-content-type-options': 'nosniff' };

export interface AdminOptions extends LogOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

export interface AdminServer {
  /** `http://host:port`, without a slash at its end. */
  readonly address: string;
  stop(): Promise<void>;
}

/** Throws the error of the socket when the address is not available. */
export async function startAdmin(options: AdminOptions, operation: Operation): Promise<AdminServer> {
  const { host, port, logLevel = 'info', logStream = process.stdout } = options;
  const observe: Observe = (observation) => {
    if (observation.type !== 'connection-refused') return;
    const { code, client } = observation;
    app.log.info({ code, client }, 'connection to the admin address refused');
  };
  const app = fastify({
    ...frameworkOptions(logLevel, logStream, { 'stalled-after': STALLED_AFTER_MS }),
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, observe, COMMON_FIELDS),
  });
  app.decorateRequest('visit');
  app.addHook('onRequest', async (request: FastifyRequest, reply: FastifyReply) => {
    request.visit = new Visit(request);
    reply.headers({ 'x-request-id': request.id, ...COMMON_FIELDS });
    checkRequest(request);
    return request.method === 'OPTIONS' && !request.is404 ? sendMethods(reply) : undefined;
  });
  app.addHook('onResponse', async ({ id, visit }) => {
    if (visit.failure !== undefined) app.log.error({ request_id: id, err: visit.failure }, 'request failed');
  });
  app.setErrorHandler(sendProblem);
  app.setNotFoundHandler(async () => {
    throw new AppError('not-found', 'The admin address has /livez, /readyz, /healthz and /metrics.');
  });
  addHealthRoutes(app, operation);
  addMetricsRoute(app, operation);
  prepareConnections(app.server);
  app.server.maxConnections = MOST_CONNECTIONS;
  const address = await app.listen({ host, port });
  return {
    address,
    async stop() {
      app.server.closeAllConnections();
      await app.close();
    },
  };
}
