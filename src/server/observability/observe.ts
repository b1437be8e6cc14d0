/**
 * The single place that logs and counts. Everything worth knowing is an observation; nobody else writes to the log
 * or to the metrics. Header fields and keys are never part of one.
 */

import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { ProblemCode } from '../../domain/app-error.ts';
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
  | { readonly type: 'connection-refused'; readonly code: ProblemCode; readonly client: string | undefined };

/** What an organization is served from while its version in force cannot be read. */
const SERVING: Readonly<Record<Impairment, string>> = {
  unavailable: 'nothing',
  earlier: 'an earlier version',
  partial: 'what can be read of it',
};

type Finished = Extract<Observation, { type: 'request-finished' }>;

export type Observe = (observation: Observation) => void;

/** What becomes known about a request on its way. */
export class Visit {
  readonly #startMs = performance.now();
  readonly #bytesBefore: number;
  readonly #request: IncomingMessage;
  key: KeyEntry | undefined;
  /** A known key that has expired or been revoked. */
  refusedKey: KeyEntry | undefined;
  code: ProblemCode | undefined;
  /** Why the server cut the response; for the log only. */
  cutFor: CutReason | undefined;
  /** What went wrong unexpectedly; for the log only. */
  failure: unknown;

  /** Address of the client, read at the start: a closed socket does not know it any more. */
  readonly client: string | undefined;

  constructor(request: IncomingMessage, client: string | undefined) {
    this.#request = request;
    this.client = client;
    this.#bytesBefore = request.socket.bytesWritten;
  }

  elapsedMs(): number {
    return performance.now() - this.#startMs;
  }

  /** Value of `Server-Timing`: the same entry in every answer, so that its presence tells nothing (decision 12). */
  timing(): string {
    return `total;dur=${this.elapsedMs().toFixed(1)}`;
  }

  /** Written to the socket for this request, header included. */
  sentBytes(): number {
    return this.#request.socket.bytesWritten - this.#bytesBefore;
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    visit: Visit;
  }
}

/** Begins to watch a request; it is observed when its answer has ended, one way or the other. */
export function watchRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  observe: Observe,
  metrics: Metrics,
): void {
  const visit = new Visit(request.raw, addressOf(request.ip) ?? addressOf(request.raw.socket.remoteAddress));
  request.visit = visit;
  metrics.inFlight.count += 1;
  reply.raw.once('close', () => {
    metrics.inFlight.count -= 1;
    observe({ type: 'request-finished', visit, request, reply });
  });
}

/** Absent when the text is no address: a proxy can pass on anything. */
export function addressOf(text: string | undefined): string | undefined {
  // IPv4 over a socket of IPv6.
  const address = text?.replace(/^::ffff:(?=\d+\.)/i, '');
  return address !== undefined && isIP(address) !== 0 ? address : undefined;
}

export function createObserver(log: FastifyBaseLogger, metrics: Metrics, paths: LoggedPaths): Observe {
  const logsRequests = log.level === 'info' || log.level === 'debug';

  function finishRequest({ visit, request, reply }: Finished): void {
    const { method } = request;
    const { url } = request.routeOptions;
    const route = url ?? 'none';
    const status = reply.raw.statusCode;
    const bytes = visit.sentBytes();
    const durationMs = visit.elapsedMs();
    metrics.countRequest(route, method, status, durationMs / 1000, bytes);
    if (!logsRequests && visit.failure === undefined) return;
    const key = visit.key ?? visit.refusedKey;
    const line = {
      request_id: request.id,
      client: visit.client,
      method,
      route,
      path: paths.show(new RequestTarget(request.originalUrl).path, url),
      status,
      code: visit.code,
      duration_ms: round(durationMs),
      bytes,
      key: key?.id,
      organization: key?.organization,
      // Left unfinished: by the client, or because of the failure beside it.
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
      case 'version-unreadable': {
        const { organization, version, impairment, error, isNew } = observation;
        metrics.datasetFailures.inc(metrics.labelsOf(organization));
        const line = { organization, version, serving: SERVING[impairment], err: error };
        // Further attempts that fail alike add nothing but lines.
        return log[isNew ? 'error' : 'debug'](line, 'version cannot be read');
      }
    }
  };
}

function round(durationMs: number): number {
  return Math.round(durationMs * 10) / 10;
}
