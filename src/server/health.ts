/** The routes for operators: whether the process lives, whether it can answer, and its figures. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Store } from '../dataset/store.ts';
import { addRoute } from './methods.ts';
import type { Metrics } from './metrics.ts';

const STORE_ANSWER_MS = 2_000;

export function addHealthRoutes(
  app: FastifyInstance,
  store: Store,
  metrics: Metrics,
  isStopping: () => boolean,
): void {
  addRoute(app, '/livez', async (_request, reply) => sendState(reply, 200, 'alive'));

  addRoute(app, '/readyz', async (_request, reply) => {
    if (isStopping()) return sendState(reply, 503, 'stopping');
    return (await answers(store))
      ? sendState(reply, 200, 'ready')
      : sendState(reply, 503, 'store unavailable');
  });

  addRoute(app, '/metrics', async (_request, reply) =>
    reply
      .headers({ 'cache-control': 'no-store', 'content-type': metrics.contentType })
      .send(await metrics.render()),
  );
}

function sendState(reply: FastifyReply, status: number, state: string): FastifyReply {
  return reply.code(status).header('cache-control', 'no-store').send({ status: state });
}

async function answers(store: Store): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, STORE_ANSWER_MS, false);
  try {
    return await Promise.race([late, store.organizations().then(() => true)]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
