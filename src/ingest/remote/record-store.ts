/**
 * Statements out of a learning record store, page by page as its interface has them (xAPI 1.0, 2.0: `GET statements`,
 * `more`), oldest first, as lines of NDJSON.
 */

import { CorkboardError } from '../../client/errors.ts';
import { AppError } from '../../domain/app-error.ts';
import { partsOf } from '../fields/json-shape.ts';
import { askPatiently, reasonOf, textOf } from './patient-request.ts';

export interface RecordStore {
  /** Of the interface, below which `statements` lies. */
  readonly url: string;
  /** The whole header field `Authorization`; absent: none is sent. */
  readonly authorization?: string | undefined;
  /** Only statements stored after this instant; ISO 8601. */
  readonly since?: string | undefined;
}

const VERSION = '1.0.3';
const PAGE = '500';
const FIRST_PAUSE_MS = 500;
const LARGEST_PAGE_BYTES = 64 * 1024 * 1024;

interface Page {
  /** As they are written, each in one line. */
  readonly statements: readonly string[];
  readonly more: string | undefined;
}

/**
 * Throws `file-unreadable` when the store does not answer, again and again, or not as a record store does. Credentials go
 * to no other host than its own.
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
    const { statements, more }: Page = await readPage(next, headers, firstPauseMs);
    if (statements.length > 0) {
      isEmpty = false;
      yield statements.map((one) => `${one}\n`).join('');
    }
    seen.add(next.href);
    next = more === undefined ? undefined : nextOf(more, next, seen);
  }
  // Nothing at all would be taken for a damaged file.
  if (isEmpty) yield '\n';
}

/** Throws `file-unreadable` where credentials would go elsewhere, or the way has no end. */
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
): Promise<Page> {
  const read = (body: AsyncIterable<Uint8Array>) =>
    textOf(body, LARGEST_PAGE_BYTES, () => unreadable('a page has more than 64 MiB'));
  const origin = { baseUrl: url.origin, headers };
  const request = { path: url.pathname + url.search };
  const text = await askPatiently(origin, request, read, { firstPauseMs }).catch((error: unknown) => {
    throw error instanceof CorkboardError ? unreadable(reasonOf(error)) : error;
  });
  return pageOf(text);
}

/**
 * Statements stay as they are written: what is wrong with one is found when it is read, and is no
 * end of the import.
 */
function pageOf(text: string): Page {
  const members = new Map(partsOf(text)?.map((part) => [part.name, part.text]));
  const statements = members.get('statements');
  const listed = statements?.startsWith('[') ? partsOf(statements) : undefined;
  if (listed === undefined) throw noStore();
  // A line end in JSON lies between its tokens, never in a text.
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
