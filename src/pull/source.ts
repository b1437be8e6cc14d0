/**
 * The server of a pull: its URLs, its refusals, and its responses, which are checked and kept as
 * files.
 */
import { CorkboardError, ProblemError } from '../client/errors.ts';
import { MEDIA_TYPES } from '../client/media-types.ts';
import type { Query } from '../client/sending.ts';
import {
  type Patience,
  type RemoteBody,
  reasonOf,
  requestWithRetry,
} from '../ingest/remote/request-with-retry.ts';
import { keepLines, type LineRoom } from './kept-lines.ts';
import { refused } from './refusal.ts';
import type { ResponseReading } from './responses.ts';

export type SourceVariant = 'a' | 'b';

/**
 * The result of a request. `same`: the entity tag is still valid. `none`: there is no such path.
 * `stale`: the server no longer accepts the sync token or cursor. `tokens`: the server has sync
 * tokens, and `unlessTokens` was given.
 */
export type Got =
  | { readonly outcome: 'got'; readonly headers: Headers; readonly bytes: number }
  | { readonly outcome: 'same' | 'none' | 'stale' | 'tokens' };

export interface Wanted {
  /** Base URL of a variant; by default the given one. */
  readonly baseUrl?: string;
  /** Path below the base URL. */
  readonly path: string;
  readonly query?: Query;
  /** The file to create. It appears when the whole response has been received and checked. */
  readonly file: string;
  readonly room: LineRoom;
  readonly read: ResponseReading;
  /** Maximum size of the response. */
  readonly mostBytes: number;
  readonly etag?: string | undefined;
  readonly accept?: string;
  /** If the server has sync tokens, do not read the response, and return `tokens`. */
  readonly unlessTokens?: boolean;
}

export class PullSource {
  /** Base URL without a slash at its end. */
  readonly base: string;
  readonly #key: string;
  readonly #patience: Patience;

  constructor(url: string, key: string, patience: Patience) {
    this.base = url.replace(/\/+$/, '').replace(/\/v1$/, '');
    this.#key = key;
    this.#patience = patience;
  }

  /**
   * The base URL of a variant: `base` if `isOwn`; otherwise the URL at which a Corkboard has the
   * other variant (decision 1).
   */
  baseOf(variant: SourceVariant, isOwn: boolean): string {
    if (isOwn) return this.base;
    return /\/[ab]$/.test(this.base) ? `${this.base.slice(0, -1)}${variant}` : `${this.base}/${variant}`;
  }

  /** Throws `source-refused`, and `data-unreadable` when the response cannot be stored. */
  async get(wanted: Wanted): Promise<Got> {
    const { baseUrl = this.base, path, query, etag, accept = MEDIA_TYPES.json } = wanted;
    const read = async (body: RemoteBody, { status, headers }: Response): Promise<Got> => {
      if (status === 304) return { outcome: 'same' };
      if (status !== 200) throw refused(`it responded with status ${status}`);
      if (wanted.unlessTokens === true && headers.has('sync-token')) return { outcome: 'tokens' };
      return await keep(wanted, body, headers);
    };
    try {
      const request = { path, ...(query && { query }), etag, accept };
      return await requestWithRetry({ baseUrl, key: this.#key }, request, read, this.#patience);
    } catch (error) {
      if (error instanceof CorkboardError) return outcomeOf(error);
      throw error;
    }
  }
}

async function keep(
  { file, room, read, mostBytes }: Wanted,
  body: RemoteBody,
  headers: Headers,
): Promise<Got> {
  // The length would show nothing, and a small response could expand to a large one.
  if ((headers.get('content-encoding') ?? 'identity') !== 'identity')
    throw refused('its responses are compressed, which was not requested');
  if (Number(headers.get('content-length') ?? 0) > mostBytes) throw tooLarge(mostBytes);
  const bytes = await keepLines(file, read(bounded(body, mostBytes)), room);
  return { outcome: 'got', headers, bytes };
}

async function* bounded(body: RemoteBody, mostBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > mostBytes) throw tooLarge(mostBytes);
    yield Buffer.from(part.buffer, part.byteOffset, part.length);
  }
}

function tooLarge(mostBytes: number) {
  return refused(`a response is larger than ${mostBytes.toLocaleString('en')} bytes`);
}

/** A different key or scope: the pull starts again. */
const STALE: readonly string[] = [
  ...['since-invalid', 'since-scope-changed'],
  ...['cursor-malformed', 'cursor-scope-changed'],
];

/** Throws `source-refused` for a response after which a pull cannot continue. */
function outcomeOf(error: CorkboardError): Got {
  const { status, code } = error instanceof ProblemError ? error : { status: 0, code: '' };
  if (status === 404) return { outcome: 'none' };
  if (status === 400 && STALE.includes(code)) return { outcome: 'stale' };
  const why = status === 401 || status === 403 ? ': the key is not accepted' : '';
  throw refused(`${reasonOf(error)}${why}`);
}
