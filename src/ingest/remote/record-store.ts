/**
 * Reads statements from a learning record store with the xAPI interface (1.0, 2.0), page by page
 * (`GET statements`, `more`), oldest first, as lines of NDJSON.
 */

import { CorkboardError } from '../../client/errors.ts';
import { AppError } from '../../domain/app-error.ts';
import { partsOf } from '../fields/json-shape.ts';
import { reasonOf, requestWithRetry, textOf } from './request-with-retry.ts';

export interface RecordStore {
  /** The URL of the interface; `statements` is below it. */
  readonly url: string;
  /** The whole header field `Authorization`; if absent, none is sent. */
  readonly authorization?: string | undefined;
  /** Only statements stored after this instant; ISO 8601. */
  readonly since?: string | undefined;
}

const VERSION = '1.0.3';
const PAGE = '500';
const FIRST_PAUSE_MS = 500;
const LARGEST_PAGE_BYTES = 64 * 1024 * 1024;

interface StatementPage {
  /** As written by the server, each in one line. */
  readonly statements: readonly string[];
  readonly more: string | undefined;
}

/**
 * Throws `file-unreadable` when the store keeps failing, or its responses are not those of a record
 * store. Credentials are sent to no other host than that of `url`.
 */
export async function* readStatements(
  { url, authorization, since }: RecordStore,
  firstPauseMs = FIRST_PAUSE_MS,
): AsyncGenerator<string, void> {
  const headers = {
    'x-experience-api-version': VERSION,
    ...(authorization !== undefined && { authorization }),
  };
  const first = new URL(`${url.replace(/\/(?:statements\/?)?$/, '')}/statements`);
  first.searchParams.set('ascending', 'true');
  first.searchParams.set('limit', PAGE);
  if (since !== undefined) first.searchParams.set('since', since);
  let isEmpty = true;
  const seen = new Set<string>();
  let next: URL | undefined = first;
  while (next !== undefined) {
    const { statements, more }: StatementPage = await readPage(next, headers, firstPauseMs);
    if (statements.length > 0) {
      isEmpty = false;
      yield statements.map((one) => `${one}\n`).join('');
    }
    seen.add(next.href);
    next = more === undefined ? undefined : nextOf(more, next, seen);
  }
  // Without any output, the input would be reported as an empty file.
  if (isEmpty) yield '\n';
}

/**
 * Throws `file-unreadable` when the URL of the next page is invalid, is on a different host, or was
 * read before.
 */
function nextOf(more: string, page: URL, seen: ReadonlySet<string>): URL {
  if (!URL.canParse(more, page.href)) throw unreadable('the URL of its next page is invalid');
  const next = new URL(more, page);
  if (next.origin !== page.origin) throw unreadable('its next page is on a different host');
  if (seen.has(next.href)) throw unreadable('its pages lead in a circle');
  return next;
}

async function readPage(
  url: URL,
  headers: Readonly<Record<string, string>>,
  firstPauseMs: number,
): Promise<StatementPage> {
  const read = (body: AsyncIterable<Uint8Array>) =>
    textOf(body, LARGEST_PAGE_BYTES, () => unreadable('a page has more than 64 MiB'));
  const origin = { baseUrl: url.origin, headers };
  const request = { path: url.pathname + url.search };
  const text = await requestWithRetry(origin, request, read, { firstPauseMs }).catch((error: unknown) => {
    throw error instanceof CorkboardError ? unreadable(reasonOf(error)) : error;
  });
  return pageOf(text);
}

/**
 * Statements are not parsed here: an error in one is found when its record is read, and does not
 * end the import.
 */
function pageOf(text: string): StatementPage {
  const members = new Map(partsOf(text)?.map((part) => [part.name, part.text]));
  const statements = members.get('statements');
  const listed = statements?.startsWith('[') ? partsOf(statements) : undefined;
  if (listed === undefined) throw noStore();
  // In JSON, line ends occur only between tokens, never within a string.
  return {
    statements: listed.map((part) => part.text.replace(/[\r\n]+/g, ' ')),
    more: moreOf(members.get('more')),
  };
}

function moreOf(written: string | undefined): string | undefined {
  if (!written?.startsWith('"') || written === '""') return undefined;
  try {
    return String(JSON.parse(written));
  } catch {
    throw noStore();
  }
}

function noStore(): AppError {
  return unreadable('its response is not a page of statements');
}

function unreadable(reason: string): AppError {
  return new AppError(
    'file-unreadable',
    `Cannot read the learning record store: ${reason}. Check its URL and the credentials.`,
  );
}
