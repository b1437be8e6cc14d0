/**
 * Reads the body of a response chunk by chunk, only on demand, in bounded memory. Detects bodies
 * that are cut short.
 */
import { AnswerError } from './errors.ts';
import { parseExact } from './exact.ts';

/** No record of a Corkboard server is longer. */
const LONGEST_LINE_CHARACTERS = 16 * 1024 * 1024;
/** A page is kept until it is complete, so it is limited: short elements by their number. */
const MOST_PAGE_CHARACTERS = 32 * 1024 * 1024;
const MOST_PAGE_ELEMENTS = 1_000_000;

/**
 * The elements of an NDJSON response, as they arrive. Ending the iteration early cancels the body.
 * Throws `AnswerError`, or the reason of the signal.
 */
export async function* readElements<T>(
  response: Response,
  signal: AbortSignal | undefined,
): AsyncGenerator<T, void, undefined> {
  for await (const lines of readLines(response, signal)) {
    for (const line of lines) yield parsed<T>(line);
  }
}

/**
 * All elements of an NDJSON response. Throws as `readElements` does, and an `AnswerError` with the
 * code `too-large` if they would take too much memory.
 */
export async function readPage(response: Response, signal: AbortSignal | undefined): Promise<unknown[]> {
  const elements: unknown[] = [];
  let characters = 0;
  for await (const lines of readLines(response, signal)) {
    for (const line of lines) {
      characters += line.length;
      if (characters > MOST_PAGE_CHARACTERS || elements.length === MOST_PAGE_ELEMENTS) throw tooLarge();
      elements.push(parsed(line));
    }
  }
  return elements;
}

/** A message of a live stream: a change, or the sync token after the changes. */
export type Message = { readonly element: unknown } | { readonly token: string };

/**
 * Parses server-sent events. Each ends with an empty line, and its data is one line. Comments,
 * which keep the connection open, are skipped.
 */
export async function* readMessages(
  response: Response,
  signal: AbortSignal | undefined,
): AsyncGenerator<Message, void, undefined> {
  const fields = new Map<string, string>();
  for await (const lines of readLines(response, signal)) {
    for (const line of lines) {
      const [, name = '', value = ''] = /^(\w*): ?(.*)$/.exec(line) ?? [];
      if (name !== '') fields.set(name, value);
      if (line !== '') continue;
      if (fields.get('event') === 'synced') yield { token: fields.get('id') ?? '' };
      else if (fields.has('data')) yield { element: parsed(fields.get('data') ?? '') };
      fields.clear();
    }
  }
}

export async function readWhole<T>(response: Response, signal: AbortSignal | undefined): Promise<T> {
  return parsed<T>(await readText(response, signal));
}

export async function readText(response: Response, signal: AbortSignal | undefined): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of readBytes(response, signal)) text += decoder.decode(bytes, { stream: true });
  return text + decoder.decode();
}

/** The lines that each chunk of the body completes. */
async function* readLines(
  response: Response,
  signal: AbortSignal | undefined,
): AsyncGenerator<string[], void, undefined> {
  const decoder = new TextDecoder();
  // The parts of the incomplete last line. They are joined once, not with every chunk.
  let begun: string[] = [];
  let characters = 0;
  for await (const bytes of readBytes(response, signal)) {
    const lines = decoder.decode(bytes, { stream: true }).split('\n');
    const [next = ''] = lines.splice(0, 1);
    begun.push(next);
    characters += next.length;
    if (characters > LONGEST_LINE_CHARACTERS) throw tooLong();
    if (lines.length === 0) continue;
    const first = begun.join('');
    begun = [lines.pop() ?? ''];
    characters = begun[0]!.length;
    yield [first, ...lines];
  }
  if (begun.join('') + decoder.decode() !== '') throw cutShort('in the middle of a line');
}

/** Throws `AnswerError`, or the reason of the signal. */
export async function* readBytes(
  { body, headers }: Response,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  if (body === null) return;
  const expected = plainLength(headers);
  const reader = body.getReader();
  let received = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      received += value.byteLength;
      yield value;
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw cutShort(toldOf(received, expected), error);
  } finally {
    // Not awaited: if the body has failed, there is nothing to cancel and this fails again.
    reader.cancel().catch(() => undefined);
  }
  // Not every runtime detects this itself.
  if (expected !== undefined && received < expected) throw cutShort(toldOf(received, expected));
}

/** Undefined if `Content-Length` counts compressed bytes, which the runtime has decompressed. */
function plainLength(headers: Headers): number | undefined {
  const length = headers.get('content-length');
  const encoding = headers.get('content-encoding') ?? 'identity';
  return length === null || encoding !== 'identity' ? undefined : Number(length);
}

function toldOf(received: number, expected: number | undefined): string {
  return `after ${received} bytes${expected === undefined ? '' : ` of ${expected}`}`;
}

function cutShort(where: string, cause?: unknown): AnswerError {
  return new AnswerError(
    'cut-short',
    `The response ended ${where} and is incomplete. Send the request again.`,
    { cause },
  );
}

function tooLong(): AnswerError {
  const most = LONGEST_LINE_CHARACTERS.toLocaleString('en');
  return new AnswerError(
    'unreadable',
    `A line of the response has more than ${most} characters. It may come from a different service.`,
  );
}

function tooLarge(): AnswerError {
  const characters = MOST_PAGE_CHARACTERS.toLocaleString('en');
  const elements = MOST_PAGE_ELEMENTS.toLocaleString('en');
  return new AnswerError(
    'too-large',
    `A page of the response has more than ${characters} characters or ${elements} elements, however few are requested. It may come from a different service.`,
  );
}

function parsed<T>(text: string): T {
  try {
    return parseExact<T>(text);
  } catch {
    // The error of the parser is left out: it would quote the body, which is personal data.
    throw new AnswerError(
      'unreadable',
      'The response is not JSON. It may come from a proxy or a different service.',
    );
  }
}
