/**
 * The server that a pull copies from: its addresses, its refusals, and responses that are checked
 * and kept as files.
 */
import { CorkboardError, ProblemError } from '../client/errors.ts';
import { MEDIA_TYPES } from '../client/media-types.ts';
import type { Query } from '../client/sending.ts';
import { askPatiently, type Patience, type RemoteBody, reasonOf } from '../ingest/remote/patient-request.ts';
import { keepLines, type LineRoom } from './kept-lines.ts';
import { refused } from './refusal.ts';
import type { ResponseReading } from './responses.ts';

export type Variant = 'a' | 'b';

/**
 * What came of a request: `same` when the entity tag still holds, `none` when there is no such
 * path, `stale` when the server does not know the token or the place any more.
 */
export type Got =
  | { readonly outcome: 'got'; readonly headers: Headers; readonly bytes: number }
  | { readonly outcome: 'same' | 'none' | 'stale' | 'tokens' };

export interface Wanted {
  /** Of a variant; the one that was named when absent. */
  readonly baseUrl?: string;
  /** Below it. */
  readonly path: string;
  readonly query?: Query;
  /** To be made; it appears when the response has come whole and was found good. */
  readonly file: string;
  readonly room: LineRoom;
  readonly read: ResponseReading;
  /** Of the response. */
  readonly mostBytes: number;
  readonly etag?: string | undefined;
  readonly accept?: string;
  /** Takes nothing of a server that has tokens, and tells that it has. */
  readonly unlessTokens?: boolean;
}

export class PullSource {
  /** Without a slash at its end. */
  readonly base: string;
  readonly #key: string;
  readonly #patience: Patience;

  constructor(url: string, key: string, patience: Patience) {
    this.base = url.replace(/\/+$/, '').replace(/\/v1$/, '');
    this.#key = key;
    this.#patience = patience;
  }

  /** Where a Corkboard has the other variant than the one that the base is (decision 1). */
  baseOf(variant: Variant, isOwn: boolean): string {
    if (isOwn) return this.base;
    return /\/[ab]$/.test(this.base) ? `${this.base.slice(0, -1)}${variant}` : `${this.base}/${variant}`;
  }

  /** Throws `source-refused`, and `data-unreadable` when the response cannot be kept. */
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
      return await askPatiently({ baseUrl, key: this.#key }, request, read, this.#patience);
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
  // Its length would say nothing, and a small response could become a large one.
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

/** Throws `source-refused` for what is no answer to go on with. */
function outcomeOf(error: CorkboardError): Got {
  const { status, code } = error instanceof ProblemError ? error : { status: 0, code: '' };
  if (status === 404) return { outcome: 'none' };
  if (status === 400 && (code === 'since-invalid' || code === 'cursor-malformed'))
    return { outcome: 'stale' };
  const why = status === 401 || status === 403 ? ': the key is not accepted' : '';
  throw refused(`${reasonOf(error)}${why}`);
}
