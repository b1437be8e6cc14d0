/** The routes for operators: liveness, readiness and metrics. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { OrganizationEntry, Store } from '../../store/store.ts';
import { addRoute } from '../http/methods.ts';
import type { Impaired } from '../versions/impaired.ts';
import type { Metrics } from './metrics.ts';

const STORE_ANSWER_MS = 2_000;

export function addHealthRoutes(
  app: FastifyInstance,
  store: Store,
  metrics: Metrics,
  impaired: Impaired,
  isStopping: () => boolean,
): void {
  addRoute(app, '/livez', async (_request, reply) => sendState(reply, 200, 'alive'));

  addRoute(app, '/readyz', async (_request, reply) => {
    if (isStopping()) return sendState(reply, 503, 'stopping');
    const organizations = await organizationsOf(store);
    if (organizations === undefined) return sendState(reply, 503, 'store unavailable');
    const counts = impaired.counts();
    if (Object.values(counts).every((count) => count === 0)) return sendState(reply, 200, 'ready');
    // One damaged organization must not take the server away from all others (decision 65).
    const published = organizations.filter(({ version }) => version !== undefined).length;
    const status = counts.unavailable < published ? 200 : 503;
    return sendState(reply, status, 'degraded', { impaired_organizations: counts });
  });

  addRoute(app, '/metrics', async (_request, reply) => {
    const text = await metrics.render();
    // The sum over the other workers alone would look like a restart.
    if (text === undefined) return sendState(reply, 503, 'a worker does not respond');
    return reply.headers({ 'cache-control': 'no-store', 'content-type': metrics.contentType }).send(text);
  });
}

function sendState(reply: FastifyReply, status: number, state: string, more: object = {}): FastifyReply {
  return reply
    .code(status)
    .header('cache-control', 'no-store')
    .send({ status: state, ...more });
}

/** Absent when the store fails, or does not respond in time. */
async function organizationsOf(store: Store): Promise<readonly OrganizationEntry[] | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, STORE_ANSWER_MS, undefined);
  try {
    return await Promise.race([late, store.organizations()]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
