/**
 * Responses that are one JSON value, or other text, written in time slices before the first byte is
 * sent.
 */
import { escapeLineEnds } from '../../domain/json-text.ts';
import { slice } from '../../system/time-slice.ts';
import type { RenderedBody } from './rendered-body.ts';

/** The length of a chunk in characters; it can be a little longer. */
const CHUNK_CHARACTERS = 64 * 1024;
/** Texts between two checks of the clock, and numbers per text. */
const TEXTS_AT_ONCE = 64;
const NUMBERS_AT_ONCE = 256;

/**
 * The bytes of `JSON.stringify`, with all digits of large ids and without raw line ends in strings
 * (decision 70). Iterables are written as arrays and iterated once, so their elements can be
 * generated one at a time.
 */
export async function jsonAnswer(value: unknown): Promise<RenderedBody> {
  return await textAnswer(textsOf(value));
}

/** Throws if a response of more than this number of bytes is too large. */
export type CheckBytes = (byteLength: number) => void;

/**
 * The texts one after the other. They are generated while the response is made, in time slices.
 * `checkBytes` is called after each chunk.
 */
export async function textAnswer(
  all: Iterable<string>,
  checkBytes: CheckBytes = () => undefined,
): Promise<RenderedBody> {
  const chunks: Buffer[] = [];
  let byteLength = 0;
  let text = '';
  let texts = 0;
  const keep = () => {
    const chunk = Buffer.from(text);
    chunks.push(chunk);
    byteLength += chunk.length;
    checkBytes(byteLength);
    text = '';
  };
  for (const next of all) {
    text += next;
    if (text.length >= CHUNK_CHARACTERS) keep();
    texts += 1;
    if (texts % TEXTS_AT_ONCE === 0 && slice.isOver()) await slice.pass();
  }
  keep();
  return { byteLength, next: undefined, chunks: () => chunks };
}

/** The JSON of a value, split into short texts. */
function* textsOf(value: unknown): Generator<string, void> {
  if (value instanceof Int32Array) yield* numberTexts(value);
  else if (!isObject(value)) yield textOf(value);
  else if (isIterable(value)) yield* listTexts(value);
  else if (Object.values(value).some(isObject)) yield* memberTexts(value);
  else yield textOf(value);
}

function* numberTexts(numbers: Int32Array): Generator<string, void> {
  yield '[';
  for (let from = 0; from < numbers.length; from += NUMBERS_AT_ONCE) {
    yield `${from === 0 ? '' : ','}${numbers.subarray(from, from + NUMBERS_AT_ONCE).join()}`;
  }
  yield ']';
}

function* listTexts(list: Iterable<unknown>): Generator<string, void> {
  let before = '[';
  for (const element of list) {
    yield before;
    yield* textsOf(element);
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

function* memberTexts(object: object): Generator<string, void> {
  let before = '{';
  for (const [name, member] of Object.entries(object)) {
    if (member === undefined) continue;
    yield `${before}${textOf(name)}:`;
    yield* textsOf(member);
    before = ',';
  }
  yield before === '{' ? '{}' : '}';
}

function textOf(value: unknown): string {
  return escapeLineEnds(JSON.stringify(value, exact) ?? 'null');
}

function exact(_name: string, member: unknown): unknown {
  return typeof member === 'bigint' ? JSON.rawJSON(String(member)) : member;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isIterable(value: object): value is Iterable<unknown> {
  return Symbol.iterator in value;
}
