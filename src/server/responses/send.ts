/**
 * Sends bytes to the socket (decisions 14 to 17): with their length if it is known, no faster than
 * the client reads, and never with a normal end when they are incomplete.
 */
import type { ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../domain/app-error.ts';
import type { Chunk } from '../../render/text/chunk.ts';
import type { UnsizedBody } from '../../render/text/rendered-body.ts';
import { Body, bytesFrom, type Reader } from '../bodies/body.ts';
import type { BodySlot, SmallBody } from '../bodies/body-cache.ts';
import { type BodyChunks, compressSmall, writeChunk } from '../bodies/compression.ts';
import type { Visit } from '../observability/observe.ts';
import { keyOf } from '../request/authenticate.ts';
import { type ByteRange, firstBytes, type RangeAsked, takePart } from '../request/byte-range.ts';
import { unmetMatch } from '../request/conditional.ts';
import type { Encoding } from '../request/negotiation.ts';
import type { AnyAnswer, SizedAnswer } from '../request/route.ts';
import { isLargeFile, PARQUET_BYTES, type ParquetPlaces, refusalOf } from '../traffic/parquet-places.ts';
import type { ResponsePlace } from '../traffic/responses-under-way.ts';
import type { DatasetLease } from '../versions/datasets.ts';
import { BufferPool } from './buffer-pool.ts';

/** Responses up to this size are collected and sent at once. */
export const SMALL_ANSWER_BYTES = 256 * 1024;

const buffers = new BufferPool();

/** A request, and the input for its response. */
export interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly encoding: Encoding;
  readonly place: ResponsePlace;
  /** The bodies of this request in the response cache. */
  readonly slot: BodySlot;
  /** Cursor of the next page; absent when there is none. */
  readonly next: string | undefined;
  /** Whether the same request is likely to be repeated. Pages and syncs are not. */
  readonly isLasting: boolean;
  /** The bytes that are asked for; absent: all. */
  readonly range: RangeAsked | undefined;
  /** For what is made before anything is sent. */
  readonly places: ParquetPlaces;
  readonly compress: DatasetLease['compress'];
}

/**
 * Sends a 200 or 206 whose other header fields are already in the reply. Resolves when the last
 * byte of a large response has been sent. Throws before the first byte when a large response is
 * refused.
 */
export function sendAnswer(exchange: Exchange, answer: AnyAnswer): Promise<FastifyReply> {
  exchange.request.visit.rows = answer.rows;
  return 'pieces' in answer ? sendParquet(exchange, answer) : sendSized(exchange, answer);
}

/** The size is known only when the whole file has been made, so HEAD makes it, too. */
async function sendParquet(exchange: Exchange, answer: UnsizedBody<unknown>): Promise<FastifyReply> {
  const { request, reply, place, slot, next, places } = exchange;
  const key = keyOf(request);
  const gone = goneOf(reply);
  if (isLargeFile(answer)) place.begin(PARQUET_BYTES);
  while (!reply.raw.destroyed) {
    let body = slot.find();
    const isOwn = body === undefined;
    if (body === undefined) {
      const turn = isLargeFile(answer) ? await places.enter(key, gone) : undefined;
      if (gone.aborted) turn?.[Symbol.dispose]();
      if (gone.aborted) break;
      body = slot.find();
      if (body === undefined) body = slot.begin(places.beginning(answer, next, key, turn))!;
      else turn?.[Symbol.dispose]();
    }
    if (!(body instanceof Body)) return sendFinished(exchange, body.bytes);
    await using reader = body.join();
    try {
      if (await reader.whole(gone)) return await sendBody(exchange, body, reader);
    } catch (error) {
      // The refusal of a body for a different key does not apply to this key; try again.
      if (isOwn || !(error instanceof AppError)) throw refusalOf(error);
    }
  }
  // The client has disconnected, which is not an error.
  return reply.hijack();
}

/**
 * Sends a body that was made before, or is being made for other requests. Otherwise like
 * `sendAnswer`.
 */
export async function sendFound(exchange: Exchange, found: SmallBody | Body): Promise<FastifyReply> {
  exchange.request.visit.rows = found.rows;
  if (!(found instanceof Body)) return sendFinished(exchange, found.bytes);
  await using reader = found.join();
  return await sendBody(exchange, found, reader);
}

/** Aborted when the client has disconnected, or the response was cut. */
function goneOf(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  return gone.signal;
}

async function sendBody(exchange: Exchange, body: Body, reader: Reader): Promise<FastifyReply> {
  const { bytes, byteLength, heldBytes, next, rows } = body;
  if (bytes === undefined) {
    const isKnown = exchange.encoding === 'identity' || body.isComplete;
    const large = { byteLength: isKnown ? byteLength : undefined, heldBytes, isMade: body.isComplete };
    return await sendLarge(exchange, large, (part, gone) => reader.read(part?.from, gone));
  }
  exchange.slot.keep({ bytes, next, rows }, true);
  return sendFinished(exchange, bytes);
}

async function sendSized(exchange: Exchange, answer: SizedAnswer): Promise<FastifyReply> {
  const { encoding, slot, next, isLasting, compress } = exchange;
  const { byteLength, heldBytes = byteLength } = answer;
  // A response to HEAD includes the length of the body, so small bodies are made for both methods.
  if (byteLength <= SMALL_ANSWER_BYTES) return await sendSmall(exchange, answer);
  const isPlain = encoding === 'identity';
  if (exchange.request.method === 'HEAD') return sendHead(exchange, byteLength);
  const make = () => (isPlain ? answer.chunks() : compress(answer.chunks(), encoding));
  const large = { byteLength: isPlain ? byteLength : undefined, heldBytes, isMade: false };
  const found = slot.find();
  // Made for a part of the response, a body would be given up again.
  if (exchange.range !== undefined && isPlain && !(found instanceof Body)) {
    return await sendLarge(exchange, large, (part, gone) => bytesFrom(make(), part?.from ?? 0, gone));
  }
  const body =
    found instanceof Body
      ? found
      : slot.begin({
          ...{ make, next, rows: answer.rows, heldBytes, isPlain, isCostly: isLasting && !isPlain },
          byteLength: isPlain ? byteLength : undefined,
        });
  await using reader = body?.join();
  return await sendLarge(exchange, large, (part, gone) => reader?.read(part?.from, gone) ?? make());
}

/** Bytes before the part are skipped, until `gone` is aborted. */
type ReadPart = (part: ByteRange | undefined, gone: AbortSignal) => BodyChunks;

/** Fewer bytes before a part are made at once, however many others do the same. */
const FEW_SKIPPED_BYTES = 4 * 1024 * 1024;

interface LargeBody {
  /** Absent while the length of a compressed body is unknown. */
  readonly byteLength: number | undefined;
  readonly heldBytes: number;
  /** Whether all bytes are there. Otherwise those before a part have to be made first. */
  readonly isMade: boolean;
}

async function sendLarge(
  exchange: Exchange,
  { byteLength, heldBytes, isMade }: LargeBody,
  read: ReadPart,
): Promise<FastifyReply> {
  const { request, reply, place, range, places } = exchange;
  if (request.method === 'HEAD') return sendHead(exchange, byteLength);
  const part = takePart(request, reply, range, byteLength);
  const gone = goneOf(reply);
  const skips = !isMade && part !== undefined && part.from > FEW_SKIPPED_BYTES;
  let turn = skips ? await places.enter(keyOf(request), gone) : undefined;
  const endTurn = () => {
    turn?.[Symbol.dispose]();
    turn = undefined;
  };
  try {
    if (gone.aborted) return reply.hijack();
    place.begin(heldBytes);
    describeLarge(exchange, part === undefined ? plainLength(exchange, byteLength) : part.to - part.from);
    const response = takeOver(request, reply);
    // The client learns of the status before what precedes the part has been made.
    if (skips) response.flushHeaders();
    const bytes = read(part, gone);
    const source = part === undefined ? bytes : firstBytes(bytes, part.to - part.from);
    await writeWatched(source, request.visit, response, endTurn);
  } finally {
    endTurn();
  }
  return reply;
}

/**
 * A failure destroys the response: the client sees a cut connection, not a partial array
 * (decision 16). `onFirst`: called before the first chunk is written.
 */
async function writeWatched(
  source: BodyChunks,
  visit: Visit,
  response: ServerResponse,
  onFirst: () => void,
): Promise<void> {
  try {
    await writeChunks(watchSource(source, visit, onFirst), response);
  } catch {
    // `watchSource` has recorded a failure of the source. Otherwise the client has disconnected,
    // which is not an error.
  }
}

function sendHead(exchange: Exchange, byteLength: number | undefined): FastifyReply {
  describeLarge(exchange, plainLength(exchange, byteLength));
  return exchange.reply.send();
}

/** Compressed responses have no length, also once it is known (decision 16). */
function plainLength({ encoding }: Exchange, byteLength: number | undefined): number | undefined {
  return encoding === 'identity' ? byteLength : undefined;
}

function describeLarge({ reply, encoding }: Exchange, byteLength: number | undefined): void {
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  if (byteLength !== undefined) reply.header('content-length', byteLength);
}

async function sendSmall(exchange: Exchange, answer: SizedAnswer): Promise<FastifyReply> {
  const { reply, encoding, slot, next } = exchange;
  const { byteLength } = answer;
  const memory = buffers.take(byteLength);
  const plain = await collect(answer, memory);
  if (encoding === 'identity') buffers.giveBackAfter(reply.raw, memory, byteLength);
  const bytes = encoding === 'identity' ? plain : await compressSmall(plain, encoding);
  if (encoding !== 'identity') buffers.giveBack(memory, byteLength);
  slot.keep({ bytes, next, rows: answer.rows });
  return sendFinished(exchange, bytes);
}

/** Sends a small response whose bytes are complete and already compressed. */
function sendFinished({ request, reply, encoding, range }: Exchange, bytes: Buffer): FastifyReply {
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  const part = takePart(request, reply, range, bytes.length);
  return reply.send(part === undefined ? bytes : bytes.subarray(part.from, part.to));
}

/**
 * The whole response in one buffer, which is `memory` if that was large enough. Throws when there
 * are fewer or more bytes than announced.
 */
async function collect(answer: SizedAnswer, memory: Chunk): Promise<Buffer> {
  const collected = new Collected(answer.byteLength);
  const chunks = answer.chunks(memory);
  if (Symbol.iterator in chunks) for (const chunk of chunks) collected.add(chunk);
  else for await (const chunk of chunks) collected.add(chunk);
  return collected.whole();
}

class Collected {
  readonly #byteLength: number;
  readonly #chunks: Uint8Array[] = [];
  #length = 0;

  constructor(byteLength: number) {
    this.#byteLength = byteLength;
  }

  add(chunk: Uint8Array): void {
    this.#length += chunk.length;
    if (this.#length > this.#byteLength) throw wrongLength();
    // The memory of a chunk with the whole response is not reused; that of any other chunk may be.
    this.#chunks.push(chunk.length === this.#byteLength ? chunk : Buffer.from(chunk));
  }

  whole(): Buffer {
    if (this.#length !== this.#byteLength) throw wrongLength();
    const [whole] = this.#chunks;
    if (whole !== undefined && this.#chunks.length === 1) {
      return Buffer.from(whole.buffer, whole.byteOffset, whole.length);
    }
    return Buffer.concat(this.#chunks);
  }
}

function wrongLength(): Error {
  return new Error('The length of a response differs from the announced length.');
}

/**
 * Takes the response over from the framework, with the header fields of the reply, so that it can
 * be written directly. Throws `precondition-failed`.
 */
export function takeOver(request: FastifyRequest, reply: FastifyReply): ServerResponse {
  const unmet = unmetMatch(request, reply);
  if (unmet !== undefined) throw unmet;
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  reply.raw.setHeader('server-timing', request.visit.timing());
  return reply.raw;
}

/**
 * Bytes that all large responses together write in a turn of the event loop. This takes about a
 * millisecond, in which other requests wait.
 */
const PART_BYTES = 1024 * 1024;
const SMALLEST_PART_BYTES = 64 * 1024;

/** Large responses that this process is writing. */
let answersUnderWay = 0;

/**
 * Writes a source to its end. While the target takes one chunk, the next one is made, but no
 * further one, because the memory of a chunk is reused for the second chunk after it. Ends the
 * target with the last byte that its header announces: the source may have more to do, such as
 * keeping what it has made, and a client that has everything may close the connection meanwhile.
 * Destroys the target on failure.
 */
export async function writeChunks(source: AsyncIterable<Uint8Array>, target: ServerResponse): Promise<void> {
  answersUnderWay += 1;
  try {
    let left = Number(target.getHeader('content-length') ?? Number.POSITIVE_INFINITY);
    let taken = Promise.resolve();
    for await (const chunk of source) {
      for (let at = 0, part: number; at < chunk.length; at += part) {
        part = Math.max(SMALLEST_PART_BYTES, Math.ceil(PART_BYTES / answersUnderWay));
        await taken;
        const bytes = chunk.subarray(at, at + part);
        taken = writeChunk(bytes, target);
        left -= bytes.length;
        // Awaited in the next turn; this handler prevents an unhandled rejection in the meantime.
        taken.catch(() => undefined);
        if (left === 0) target.end();
        await setImmediate();
      }
    }
    await taken;
    if (!target.writableEnded) target.end();
    await finished(target, { readable: false });
  } catch (error) {
    target.destroy();
    throw error;
  } finally {
    answersUnderWay -= 1;
  }
}

/** Records a failure before the response is cut because of it. */
async function* watchSource(
  chunks: BodyChunks,
  visit: Visit,
  onFirst: () => void,
): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const chunk of chunks) {
      onFirst();
      yield chunk;
    }
  } catch (error) {
    visit.failure = error;
    throw error;
  }
}
