/**
 * The request pipeline, from top to bottom: every request passes `admit`; a data route continues in
 * `answerRoute`. Each step is a function in its own file. Every error that a step throws ends in
 * `sendProblem`.
 */
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { AccessLog } from '../audit/access-log.ts';
import { AppError } from '../domain/app-error.ts';
import type { Keyring, RateLimit } from '../keys/keyring.ts';
import type { Variant } from '../render/text/rendered-body.ts';
import type { Store } from '../store/store.ts';
import { readProductVersion } from '../system/product-version.ts';
import { frameworkOptions, type LogOptions } from './framework.ts';
import { checkRequest } from './http/check-request.ts';
import { allowOrigin, isPreflight, sendPreflight } from './http/cors.ts';
import { addRoute, sendMethods } from './http/methods.ts';
import { sendProblem } from './http/problem.ts';
import { type Limits, resolveLimits } from './limits/limits.ts';
import {
  ALIVE,
  addHealthRoutes,
  addMetricsRoute,
  addMovedMetricsRoute,
  type Operation,
  readinessOf,
} from './observability/health.ts';
import { LoggedPaths } from './observability/logged-path.ts';
import { createMetrics, type Metrics } from './observability/metrics.ts';
import { createObserver, watchRequest } from './observability/observe.ts';
import { authenticate, keyOf } from './request/authenticate.ts';
import { rangeAsked } from './request/byte-range.ts';
import {
  acceptsNothingNew,
  cachingFields,
  namesTag,
  sendNotModified,
  unmetMatch,
} from './request/conditional.ts';
import { VARY } from './request/negotiation.ts';
import { cursorOfNext, linkToNext } from './request/paging.ts';
import { readRequest, walkOf } from './request/parsed-request.ts';
import { checkPermission } from './request/permission.ts';
import type { Ask, Interface, Route } from './request/route.ts';
import { LiveStreams, type LiveTimes } from './responses/live.ts';
import { sendAnswer, sendFound } from './responses/send.ts';
import { describeVariant } from './routes/openapi.ts';
import { isKeyed, publishedBases, routeUrls } from './routes/variants.ts';
import { FixedFile } from './site/fixed-file.ts';
import { addSite, type SiteFolders } from './site/site.ts';
import { prepareConnections, refuseConnection } from './traffic/connection.ts';
import { createRateLimiter } from './traffic/rate-limit.ts';
import { openShares } from './traffic/shares.ts';
import { type DatasetNews, Datasets } from './versions/datasets.ts';
import { isUnreadable } from './versions/failure.ts';
import { Impaired } from './versions/impaired.ts';
import { refuseRecalled } from './versions/replaced-versions.ts';

export interface AppOptions extends LogOptions, LiveTimes, SiteFolders {
  readonly store: Store;
  readonly keyring: Keyring;
  /** The variant at the root, beside `/a` and `/b` (decision 1). */
  readonly defaultVariant: Variant;
  /** Number of processes that share the machine; absent: one. */
  readonly workers?: number;
  /**
   * Limits on what keys and organizations may hold at once; absent ones have their defaults
   * (decision 60).
   */
  readonly limits?: Partial<Limits> | undefined;
  /** For keys without their own limit; absent: no limit (decision 20). */
  readonly rateLimit?: RateLimit | undefined;
  /** Whether `/metrics` has labels with the names of organizations; absent: it has none. */
  readonly metricsOrganizations?: boolean | undefined;
  /** Whether there is an admin address, which then has `/metrics` instead of the public port. */
  readonly hasAdmin?: boolean | undefined;
  /** Whether clients learn the version of the product; absent: they do. */
  readonly showsVersion?: boolean | undefined;
  /** Addresses and networks of the proxies whose `X-Forwarded-For` is trusted; absent: none. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** Folder for a record of every request with a key; absent: they are not recorded. */
  readonly accessFolder?: string | undefined;
  /** Origins whose pages may read responses; absent: none (decision 14). */
  readonly corsOrigins?: readonly string[] | undefined;
}

export interface App {
  readonly fastify: FastifyInstance;
  readonly limits: Limits;
  readonly operation: Operation;
  /** After this call `/readyz` responds with 503. */
  beginStop(): void;
  /** Closes the datasets. Must be called after the last response has ended. */
  close(): Promise<void>;
}

/** Content type of the OpenAPI documents. */
const JSON_TYPE = 'application/json; charset=utf-8';

export function buildApp(options: AppOptions): App {
  const { store, keyring, logLevel = 'info', logStream = process.stdout } = options;
  const { corsOrigins = [], trustedProxies = [] } = options;
  const published = publishedBases(options.defaultVariant);
  const limits = resolveLimits(options.limits, options.workers);
  const impaired = new Impaired();
  const metrics = createMetrics(impaired, keyring, {
    workers: options.workers ?? 1,
    namesOrganizations: options.metricsOrganizations === true,
  });
  const version = options.showsVersion === false ? undefined : readProductVersion();
  const common = {
    'x-content-type-options': 'nosniff',
    ...(version !== undefined && { server: `corkboard/${version}` }),
  };
  const app = fastify({
    ...frameworkOptions(logLevel, logStream, limits, trustedProxies),
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, observe, common),
  });
  const paths = new LoggedPaths(published);
  app.addHook('onRoute', ({ url }) => paths.add(url));
  const access = openAccessLog(options.accessFolder, metrics);
  const observe = createObserver(app.log, metrics, paths, access);
  const datasets = new Datasets(store, hear, { processes: options.workers, impaired, limits });
  const shares = openShares(limits, keyring, datasets.replaced, metrics);
  const live = new LiveStreams(datasets, keyring, shares, options);
  const limitRate = createRateLimiter(options.rateLimit);
  let stopping = false;

  function hear(news: DatasetNews) {
    observe(news);
    if (news.type === 'dataset-opened') live.tell(news.organization);
  }

  /** Damaged keys are reported once. */
  function noteDamage(error: unknown): never {
    if (isUnreadable(error) && !impaired.keys) {
      impaired.keys = true;
      observe({ type: 'keys-unreadable', error });
    }
    throw error;
  }

  async function admit(request: FastifyRequest, reply: FastifyReply) {
    watchRequest(request, reply, observe, metrics, trustedProxies);
    const keyed = isKeyed(request.visit.target, published);
    reply.headers(common).header('x-request-id', request.id);
    if (keyed) reply.header('vary', VARY);
    allowOrigin(request, reply, corsOrigins);
    if (isPreflight(request, corsOrigins)) return sendPreflight(reply);
    if (keyed) {
      request.visit.key = await authenticate(request, keyring).catch(noteDamage);
      shares.connections.claim(request.raw.socket, request.visit.key);
      await limitRate(request.visit.key, reply);
    }
    checkRequest(request);
    if (request.method === 'OPTIONS' && !request.is404) return sendMethods(reply);
    return undefined;
  }

  async function answerRoute(variant: Interface, route: Route, request: FastifyRequest, reply: FastifyReply) {
    const key = keyOf(request);
    const question = readRequest(variant, route, request.visit.target, request.raw);
    const { target, parameters, subject, representation, encoding, contentFields } = question;
    request.visit.representation = representation;
    if (parameters.id !== undefined) request.visit.lmsIds = true;
    const split = checkPermission(question, key);
    if (representation === 'event-stream') return await live.send(question, request, reply);
    const lease = await datasets.lease(key.organization);
    let endTurn: (() => void) | undefined;
    try {
      const bound = lease.questions.bind(question, key);
      const { place, since, etag, syncToken } = bound;
      const caching = cachingFields(bound, request.headers);
      const known = request.headers['if-none-match'];
      const slot = lease.slot(etag);
      const found = slot.findReady();
      if (namesTag(known, etag) || (found !== undefined && acceptsNothingNew(known))) {
        return sendNotModified(reply, caching);
      }
      using large = shares.underWay.placeOf(request, lease.version);
      const isLasting = parameters.limit === undefined && since === undefined;
      const range = rangeAsked(request, etag);
      const { compress } = lease;
      const places = shares.parquet;
      const exchange = { request, reply, encoding, place: large, slot, isLasting, range, places, compress };
      if (found !== undefined) {
        await shares.underWay.confirmKey(request);
        reply.headers(caching).headers(contentFields).headers(linkToNext(target, found.next));
        return await sendFound({ ...exchange, next: found.next }, found);
      }
      if (lease.dataset.timeline === undefined) endTurn = await shares.turns.take(key);
      // The client may have disconnected while the request waited.
      if (reply.raw.destroyed) return reply.hijack();
      const rendering = lease.rendering(key.redact);
      const { dataset } = rendering;
      const preparing = dataset.prepare?.(key.scope);
      if (preparing !== undefined) await preparing;
      const admit = async (heldBytes: number) => {
        large.begin(heldBytes);
        endTurn ??= await shares.turns.take(key);
      };
      const { scope } = key;
      const shown = { place, since, syncToken, split };
      const ask: Ask = { dataset, rendering, scope, parameters, ...shown, representation, admit };
      const render = await subject.find(ask);
      if (acceptsNothingNew(known)) return sendNotModified(reply, caching);
      const answer = await render();
      endTurn?.();
      endTurn = undefined;
      const next = cursorOfNext(ask, answer.next, () => walkOf(question, key), lease.secrets);
      reply.headers(caching).headers(contentFields).headers(linkToNext(target, next));
      await shares.underWay.confirmKey(request);
      refuseRecalled(lease.version);
      return await sendAnswer({ ...exchange, next }, answer);
    } catch (error) {
      lease.failed(error);
      throw error;
    } finally {
      endTurn?.();
      lease.end();
    }
  }

  app.decorateRequest('visit');
  app.addHook('onRequest', admit);
  app.addHook('onSend', (request, reply, _payload, done) => {
    reply.header('server-timing', request.visit.timing());
    shares.connections.limitIdleTime(request.raw.socket, reply);
    const unmet = unmetMatch(request, reply);
    if (unmet === undefined) done();
    else done(unmet);
  });
  app.setErrorHandler(sendProblem);
  app.setNotFoundHandler(async () => {
    throw new AppError('not-found', 'There is no such path. The reference at /docs/api lists them all.');
  });
  for (const { base, table, document: path } of published) {
    for (const route of table.routes) {
      for (const url of routeUrls(base, table, route)) {
        addRoute(app, url, (request, reply) => answerRoute(table.variant, route, request, reply));
      }
    }
    const document = new FixedFile(() => JSON.stringify(describeVariant(table, base, version)), JSON_TYPE);
    addRoute(app, path, async (request, reply) =>
      document.send(request, reply.header('cache-control', 'no-cache')),
    );
  }
  addSite(app, published, options);
  const operation: Operation = {
    liveness: async () => ALIVE,
    readiness: () => readinessOf(store, keyring, impaired, stopping),
    metrics: metrics.render,
  };
  addHealthRoutes(app, operation);
  if (options.hasAdmin === true) addMovedMetricsRoute(app);
  else addMetricsRoute(app, operation);
  prepareConnections(app.server);
  shares.connections.watch(app.server);
  return {
    fastify: app,
    limits,
    operation,
    beginStop: () => {
      stopping = true;
      live.end();
    },
    close: async () => {
      shares.underWay.close();
      await datasets.close();
      await access?.close();
    },
  };
}

function openAccessLog(folder: string | undefined, metrics: Metrics): AccessLog | undefined {
  if (folder === undefined) return undefined;
  return new AccessLog({ folder, onLost: (count) => metrics.lostAccessRecords.inc(count) });
}
