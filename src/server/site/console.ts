/**
 * The web console at `/` and under `/console/`: the files of its build, held in memory. The console
 * is a client of the API like any other: nothing here has a key or any data.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../domain/app-error.ts';
import { addRoute } from '../http/methods.ts';
import { RequestTarget } from '../http/target.ts';
import { FixedFile } from './fixed-file.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.svg': 'image/svg+xml',
};

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

/** File names in this folder contain a digest of their content, so the files never change. */
const ASSETS = '/console/assets/';

export interface Console {
  readonly index: FixedFile;
  /** The notices of the libraries that the scripts contain. */
  readonly licenses: FixedFile;
  /** By path. */
  readonly assets: ReadonlyMap<string, FixedFile>;
}

/** Absent when the folder does not contain a build. */
export function readConsole(folder: string): Console | undefined {
  if (!existsSync(join(folder, 'index.html'))) return undefined;
  const names = readdirSync(join(folder, 'assets'));
  return {
    index: readConsoleFile(join(folder, 'index.html')),
    licenses: readConsoleFile(join(folder, 'licenses.md')),
    assets: new Map(names.map((name) => [ASSETS + name, readConsoleFile(join(folder, 'assets', name))])),
  };
}

function readConsoleFile(path: string): FixedFile {
  return new FixedFile(readFileSync(path), TYPES[extname(path)] ?? 'application/octet-stream');
}

/**
 * Paths under `/console/` that are not files are pages of the console, which routes them itself.
 */
export function addConsoleRoutes(app: FastifyInstance, { index, licenses, assets }: Console): void {
  const sendPage = (page: FixedFile) => (request: FastifyRequest, reply: FastifyReply) =>
    sendFile(request, reply.headers({ 'cache-control': 'no-cache' }), page);
  const sendIndex = sendPage(index);
  addRoute(app, '/', sendIndex);
  addRoute(app, '/console', sendIndex);
  addRoute(app, '/console/licenses.md', sendPage(licenses));
  addRoute(app, '/console/*', (request, reply) => {
    const { decodedPath } = new RequestTarget(request.originalUrl);
    if (!`${decodedPath}/`.startsWith(ASSETS)) return sendIndex(request, reply);
    const asset = assets.get(decodedPath);
    if (asset === undefined)
      throw new AppError('not-found', 'The console has no such file. Reload the page.');
    const caching = { 'cache-control': 'public, max-age=31536000, immutable' };
    return sendFile(request, reply.headers(caching), asset);
  });
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: FixedFile,
): Promise<FastifyReply> {
  reply.headers({
    'content-security-policy': POLICY,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
  });
  return await file.send(request, reply);
}
