/**
 * The server that a pull copies from: its addresses, its refusals, and responses that are checked
 * and kept as files.
 */
import type { HttpResponse } from '../ingest/http-response.ts';
import { type Answered, askPatiently, type Patience } from '../ingest/patient-request.ts';
import { keepLines, type Room } from './kept-lines.ts';
import { refused } from './refusal.ts';
import type { Reading } from './responses.ts';

export type Variant = 'a' | 'b';

/**
 * What came of a request: `same` when the entity tag still holds, `none` when there is no such
 * path.
 */
export type Got =
  | { readonly outcome: 'got'; readonly headers: Headers; readonly bytes: number }
  | { readonly outcome: 'same' | 'none' | 'stale' | 'tokens' };

export interface Wanted {
  readonly url: string;
  /** The file to be made, which appears when the response has come whole and was found good. */
  readonly path: string;
  readonly room: Room;
  readonly read: Reading;
  /** Of the response. */
  readonly mostBytes: number;
  readonly etag?: string | undefined;
  readonly accept?: string;
  /** Takes nothing of a server that has tokens, and tells that it has. */
  readonly unlessTokens?: boolean;
}

export class Source {
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
    const { url, etag, accept = 'application/json', unlessTokens = false } = wanted;
    const headers = {
      apikey: this.#key,
      accept,
      ...(etag !== undefined && { 'if-none-match': etag }),
    };
    const read = async (body: AsyncIterable<Uint8Array>, response: HttpResponse): Promise<Got | string> => {
      if (response.status !== 200) return await beginningOf(body);
      if (unlessTokens && response.headers.has('sync-token')) return { outcome: 'tokens' };
      return await keep(wanted, body, response.headers);
    };
    return gotOf(await askPatiently(new URL(url), headers, read, refused, this.#patience));
  }
}

async function keep(
  { path, room, read, mostBytes }: Wanted,
  body: AsyncIterable<Uint8Array>,
  headers: Headers,
): Promise<Got> {
  // Its length would say nothing, and a small response could become a large one.
  if ((headers.get('content-encoding') ?? 'identity') !== 'identity')
    throw refused('its responses are compressed, which was not asked for');
  const announced = headers.get('content-length');
  if (Number(announced ?? 0) > mostBytes) throw tooLarge(mostBytes);
  const bytes = await keepLines(path, read(bounded(body, mostBytes, announced)), room);
  return { outcome: 'got', headers, bytes };
}

/**
 * Throws when there are more bytes, or other than announced: what was cut short is asked for again.
 */
async function* bounded(
  body: AsyncIterable<Uint8Array>,
  mostBytes: number,
  announced: string | null,
): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > mostBytes) throw tooLarge(mostBytes);
    yield Buffer.from(part.buffer, part.byteOffset, part.length);
  }
  if (announced !== null && Number(announced) !== bytes) throw new Error('the response was cut short');
}

function tooLarge(mostBytes: number) {
  return refused(`a response is larger than ${mostBytes.toLocaleString('en')} bytes`);
}

function gotOf({ status, content }: Answered<Got | string>): Got {
  if (typeof content !== 'string') return content;
  if (status === 304) return { outcome: 'same' };
  if (status === 404) return { outcome: 'none' };
  if (status === 400 && /"(since-invalid|cursor-malformed)"/.test(content)) return { outcome: 'stale' };
  if (status === 401 || status === 403) throw refused(`it answers ${status}: the key is not accepted`);
  throw refused(`it answers ${status}`);
}

const BEGINNING_BYTES = 4096;

/** Enough to tell one refusal from another. */
async function beginningOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    parts.push(part);
    bytes += part.length;
    if (bytes >= BEGINNING_BYTES) break;
  }
  return Buffer.concat(parts).toString('utf8');
}
