/**
 * The product from the view of a client: started with its demo organization, with its OpenAPI
 * documents and values to request.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { closed } from '../test/server/strict-document.ts';
import { type Running, startTool } from './tool.ts';

const ROOT = join(import.meta.dirname, '..');

export interface Product extends Pick<Running, 'stop'> {
  /** `http://host:port`. */
  readonly url: string;
  readonly key: string;
}

export interface Operation {
  readonly operationId: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: 'path' | 'query';
    readonly schema: { readonly enum?: readonly string[] };
  }[];
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>;
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
}

/** One variant under test. */
export interface Target {
  readonly title: string;
  /** Short, for names of files. */
  readonly name: string;
  /** `http://host:port/base`. */
  readonly baseUrl: string;
  readonly key: string;
  readonly document: OpenApiDocument;
  readonly documentPath: string;
  /** The same document, but it refuses members that it does not describe. */
  readonly closedPath: string;
  /** An existing value for every name in a path. */
  readonly pathValues: Readonly<Record<string, string>>;
}

export async function startProduct(folder: string): Promise<Product> {
  const args = [join(ROOT, 'src/cli/main.ts'), 'demo', '--data', join(folder, 'data'), '--port', '0'];
  const announcement = /Variant A: (\S+)\/a\n[\s\S]*Key: +(\S+)\n/;
  const { announced, stop } = await startTool(args, ROOT, announcement);
  const [, url = '', key = ''] = announced;
  return { url, key, stop };
}

/** Fetches the documents of both variants and of the insights, and writes them to `folder`. */
export async function readTargets({ url, key }: Product, folder: string): Promise<readonly Target[]> {
  const pathValues = await readPathValues();
  return Promise.all(
    [
      { title: 'Variant A', base: 'a', path: 'a/openapi.json' },
      { title: 'Variant B', base: 'b', path: 'b/openapi.json' },
      { title: 'Insights', base: 'insights', path: 'insights/v1/openapi.json' },
    ].map(async ({ title, base, path }) => {
      const response = await fetch(`${url}/${path}`);
      if (!response.ok) throw new Error(`/${path} answers ${response.status}.`);
      const document: OpenApiDocument = JSON.parse(await response.text());
      const documentPath = join(folder, `${base}.json`);
      await writeFile(documentPath, JSON.stringify(document, undefined, 2));
      const closedPath = join(folder, `${base}-closed.json`);
      await writeFile(closedPath, JSON.stringify(closed(document), undefined, 2));
      return {
        title,
        name: base,
        baseUrl: `${url}/${base}`,
        key,
        document,
        documentPath,
        closedPath,
        pathValues,
      };
    }),
  );
}

/** Reads values from the demo bundle, because no response contains the identifiers of an LMS. */
async function readPathValues(): Promise<Record<string, string>> {
  const board = await readFirstRecord('boards.csv.gz');
  const user = await readFirstRecord('users.csv.gz');
  const property = Object.keys(user).find((name) => name.startsWith('lms.')) ?? '';
  const [boardId, userId] = [board['id'] ?? '', user['id'] ?? ''];
  return {
    ...{ 'board-id': boardId, boardId, 'user-id': userId, userId },
    ...{ ltiId: board['lti_id'] ?? '', courseId: board['course_id'] ?? '' },
    ...{ prop: property.slice('lms.'.length), val: user[property] ?? '' },
  };
}

/** Reads the first record; in the demo files it has no quoted fields. */
async function readFirstRecord(file: string): Promise<Record<string, string>> {
  const [header = '', first = ''] = gunzipSync(await readFile(join(ROOT, 'demo', file)))
    .toString()
    .split(/\r?\n/);
  const values = first.split(',');
  return Object.fromEntries(header.split(',').map((name, index) => [name, values[index] ?? '']));
}
