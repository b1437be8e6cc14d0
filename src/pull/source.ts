/** The server that a pull copies from: its addresses, its refusals, and answers that go straight into files. */
import { open, rename } from 'node:fs/promises';
import { AppError } from '../app-error.ts';
import { type Answered, askPatiently, type Patience } from '../ingest/patient-request.ts';

export type Variant = 'a' | 'b';

/** What came of a question: `same` when the entity tag still holds, `none` when there is no such path. */
export type Got =
  | { readonly outcome: 'got'; readonly headers: Headers }
  | { readonly outcome: 'same' | 'none' | 'stale' | 'tokens' };

export interface Wishes {
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

  /** An answer as a file, which appears when it is whole. Throws `source-refused`. */
  async get(url: string, path: string, wishes: Wishes = {}): Promise<Got> {
    const { etag, accept = 'application/json', unlessTokens = false } = wishes;
    const headers = {
      apikey: this.#key,
      accept,
      // So that the length that is announced is that of what comes.
      'accept-encoding': 'identity',
      ...(etag !== undefined && { 'if-none-match': etag }),
    };
    const read = async (body: AsyncIterable<Uint8Array>, answer: Response): Promise<Got | string> => {
      if (answer.status !== 200) return await beginningOf(body);
      if (unlessTokens && answer.headers.has('sync-token')) {
        await answer.body?.cancel();
        return { outcome: 'tokens' };
      }
      await writeWhole(`${path}.part`, body, answer.headers.get('content-length'));
      return { outcome: 'got', headers: answer.headers };
    };
    const answered = await askPatiently(new URL(url), headers, read, refused, this.#patience);
    const got = gotOf(answered);
    if (got.outcome === 'got') await rename(`${path}.part`, path);
    return got;
  }
}

function gotOf({ status, content }: Answered<Got | string>): Got {
  if (typeof content !== 'string') return content;
  if (status === 304) return { outcome: 'same' };
  if (status === 404) return { outcome: 'none' };
  if (status === 400 && /"(since-invalid|cursor-malformed)"/.test(content)) return { outcome: 'stale' };
  if (status === 401 || status === 403) throw refused(`it answers ${status}: the key is not accepted`);
  throw refused(`it answers ${status}`);
}

/** Enough to tell one refusal from another. */
async function beginningOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of body) {
    parts.push(part);
    if (parts.length >= 4) break;
  }
  return Buffer.concat(parts).toString('utf8');
}

async function writeWhole(
  path: string,
  body: AsyncIterable<Uint8Array>,
  announced: string | null,
): Promise<void> {
  const file = await open(path, 'w', 0o600);
  let bytes = 0;
  try {
    for await (const part of body) {
      await file.writeFile(part);
      bytes += part.length;
    }
  } finally {
    await file.close();
  }
  if (announced !== null && Number(announced) !== bytes) throw new Error('the answer was cut short');
}

function refused(reason: string): AppError {
  return new AppError(
    'source-refused',
    `The server cannot be pulled from: ${reason}. Check its URL and the key, and pull again: what has come so far is kept.`,
  );
}
