/**
 * The way of a request through the server, top to bottom: `admit` is what every request passes, `answerRoute` what
 * a data route does then. Each step is a function in a file of its own; whatever a step throws ends in `sendProblem`.
 */
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { AppError } from '../app-error.ts';
import type { Store } from '../dataset/store.ts';
import type { Keyring, RateLimit } from '../keys/keyring.ts';
import type { Variant } from '../render/answer.ts';
import { authenticate, keyOf } from './authenticate.ts';
import { checkRequest } from './check-request.ts';
import { acceptsNothingNew, cachingFields, namesTag, sendNotModified, unmetMatch } from './conditional.ts';
import { prepareConnections, refuseConnection } from './connection.ts';
import { addConsoleRoutes, readConsole } from './console.ts';
import { allowOrigin, isPreflight, sendPreflight } from './cors.ts';
import { type DatasetNews, Datasets } from './datasets.ts';
import { FixedFile } from './fixed-file.ts';
import { frameworkOptions, type LogOptions } from './framework.ts';
import { addHealthRoutes } from './health.ts';
import { Impaired } from './impaired.ts';
import { type Limits, resolveLimits } from './limits.ts';
import { LiveStreams, type LiveTimes } from './live.ts';
import { gatherLines } from './log-lines.ts';
import { LoggedPaths } from './logged-path.ts';
import { addRoute, sendMethods } from './methods.ts';
import { createMetrics } from './metrics.ts';
import { CONTENT_TYPES } from './negotiation.ts';
import { createObserver, watchRequest } from './observe.ts';
import { describeVariant } from './openapi.ts';
import { cursorOfNext, linkToNext } from './paging.ts';
import { sendProblem } from './problem.ts';
import { readQuestion } from './question.ts';
import { createRateLimiter } from './rate-limit.ts';
import { addIndexRoute, addReferenceRoutes } from './reference.ts';
import { refuseRecalled } from './replaced-versions.ts';
import type { Ask, Interface, Route } from './route.ts';
import { sendAnswer, sendFinished } from './send.ts';
import { openShares } from './shares.ts';
import { checkLookup } from './subject.ts';
import { isKeyed, publishedBases, routeUrls } from './variants.ts';

export interface AppOptions extends LogOptions, LiveTimes {
  readonly store: Store;
  readonly keyring: Keyring;
  /** The variant at the root, beside `/a` and `/b` (decision 1). */
  readonly defaultVariant: Variant;
  /** Processes that share the machine; absent: this one alone. */
  readonly workers?: number;
  /**
   * What keys and organizations may take at once; absent ones have their defaults (decision 60).
   */
  readonly limits?: Partial<Limits> | undefined;
  /** For keys without a limit of their own; absent: none (decision 20). */
  readonly rateLimit?: RateLimit | undefined;
  /** Whether `/metrics` counts by organization, by name; absent: it names none. */
  readonly metricsOrganizations?: boolean | undefined;
  /** Proxies whose `X-Forwarded-For` names the client, as addresses and networks; absent: none. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** Origins whose pages may read; absent: none (decision 14). */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Where the built console lies; absent, or not there: a plain page at `/` (decision 51). */
  readonly consoleFolder?: string | undefined;
}

export interface App {
  readonly fastify: FastifyInstance;
  readonly limits: Limits;
  /** From now on `/readyz` answers 503. */
  beginStop(): void;
  /** Closes the datasets; to be called when the last answer has ended. */
  close(): Promise<void>;
}

/** Of the OpenAPI documents. */
const JSON_TYPE = 'application/json; charset=utf-8';

export function buildApp(options: AppOptions): App {
  const { store, keyring, corsOrigins = [], logLevel = 'info', logStream = process.stdout } = options;
  const published = publishedBases(options.defaultVariant);
  const limits = resolveLimits(options.limits, options.workers);
  const impaired = new Impaired();
  const metrics = createMetrics(impaired, options.metricsOrganizations);
  const lines = gatherLines(logStream);
  const app = fastify({
    ...frameworkOptions(logLevel, lines, limits, options.trustedProxies),
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, observe),
  });
  const paths = new LoggedPaths(published);
  app.addHook('onRoute', ({ url }) => paths.add(url));
  const observe = createObserver(app.log, lines, metrics, paths);
  const datasets = new Datasets(store, hear, { processes: options.workers, impaired, limits });
  const shares = openShares(limits, keyring, datasets.replaced, metrics);
  const live = new LiveStreams(datasets, keyring, shares, options);
  const limitRate = createRateLimiter(options.rateLimit);
  let stopping = false;

  function hear(news: DatasetNews) {
    observe(news);
    if (news.type === 'dataset-opened') live.tell(news.organization);
  }

  async function admit(request: FastifyRequest, reply: FastifyReply) {
    watchRequest(request, reply, observe, metrics);
    const keyed = isKeyed(request.originalUrl, published);
    reply.headers({ 'x-request-id': request.id, 'x-content-type-options': 'nosniff' });
    if (keyed) reply.header('vary', 'apikey, Accept, Accept-Encoding');
    allowOrigin(request, reply, corsOrigins);
    if (isPreflight(request, corsOrigins)) return sendPreflight(reply);
    if (keyed) {
      request.visit.key = await authenticate(request.raw, keyring);
      shares.connections.claim(request.raw.socket, request.visit.key);
      await limitRate(request.visit.key, reply);
    }
    checkRequest(request);
    if (request.method === 'OPTIONS' && !request.is404) return sendMethods(reply);
    return undefined;
  }

  async function answerRoute(variant: Interface, route: Route, request: FastifyRequest, reply: FastifyReply) {
    const key = keyOf(request);
    const question = readQuestion(variant, route, request.originalUrl, request.raw);
    const { target, parameters, subject, representation, encoding } = question;
    checkLookup(subject, key);
    if (representation === 'event-stream') return await live.send(question, request, reply);
    const lease = await datasets.lease(key.organization);
    let endTurn: (() => void) | undefined;
    try {
      const { walk, place, since, etag, syncToken } = lease.questions.bind(question, key);
      const caching = cachingFields(etag, syncToken, request.headers);
      const content = { 'content-type': CONTENT_TYPES[representation] };
      const known = request.headers['if-none-match'];
      const finished = lease.finished(etag);
      if (namesTag(known, etag) || (finished !== undefined && acceptsNothingNew(known))) {
        return sendNotModified(reply, caching);
      }
      if (finished !== undefined) {
        reply.headers({ ...caching, ...content, ...linkToNext(target, finished.next) });
        return sendFinished(reply, finished.bytes, encoding);
      }
      if (lease.dataset.timeline === undefined) endTurn = await shares.turns.take(key);
      // The client may have gone away while it waited.
      if (reply.raw.destroyed) return reply.hijack();
      const rendering = lease.rendering(key.redact);
      const { dataset } = rendering;
      const preparing = dataset.prepare?.(key.scope);
      if (preparing !== undefined) await preparing;
      using large = shares.underWay.placeOf(request, lease.version);
      const admit = async (heldBytes: number) => {
        large.begin(heldBytes);
        endTurn ??= await shares.turns.take(key);
      };
      const { scope } = key;
      const ask: Ask = { dataset, rendering, scope, parameters, place, since, representation, admit };
      const render = await subject.find(ask);
      if (acceptsNothingNew(known)) return sendNotModified(reply, caching);
      const answer = await render();
      endTurn?.();
      endTurn = undefined;
      const next = cursorOfNext(ask, answer.next, walk, lease.secrets);
      reply.headers({ ...caching, ...content, ...linkToNext(target, next) });
      const keep = (bytes: Buffer) => lease.keep(etag, { bytes, next });
      refuseRecalled(lease.version);
      return await sendAnswer({ request, reply, encoding, place: large, keep }, answer, shares.files);
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
    throw new AppError('not-found', 'There is no such path. The reference at /docs lists them all.');
  });
  for (const { base, table, document: path } of published) {
    for (const route of table.routes) {
      for (const url of routeUrls(base, table, route)) {
        addRoute(app, url, (request, reply) => answerRoute(table.variant, route, request, reply));
      }
    }
    const document = new FixedFile(JSON.stringify(describeVariant(table, base)), JSON_TYPE);
    addRoute(app, path, async (request, reply) =>
      document.send(request, reply.header('cache-control', 'no-cache')),
    );
  }
  const site = options.consoleFolder === undefined ? undefined : readConsole(options.consoleFolder);
  if (site === undefined) addIndexRoute(app, published);
  else addConsoleRoutes(app, site);
  addReferenceRoutes(app, published);
  addHealthRoutes(app, store, metrics, impaired, () => stopping);
  prepareConnections(app.server);
  shares.connections.watch(app.server);
  return {
    fastify: app,
    limits,
    beginStop: () => {
      stopping = true;
      live.end();
    },
    close: async () => {
      shares.underWay.close();
      await datasets.close();
    },
  };
}
