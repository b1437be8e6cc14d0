/** The methods of a read-only interface, the same ones on every path (decision 14). */
import type { FastifyInstance, FastifyReply, RouteHandlerMethod } from 'fastify';

const METHODS = ['GET', 'HEAD', 'OPTIONS'];

export const ALLOWED_METHODS = METHODS.join(', ');

export function isAllowedMethod(method: string): boolean {
  return METHODS.includes(method);
}

/**
 * OPTIONS never reaches the handler of a route: the pipeline responds to it, the same on all
 * routes.
 */
export function addRoute(app: FastifyInstance, url: string, handler: RouteHandlerMethod): void {
  app.route({ method: METHODS, url, handler });
}

export function sendMethods(reply: FastifyReply): FastifyReply {
  return reply.code(204).header('allow', ALLOWED_METHODS).send();
}
