/**
 * Byte ranges (RFC 9110, section 14; decision 91): one part of a response, so that a client can
 * continue an interrupted export, or read a few columns of a Parquet file.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../domain/app-error.ts';
import { unmetMatch } from './conditional.ts';

/**
 * Positions as the header field gives them: without `first`, the last `last` bytes. `several` if it
 * asks for more than one range.
 */
export type RangeAsked =
  | { readonly first: number | undefined; readonly last: number | undefined }
  | 'several';

/** `[from, to)`, not empty. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

const ONE_RANGE = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;
const SEVERAL_RANGES = /^bytes=[\s,]*\d*-\d*\s*,[\d\s,-]*$/i;

/**
 * The range that the request asks for, if the response still has the entity tag of `If-Range`. A
 * field that is not understood is ignored, as the standard requires.
 */
export function rangeAsked({ method, headers }: FastifyRequest, etag: string): RangeAsked | undefined {
  const { range } = headers;
  if (range === undefined || method !== 'GET' || !isStill(headers, etag)) return undefined;
  const [, first = '', last = ''] = ONE_RANGE.exec(range) ?? [];
  if (first !== '' || last !== '') return readable(first, last);
  return SEVERAL_RANGES.test(range) ? 'several' : undefined;
}

/** A range that ends before it begins is invalid, and ignored. */
function readable(first: string, last: string): RangeAsked | undefined {
  const asked = { first: numberOf(first), last: numberOf(last) };
  const isReversed = asked.first !== undefined && asked.last !== undefined && asked.last < asked.first;
  return isReversed ? undefined : asked;
}

/** Numbers that are too large to be exact are beyond the end of every response. */
function numberOf(digits: string): number | undefined {
  return digits === '' ? undefined : Number(digits);
}

/** Dates never match, because no response has a `Last-Modified`. */
function isStill({ 'if-range': expected }: IncomingHttpHeaders, etag: string): boolean {
  return expected === undefined || String(expected).trim() === etag;
}

/**
 * The part of a response of `byteLength` bytes that is to be sent; undefined for all of it. Sets
 * the status and the header field that say so. Throws `range-unsatisfiable` for several ranges and
 * for one beyond the end, and `precondition-failed`, which comes first.
 */
export function takePart(
  request: FastifyRequest,
  reply: FastifyReply,
  asked: RangeAsked | undefined,
  byteLength: number | undefined,
): ByteRange | undefined {
  if (asked === undefined || byteLength === undefined) return undefined;
  const unmet = unmetMatch(request, reply);
  if (unmet !== undefined) throw unmet;
  if (asked === 'several')
    throw unsatisfiable('A request can ask for one range of bytes. Send a request for each.');
  const { first, last } = asked;
  const from = first ?? Math.max(0, byteLength - (last ?? 0));
  const to = first === undefined ? byteLength : Math.min(byteLength, (last ?? byteLength) + 1);
  if (from >= to) {
    reply.header('content-range', `bytes */${byteLength}`);
    throw unsatisfiable(`The response has ${byteLength} bytes. Ask for a range that begins before its end.`);
  }
  reply.code(206).header('content-range', `bytes ${from}-${to - 1}/${byteLength}`);
  // The number of rows in a part is not known.
  if (to - from < byteLength) request.visit.rows = undefined;
  return { from, to };
}

function unsatisfiable(message: string): AppError {
  return new AppError('range-unsatisfiable', message);
}

/** The first `count` bytes. */
export async function* firstBytes(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  count: number,
): AsyncGenerator<Uint8Array, void> {
  let left = count;
  for await (const chunk of chunks) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) return;
  }
}
