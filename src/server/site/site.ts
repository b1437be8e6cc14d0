/** The pages for people: the console, the documents, the reference, and a page for each problem. */
import type { FastifyInstance } from 'fastify';
import { addRoute } from '../http/methods.ts';
import type { PublishedBase } from '../routes/variants.ts';
import { readBuiltFiles } from './built-files.ts';
import { addConsoleRoutes } from './console.ts';
import { addDocumentRoutes } from './documents.ts';
import { addIndexRoute, addPlainReferenceRoutes } from './plain-reference.ts';

export interface SiteFolders {
  /**
   * Folder of the built console; if absent or without a build, `/` is a plain page (decision 51).
   */
  readonly consoleFolder?: string | undefined;
  /**
   * Folder of the built documents; if absent or without a build, `/docs` is the plain reference.
   */
  readonly documentsFolder?: string | undefined;
}

const PLAIN_REFERENCE = '/docs/api/plain';

export function addSite(
  app: FastifyInstance,
  published: readonly PublishedBase[],
  { consoleFolder, documentsFolder }: SiteFolders,
): void {
  const pages = consoleFolder === undefined ? undefined : readBuiltFiles(consoleFolder);
  if (pages === undefined) addIndexRoute(app, published);
  else addConsoleRoutes(app, pages);
  const documents = documentsFolder === undefined ? undefined : readBuiltFiles(documentsFolder);
  if (documents === undefined) {
    addPlainReferenceRoutes(app, published, ['/docs', '/docs/api', PLAIN_REFERENCE]);
  } else {
    addDocumentRoutes(app, documents);
    addPlainReferenceRoutes(app, published, [PLAIN_REFERENCE]);
  }
  addRoute(app, '/console/api', (request, reply) => {
    // Until 0.1.0 the console had a reference of its own; `op` named the operation.
    const operation = new URLSearchParams(request.visit.target.query).get('op');
    return reply.redirect(
      operation === null ? '/docs/api' : `/docs/api#${encodeURIComponent(operation)}`,
      308,
    );
  });
}
