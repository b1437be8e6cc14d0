/**
 * The documents at `/docs`, and the reference of the API at `/docs/api`: the pages that `site/`
 * builds (decision 77). Without a build, both paths show the plain reference.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../domain/app-error.ts';
import { addRoute } from '../http/methods.ts';
import { type BuiltFiles, sendBuiltFile } from './built-files.ts';

const FOLDER = '/docs/';
const INDEX = 'index.html';
const REFERENCE = 'api.html';

/** Nothing from other origins, nothing inline. The search is a form that opens a page. */
const POLICY = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self' data:`,
  `connect-src 'self'`,
  `base-uri 'none'`,
  `form-action 'self'`,
  `frame-ancestors 'none'`,
].join('; ');

/** The component that shows the reference writes style elements and style attributes. */
const REFERENCE_POLICY = POLICY.replace(`style-src 'self'`, `style-src 'self' 'unsafe-inline'`);

/** The extension of a page can be left out: `/docs/operations` is `operations.html`. */
export function addDocumentRoutes(app: FastifyInstance, files: BuiltFiles): void {
  const sendPage = async (request: FastifyRequest, reply: FastifyReply) => {
    const { decodedPath, path: place } = request.visit.target;
    const name = decodedPath.slice(FOLDER.length) || INDEX;
    const path = files.has(name) ? name : `${name}.html`;
    const file = files.get(path);
    if (file === undefined)
      throw new AppError('not-found', 'There is no such document. All of them are listed at /docs.');
    // Links between pages are relative, so the address of the first page ends with a slash.
    const canonical = `${place}/` === FOLDER ? FOLDER : place;
    if (canonical.endsWith('/') !== endsWithSlash(request.originalUrl)) {
      return reply.header('cache-control', 'no-cache').redirect(canonical, 308);
    }
    const policy = path === REFERENCE ? REFERENCE_POLICY : POLICY;
    return await sendBuiltFile(request, reply, file, { path, policy });
  };
  addRoute(app, '/docs', sendPage);
  addRoute(app, '/docs/*', sendPage);
}

function endsWithSlash(url: string): boolean {
  const [path = ''] = url.split('?', 1);
  return path.endsWith('/');
}
