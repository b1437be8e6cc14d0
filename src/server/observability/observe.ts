/**
 * The only place that logs and counts. Everything worth recording is an observation; no other code
 * writes to the log or to the metrics. Observations never contain header fields or keys.
 */

import type { IncomingMessage } from 'node:http';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { AccessLog } from '../../audit/access-log.ts';
import type { ProblemCode } from '../../domain/app-error.ts';
import { addressOf, isInNetworks } from '../../domain/network.ts';
import type { Scope } from '../../domain/scope.ts';
import type { KeyEntry } from '../../keys/keyring.ts';
import { RequestTarget } from '../http/target.ts';
import type { DatasetNews } from '../versions/datasets.ts';
import type { Impairment } from '../versions/impaired.ts';
import type { CutReason } from '../versions/replaced-versions.ts';
import type { LoggedPaths } from './logged-path.ts';
import type { Metrics } from './metrics.ts';

type Observation =
  | DatasetNews
  | {
      readonly type: 'request-finished';
      readonly visit: Visit;
      readonly request: FastifyRequest;
      readonly reply: FastifyReply;
    }
  | { readonly type: 'keys-unreadable'; readonly error: unknown }
  | { readonly type: 'connection-refused'; readonly code: ProblemCode; readonly client: string | undefined };

/**
 * The source of responses while the current version of an organization cannot be read, for the log.
 */
const SERVING: Readonly<Record<Impairment, string>> = {
  unavailable: 'nothing',
  earlier: 'an earlier version',
  partial: 'what can be read of it',
};

type Finished = Extract<Observation, { type: 'request-finished' }>;

export type Observe = (observation: Observation) => void;

/** What becomes known about a request while it is handled. */
export class Visit {
  /** Taken apart once for all steps. */
  readonly target: RequestTarget;
  readonly #startMs = performance.now();
  readonly #bytesBefore: number;
  readonly #request: IncomingMessage;
  key: KeyEntry | undefined;
  /** A known key that is refused. */
  refusedKey: KeyEntry | undefined;
  code: ProblemCode | undefined;
  /** The form of the body; absent until the request has been read. */
  representation: string | undefined;
  /** Number of events, records or changes in the body; absent if unknown. Only for the audit. */
  rows: number | undefined;
  /** Whether LMS ids of users are requested (decision 101). Only for the audit. */
  lmsIds: true | undefined;
  /** Why the server cut the response; only for the log. */
  cutFor: CutReason | undefined;
  /** An unexpected error; only for the log. */
  failure: unknown;

  /**
   * Address of the client; absent if the trusted proxies name none (decision 84). Read at the
   * start, because a closed socket no longer has it.
   */
  readonly address: string | undefined;

  /** Address of the client, or else of a proxy; only for the log. */
  readonly client: string | undefined;

  constructor(
    { raw, originalUrl, ip }: Pick<FastifyRequest, 'raw' | 'originalUrl' | 'ip'>,
    trustedProxies: readonly string[] = [],
  ) {
    this.target = new RequestTarget(originalUrl);
    this.#request = raw;
    const last = addressOf(ip);
    this.address = isInNetworks(trustedProxies, last) ? undefined : last;
    this.client = last ?? addressOf(raw.socket.remoteAddress);
    this.#bytesBefore = raw.socket.bytesWritten;
  }

  elapsedMs(): number {
    return performance.now() - this.#startMs;
  }

  /**
   * Value of `Server-Timing`. Every response has the same entry, so that its presence reveals
   * nothing (decision 12).
   */
  timing(): string {
    return `total;dur=${this.elapsedMs().toFixed(1)}`;
  }

  /** Bytes written to the socket for this request, header included. */
  sentBytes(): number {
    return this.#request.socket.bytesWritten - this.#bytesBefore;
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    visit: Visit;
  }
}

/** Begins to watch a request. It is observed when its response has ended, for whatever reason. */
export function watchRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  observe: Observe,
  metrics: Metrics,
  trustedProxies: readonly string[],
): void {
  const visit = new Visit(request, trustedProxies);
  request.visit = visit;
  metrics.inFlight.count += 1;
  reply.raw.once('close', () => {
    metrics.inFlight.count -= 1;
    observe({ type: 'request-finished', visit, request, reply });
  });
}

/** `access`: receives every request with a known key; absent if they are not recorded. */
export function createObserver(
  log: FastifyBaseLogger,
  metrics: Metrics,
  paths: LoggedPaths,
  access?: AccessLog,
): Observe {
  const logsRequests = log.level === 'info' || log.level === 'debug';

  function finishRequest({ visit, request, reply }: Finished): void {
    const { method } = request;
    const { url } = request.routeOptions;
    const route = url ?? 'none';
    const status = reply.raw.statusCode;
    const bytes = visit.sentBytes();
    const durationMs = visit.elapsedMs();
    metrics.countRequest(route, method, status, durationMs / 1000, bytes);
    const key = visit.key ?? visit.refusedKey;
    if (access !== undefined && key !== undefined) {
      const { representation, lmsIds } = visit;
      const rows = [200, 206].includes(status) && method === 'GET' ? visit.rows : undefined;
      access.add({ ...accessOf(key), method, route, representation, status, rows, bytes, lmsIds });
    }
    if (!logsRequests && visit.failure === undefined) return;
    const line = {
      request_id: request.id,
      client: visit.client,
      method,
      route,
      path: paths.show(visit.target.path, url),
      status,
      code: visit.code,
      duration_ms: round(durationMs),
      bytes,
      key: key?.id,
      organization: key?.organization,
      // The response is incomplete: the client has disconnected, or the failure in this line has
      // cut it.
      cut: reply.raw.writableFinished ? undefined : true,
      cut_for: visit.cutFor,
    };
    if (visit.failure === undefined) log.info(line, 'request');
    else log.error({ ...line, err: visit.failure }, 'request failed');
  }

  return (observation) => {
    switch (observation.type) {
      case 'request-finished':
        return finishRequest(observation);
      case 'connection-refused':
        metrics.refusedConnections.inc({ code: observation.code });
        return log.info({ code: observation.code, client: observation.client }, 'connection refused');
      case 'dataset-opened': {
        const { organization, version, ms } = observation;
        metrics.datasetsOpened.inc(metrics.labelsOf(organization));
        metrics.datasetsOpen.inc();
        return log.info({ organization, version, duration_ms: round(ms) }, 'dataset in service');
      }
      case 'dataset-closed':
        metrics.datasetsOpen.dec();
        return log.debug(
          { organization: observation.organization, version: observation.version },
          'dataset closed',
        );
      case 'dataset-failed':
        metrics.datasetFailures.inc(metrics.labelsOf(observation.organization));
        return log.error(
          { organization: observation.organization, err: observation.error },
          'dataset cannot be looked up or closed',
        );
      case 'keys-unreadable':
        return log.error({ err: observation.error }, 'keys cannot be read');
      case 'version-unreadable': {
        const { organization, version, impairment, error, isNew } = observation;
        metrics.datasetFailures.inc(metrics.labelsOf(organization));
        const line = { organization, version, serving: SERVING[impairment], err: error };
        // Further attempts that fail in the same way are logged only at the level "debug".
        return log[isNew ? 'error' : 'debug'](line, 'version cannot be read');
      }
    }
  };
}

/** Scopes are shown by their size: an id of a user would outlive the erasure of the user. */
function accessOf({ id, organization, scope }: KeyEntry) {
  const boards = sizeOf(scope.boards);
  return { time: new Date().toISOString(), key: id, organization, boards, users: sizeOf(scope.users) };
}

function sizeOf(part: Scope['boards'] | Scope['users']): string | number {
  return typeof part === 'string' ? part : part.length;
}

function round(durationMs: number): number {
  return Math.round(durationMs * 10) / 10;
}
