/**
 * Cross-origin requests: allowed only from the origins that the operator configures (decision 14).
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ALLOWED_METHODS } from './methods.ts';

const EXPOSED_FIELDS =
  'Accept-Ranges, Content-Disposition, Content-Range, Data-Version, ETag, Link, RateLimit, ' +
  'RateLimit-Policy, Retry-After, Server-Timing, Sync-Token, X-Request-Id';
const ALLOWED_FIELDS =
  'apikey, authorization, accept, if-none-match, if-range, last-event-id, range, x-request-id';
const PREFLIGHT_SECONDS = 600;

/** Lets pages of a configured origin read the response, whatever its status. */
export function allowOrigin(request: FastifyRequest, reply: FastifyReply, origins: readonly string[]): void {
  if (origins.length === 0) return;
  const vary = reply.getHeader('vary');
  reply.header('vary', vary === undefined ? 'Origin' : `${vary}, Origin`);
  const { origin } = request.headers;
  if (origin === undefined || !origins.includes(origin)) return;
  reply.header('access-control-allow-origin', origin);
  reply.header('access-control-expose-headers', EXPOSED_FIELDS);
}

/**
 * A CORS preflight, which the browser sends without the key. The response does not reveal whether
 * the path exists.
 */
export function isPreflight(request: FastifyRequest, origins: readonly string[]): boolean {
  const { origin } = request.headers;
  return (
    request.method === 'OPTIONS' &&
    request.headers['access-control-request-method'] !== undefined &&
    origin !== undefined &&
    origins.includes(origin)
  );
}

export function sendPreflight(reply: FastifyReply): FastifyReply {
  return reply
    .code(204)
    .header('access-control-allow-methods', ALLOWED_METHODS)
    .header('access-control-allow-headers', ALLOWED_FIELDS)
    .header('access-control-max-age', PREFLIGHT_SECONDS)
    .send();
}
