/**
 * The web console at `/` and under `/console/`: the files of its build, held in memory with their tags and compressed
 * forms. The console is a client of the interface like any other: nothing here knows a key or any data.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../app-error.ts';
import { namesTag } from './conditional.ts';
import { addRoute } from './methods.ts';
import { readTarget } from './target.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Nothing from elsewhere, nothing inline; what the console asks for comes from here. */
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

/** The names of these carry a digest of their content, so they never change. */
const ASSETS = '/console/assets/';
const BEST_LEVEL = 9;

interface ConsoleFile {
  readonly bytes: Buffer;
  readonly gzipped: Promise<Buffer>;
  readonly etag: string;
  readonly type: string;
}

export interface Console {
  readonly index: ConsoleFile;
  /** By path. */
  readonly assets: ReadonlyMap<string, ConsoleFile>;
}

/** Absent when the folder holds no build. */
export function readConsole(folder: string): Console | undefined {
  if (!existsSync(join(folder, 'index.html'))) return undefined;
  const names = readdirSync(join(folder, 'assets'));
  return {
    index: readConsoleFile(join(folder, 'index.html')),
    assets: new Map(names.map((name) => [ASSETS + name, readConsoleFile(join(folder, 'assets', name))])),
  };
}

function readConsoleFile(path: string): ConsoleFile {
  const bytes = readFileSync(path);
  return {
    bytes,
    gzipped: promisify(gzip)(bytes, { level: BEST_LEVEL }),
    etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    type: TYPES[extname(path)] ?? 'application/octet-stream',
  };
}

/** Whatever under `/console/` is no file is a page of the console, which finds its own way. */
export function addConsoleRoutes(app: FastifyInstance, { index, assets }: Console): void {
  const sendIndex = (request: FastifyRequest, reply: FastifyReply) =>
    sendFile(request, reply.headers({ 'cache-control': 'no-cache' }), index);
  addRoute(app, '/', sendIndex);
  addRoute(app, '/console', sendIndex);
  addRoute(app, '/console/*', (request, reply) => {
    const { decodedPath } = readTarget(request.originalUrl);
    if (!decodedPath.startsWith(ASSETS)) return sendIndex(request, reply);
    const asset = assets.get(decodedPath);
    if (asset === undefined) throw new AppError('not-found', 'The console has no such file. Load it anew.');
    const caching = { 'cache-control': 'public, max-age=31536000, immutable' };
    return sendFile(request, reply.headers(caching), asset);
  });
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: ConsoleFile,
): Promise<FastifyReply> {
  const { 'if-none-match': known, 'accept-encoding': accepted = '' } = request.headers;
  reply.headers({
    etag: file.etag,
    vary: [reply.getHeader('vary') ?? [], 'Accept-Encoding'].flat().join(', '),
    'content-security-policy': POLICY,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
  });
  if (namesTag(known, file.etag)) return reply.code(304).send();
  reply.header('content-type', file.type);
  if (!/\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(String(accepted))) return reply.send(file.bytes);
  return reply.header('content-encoding', 'gzip').send(await file.gzipped);
}
