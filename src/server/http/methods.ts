/** The methods of a read-only interface, the same ones on every path (decision 14). */
import type { FastifyInstance, FastifyReply, RouteHandlerMethod } from 'fastify';

const METHODS = ['GET', 'HEAD', 'OPTIONS'];

export const ALLOWED_METHODS = METHODS.join(', ');

export function isAllowedMethod(method: string): boolean {
  return METHODS.includes(method);
}

/** OPTIONS of a route never reaches its handler: the pipeline answers it for all of them alike. */
export function addRoute(app: FastifyInstance, url: string, handler: RouteHandlerMethod): void {
  app.route({ method: METHODS, url, handler });
}

export function sendMethods(reply: FastifyReply): FastifyReply {
  return reply.code(204).header('allow', ALLOWED_METHODS).send();
}
