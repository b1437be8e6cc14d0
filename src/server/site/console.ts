/**
 * The web console at `/` and under `/console/`. The console is a client of the API like any other:
 * nothing here has a key or any data.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../domain/app-error.ts';
import { addRoute } from '../http/methods.ts';
import { type BuiltFiles, isAsset, sendBuiltFile } from './built-files.ts';

/** Nothing from other origins, nothing inline; the console sends its requests to this server. */
const POLICY = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self' data:`,
  `connect-src 'self'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
  `require-trusted-types-for 'script'`,
].join('; ');

const FOLDER = '/console/';
const INDEX = 'index.html';

/**
 * Paths under `/console/` that are not files are pages of the console, which routes them itself.
 */
export function addConsoleRoutes(app: FastifyInstance, files: BuiltFiles): void {
  const send = (request: FastifyRequest, reply: FastifyReply, path: string) => {
    const file = files.get(path);
    if (file === undefined) throw new AppError('not-found', 'The console has no such file. Reload the page.');
    return sendBuiltFile(request, reply, file, { path, policy: POLICY });
  };
  const sendIndex = (request: FastifyRequest, reply: FastifyReply) => send(request, reply, INDEX);
  addRoute(app, '/', sendIndex);
  addRoute(app, '/console', sendIndex);
  addRoute(app, '/console/*', (request, reply) => {
    const { decodedPath } = request.visit.target;
    const path = decodedPath.slice(FOLDER.length);
    return send(request, reply, files.has(path) || isAsset(`${path}/`) ? path : INDEX);
  });
}
