/** Sends one request of the reference, and reads the beginning of its response. */
import { readKey } from '../api/key.ts';

const MOST_BYTES = 64 * 1024;
const SHOWN_FIELDS = ['content-type', 'content-length', 'etag', 'link', 'server-timing', 'x-request-id'];

export interface Outcome {
  readonly status: number;
  readonly isGood: boolean;
  readonly milliseconds: number;
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly text: string;
  /** Whether the body is longer than the text. */
  readonly isCut: boolean;
}

/** Resolves for any status. Throws if there is no response. */
export async function tryRequest(path: string, accept: string, signal: AbortSignal): Promise<Outcome> {
  const began = performance.now();
  const response = await fetch(path, { signal, cache: 'no-store', headers: { accept, apikey: readKey() } });
  const milliseconds = performance.now() - began;
  const { bytes, isCut } = await readSome(response);
  const text = new TextDecoder().decode(bytes);
  return {
    ...{ status: response.status, isGood: response.ok, milliseconds, isCut },
    fields: SHOWN_FIELDS.flatMap((name) => {
      const value = response.headers.get(name);
      return value === null ? [] : [[name, value] as const];
    }),
    text: isCut ? text : indent(text, response.headers.get('content-type') ?? ''),
  };
}

async function readSome(response: Response): Promise<{ bytes: Uint8Array; isCut: boolean }> {
  const reader = response.body?.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (let read = await reader?.read(); read !== undefined && !read.done; read = await reader?.read()) {
    parts.push(read.value);
    size += read.value.length;
    if (size <= MOST_BYTES) continue;
    await reader?.cancel();
    break;
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return { bytes: bytes.subarray(0, MOST_BYTES), isCut: size > MOST_BYTES };
}

/** Indents JSON without changing its numbers. */
function indent(text: string, type: string): string {
  if (!/json/.test(type) || /ndjson/.test(type)) return text;
  let depth = 0;
  return text.replace(/"(?:[^"\\]|\\.)*"|[[\]{}]|,|:/g, (token, at: number) => {
    const next = text[at + 1];
    if (token === '{' || token === '[') {
      if (next === '}' || next === ']') return token;
      depth += 1;
      return `${token}\n${'  '.repeat(depth)}`;
    }
    if (token === '}' || token === ']') {
      const before = text[at - 1];
      if (before === '{' || before === '[') return token;
      depth -= 1;
      return `\n${'  '.repeat(depth)}${token}`;
    }
    if (token === ',') return `,\n${'  '.repeat(depth)}`;
    return token === ':' ? ': ' : token;
  });
}
