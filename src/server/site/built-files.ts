/**
 * The files of a build, such as the console or the documents, held in memory. Nothing in them is
 * secret: they are the same for all clients and are sent without a key.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { FixedFile } from './fixed-file.ts';

/** By path in the folder, with `/`. */
export type BuiltFiles = ReadonlyMap<string, FixedFile>;

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
};

/** File names in this folder contain a digest of their content, so the files never change. */
const ASSETS = 'assets/';

/** Absent when the folder does not contain a build, that is, no `index.html`. */
export function readBuiltFiles(folder: string): BuiltFiles | undefined {
  if (!existsSync(join(folder, 'index.html'))) return undefined;
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return new Map(
    entries.flatMap((entry) => {
      if (!entry.isFile()) return [];
      const path = join(entry.parentPath, entry.name);
      const type = TYPES[extname(path)] ?? 'application/octet-stream';
      return [[relative(folder, path).replaceAll(sep, '/'), new FixedFile(readFileSync(path), type)]];
    }),
  );
}

/** Whether the path is one of the folder of immutable files. */
export function isAsset(path: string): boolean {
  return path.startsWith(ASSETS);
}

/** Sends the file with the content security policy, or 304. `path` is that of the file. */
export async function sendBuiltFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: FixedFile,
  { path, policy }: { readonly path: string; readonly policy: string },
): Promise<FastifyReply> {
  reply.headers({
    'cache-control': isAsset(path) ? 'public, max-age=31536000, immutable' : 'no-cache',
    'content-security-policy': policy,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
  });
  return await file.send(request, reply);
}
