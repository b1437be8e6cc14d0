/**
 * Determines the form of an input. Its name can show compression and format; otherwise the first
 * bytes do. Only the bytes show whether JSON is an array or lines, and where the rows of a table
 * end.
 */

import { partsOf } from '../fields/json-shape.ts';
import { Damage } from '../fields/refusal.ts';
import type { Compression, Input, InputForm } from './bundle.ts';
import type { Source } from './bytes.ts';
import { toUtf8 } from './code-pages.ts';
import { unpack } from './decompression.ts';
import { LONGEST_RECORD_BYTES, withoutMark } from './lines.ts';

const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const OPENING_BRACE = 0x7b;

/** Reads only as much of the input as necessary. The input can be read again afterwards. */
export async function findForm(input: Input, source: Source): Promise<InputForm> {
  const form = input.form ?? (await sniff(source, otherwiseOf(input)));
  const bytes = () => unpack(source.read(false), form.compression);
  // For standard input that begins with an object, `sniff` has already returned `ndjson`.
  if (form.format === 'json')
    return (await unharmed(isLines(bytes()))) ? { ...form, format: 'ndjson' } : form;
  if (form.format !== 'csv') return form;
  const { encoding } = input;
  const text = encoding === undefined ? bytes() : toUtf8(bytes(), encoding);
  return (await unharmed(endsAtReturns(text))) ? { ...form, endsAtReturns: true } : form;
}

/** The format of an input that begins neither like JSON nor like Parquet. */
function otherwiseOf({ foreign }: Input): 'csv' | 'ndjson' | 'xml' {
  if (foreign === undefined || foreign.forms.includes('csv')) return 'csv';
  return foreign.forms.includes('xml') ? 'xml' : 'ndjson';
}

/** The form shown by the first bytes, or `otherwise` if they show none. */
async function sniff(source: Source, otherwise: 'csv' | 'ndjson' | 'xml'): Promise<InputForm> {
  const start = await readStart(source.read(false));
  const compression: Compression =
    start.readUInt16BE(0) === 0x1f8b ? 'gzip' : start.readUInt32LE(0) === 0xfd2fb528 ? 'zstd' : 'none';
  const plain = compression === 'none' ? start : await readStart(unpack(source.read(false), compression));
  if (plain.toString('latin1', 0, 4) === 'PAR1') return { format: 'parquet', compression };
  const first = plain
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimStart()[0];
  return { format: first === '{' ? 'ndjson' : first === '[' ? 'json' : otherwise, compression };
}

const START_BYTES = 64;

/** The first bytes, padded with zeros. */
async function readStart(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  await unharmed(
    (async () => {
      for await (const chunk of bytes) {
        chunks.push(chunk);
        length += chunk.length;
        if (length >= START_BYTES) break;
      }
    })(),
  );
  return Buffer.concat(chunks, START_BYTES);
}

/** Undefined if the bytes are damaged: the actual reading reports the damage with its line. */
async function unharmed<T>(looking: Promise<T>): Promise<T | undefined> {
  try {
    return await looking;
  } catch (error) {
    if (error instanceof Damage) return undefined;
    throw error;
  }
}

/** Whether the first line that is not blank contains one complete object. */
async function isLines(bytes: AsyncIterable<Buffer>): Promise<boolean> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of withoutMark(bytes)) {
    const from = length > 0 ? 0 : chunk.findIndex((byte) => byte > SPACE);
    if (from === -1) continue;
    if (length === 0 && chunk[from] !== OPENING_BRACE) return false;
    const end = chunk.indexOf(LINE_FEED, from);
    const part = chunk.subarray(from, end === -1 ? chunk.length : end);
    chunks.push(part);
    length += part.length;
    if (end !== -1) break;
    if (length > LONGEST_RECORD_BYTES) return false;
  }
  return length > 0 && partsOf(Buffer.concat(chunks).toString()) !== undefined;
}

/** Whether the first row ends with a carriage return without a line feed, as on old Macs. */
async function endsAtReturns(bytes: AsyncIterable<Buffer>): Promise<boolean> {
  let isQuoted = false;
  let hasEnded = false;
  let length = 0;
  for await (const chunk of bytes) {
    for (const byte of chunk) {
      if (hasEnded && byte !== RETURN) return byte !== LINE_FEED;
      if (byte === QUOTE) isQuoted = !isQuoted;
      else if (!isQuoted && byte === LINE_FEED) return false;
      else if (!isQuoted && byte === RETURN) hasEnded = true;
    }
    length += chunk.length;
    if (length > LONGEST_RECORD_BYTES) return false;
  }
  return hasEnded;
}
