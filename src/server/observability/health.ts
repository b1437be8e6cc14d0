/** Liveness, readiness and metrics, on the public port or on the admin port. */
import { Registry } from '@prometheus-io/client';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { AppError } from '../../domain/app-error.ts';
import type { OrganizationEntry, Store } from '../../store/store.ts';
import { addRoute } from '../http/methods.ts';
import type { Impaired, Impairment } from '../versions/impaired.ts';

const STORE_ANSWER_MS = 2_000;

/** The content of a response of `/livez` or `/readyz`. */
export interface Health {
  /** Whether the status is 200; otherwise it is 503. */
  readonly isGood: boolean;
  /** The body, whose member `status` names the state. */
  readonly body: {
    readonly status: string;
    readonly impaired_organizations?: Readonly<Record<Impairment, number>>;
    readonly workers?: { readonly serving: number; readonly configured: number };
  };
}

/** What a running server tells its operator, in one process or about all its workers. */
export interface Operation {
  liveness(): Promise<Health>;
  readiness(): Promise<Health>;
  /** The text of `/metrics`; absent when a worker has not responded. */
  metrics(): Promise<string | undefined>;
}

export const ALIVE = good('alive');

export function good(status: string, more: Omit<Health['body'], 'status'> = {}): Health {
  return { isGood: true, body: { status, ...more } };
}

export function bad(status: string, more: Omit<Health['body'], 'status'> = {}): Health {
  return { isGood: false, body: { status, ...more } };
}

/** The readiness of this process. */
export async function readinessOf(store: Store, impaired: Impaired, isStopping: boolean): Promise<Health> {
  if (isStopping) return bad('stopping');
  const organizations = await organizationsOf(store);
  if (organizations === undefined) return bad('store unavailable');
  const counts = impaired.counts();
  if (Object.values(counts).every((count) => count === 0)) return good('ready');
  // One damaged organization must not take the server away from all others (decision 65).
  const published = organizations.filter(({ version }) => version !== undefined).length;
  const state = counts.unavailable < published ? good : bad;
  return state('degraded', { impaired_organizations: counts });
}

export function addHealthRoutes(app: FastifyInstance, operation: Operation): void {
  addRoute(app, '/livez', async (_request, reply) => sendHealth(reply, await operation.liveness()));
  addRoute(app, '/readyz', async (_request, reply) => sendHealth(reply, await operation.readiness()));
}

export function addMetricsRoute(app: FastifyInstance, operation: Operation): void {
  addRoute(app, '/metrics', async (_request, reply) => {
    const text = await operation.metrics();
    // The sum over the other workers alone would look like a restart.
    if (text === undefined) return sendHealth(reply, bad('a worker does not respond'));
    const fields = { 'cache-control': 'no-store', 'content-type': Registry.PROMETHEUS_CONTENT_TYPE };
    return reply.headers(fields).send(text);
  });
}

/** For a public port whose metrics are on the admin address. */
export function addMovedMetricsRoute(app: FastifyInstance): void {
  addRoute(app, '/metrics', async () => {
    throw new AppError('not-found', 'The metrics are at the admin address, which the operator has set.');
  });
}

function sendHealth(reply: FastifyReply, { isGood, body }: Health): FastifyReply {
  return reply
    .code(isGood ? 200 : 503)
    .header('cache-control', 'no-store')
    .send(body);
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
