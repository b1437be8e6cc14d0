/** Liveness, readiness and metrics, on the public port or on the admin port. */
import { Registry } from '@prometheus-io/client';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { AppError } from '../../domain/app-error.ts';
import type { Keyring } from '../../keys/keyring.ts';
import type { Store } from '../../store/store.ts';
import { addRoute } from '../http/methods.ts';
import { isUnreadable } from '../versions/failure.ts';
import type { Impaired, Impairment } from '../versions/impaired.ts';

const STORE_ANSWER_MS = 2_000;

/** The content of a response of `/livez`, `/readyz` or `/healthz`. */
export interface Health {
  /** Whether the status is 200; otherwise it is 503. */
  readonly isGood: boolean;
  /** The body, whose member `status` names the state. */
  readonly body: {
    readonly status: string;
    readonly impaired_organizations?: Readonly<Record<Impairment, number>>;
    /** Present if keys could not be read. */
    readonly impaired_keys?: true;
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
export async function readinessOf(
  store: Store,
  keyring: Keyring,
  impaired: Impaired,
  isStopping: boolean,
): Promise<Health> {
  if (isStopping) return bad('stopping');
  const published = await publishedIn(store);
  if (published === undefined) return bad('store unavailable');
  const counts = impaired.counts();
  if (Object.values(counts).every((count) => count === 0) && !impaired.keys) return good('ready');
  // One damaged organization or key must not take the server away from all others (decision 65).
  const canServe = counts.unavailable < published && (!impaired.keys || (await canReadKeys(keyring)));
  return (canServe ? good : bad)('degraded', {
    impaired_organizations: counts,
    ...(impaired.keys && { impaired_keys: true }),
  });
}

/** Whether any key can be read: then an empty one is unknown. */
async function canReadKeys(keyring: Keyring): Promise<boolean> {
  return await keyring.find('').then(
    () => true,
    (error: unknown) => !isUnreadable(error),
  );
}

export function addHealthRoutes(app: FastifyInstance, operation: Operation): void {
  addRoute(app, '/livez', async (_request, reply) => sendHealth(reply, await operation.liveness()));
  // Tools without settings of their own ask for `/healthz`.
  for (const path of ['/readyz', '/healthz'])
    addRoute(app, path, async (_request, reply) => sendHealth(reply, await operation.readiness()));
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

/** The number of organizations. Absent when the store fails, or does not respond in time. */
async function publishedIn(store: Store): Promise<number | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, STORE_ANSWER_MS, undefined);
  try {
    return await Promise.race([late, store.countPublished()]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
