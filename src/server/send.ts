/**
 * Bytes to the socket (decisions 14 to 17): with their length where it is known, no faster than the client takes
 * them, and never ending well when they are not whole.
 */
import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createGzip, createZstdCompress, gzip, constants as zlib, zstdCompress } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { UnsizedAnswer } from '../render/answer.ts';
import type { Chunk } from '../render/chunk.ts';
import { keyOf } from './authenticate.ts';
import { unmetMatch } from './conditional.ts';
import type { Encoding } from './negotiation.ts';
import type { Visit } from './observe.ts';
import type { Place } from './responses-under-way.ts';
import type { AnyAnswer, SizedAnswer } from './route.ts';
import { Scratch } from './scratch.ts';
import { isLargeFile, type ParquetFiles } from './written-answer.ts';

/** Up to this size an answer is collected and sent in one piece. */
export const SMALL_ANSWER_BYTES = 256 * 1024;

/** Fast levels: a client on a network of 1 Gbit/s is served sooner by them than by a smaller answer. */
const GZIP = { level: 1, chunkSize: 64 * 1024 };
const ZSTD = { params: { [zlib.ZSTD_c_compressionLevel]: 1 }, chunkSize: 64 * 1024 };

/** About what a Parquet file takes in memory while it is made; sending it takes less. */
const FILE_BYTES = 20e6;

const scratch = new Scratch();

const compressSmall = {
  gzip: async (bytes: Buffer) => promisify(gzip)(bytes, GZIP),
  zstd: async (bytes: Buffer) => promisify(zstdCompress)(bytes, ZSTD),
} as const;

const compressLarge = { gzip: () => createGzip(GZIP), zstd: () => createZstdCompress(ZSTD) } as const;

/** A request, and what its response is made from. */
export interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly encoding: Encoding;
  readonly place: Place;
  /** Gets the bytes of a small response, and may copy them for `sendFinished`. */
  readonly keep: (bytes: Buffer) => void;
}

/**
 * Sends a 200 whose other header fields are in the reply already. Resolves when the last byte of a
 * large response has left. Throws before anything is sent when a large one is refused.
 */
export function sendAnswer(
  exchange: Exchange,
  answer: AnyAnswer,
  files: ParquetFiles,
): Promise<FastifyReply> {
  return 'pieces' in answer ? sendWritten(exchange, answer, files) : sendSized(exchange, answer);
}

/** The size is known only when all of it has been made, so HEAD makes it as well. */
async function sendWritten(
  exchange: Exchange,
  answer: UnsizedAnswer<unknown>,
  files: ParquetFiles,
): Promise<FastifyReply> {
  const { request, reply, place } = exchange;
  if (isLargeFile(answer)) place.begin(FILE_BYTES);
  await using written = await files.write(answer, { key: keyOf(request), response: reply.raw });
  if (written !== undefined) return await sendSized(exchange, written);
  // The client has gone away, which is its right.
  return reply.hijack();
}

async function sendSized(exchange: Exchange, answer: SizedAnswer): Promise<FastifyReply> {
  const { request, reply, encoding, place, keep } = exchange;
  const { byteLength, heldBytes = byteLength } = answer;
  if (byteLength <= SMALL_ANSWER_BYTES) {
    // The length of a body that HEAD leaves out is part of the answer too, hence the same way for both.
    return await sendSmall(reply, answer, encoding, keep);
  }
  const isBare = request.method === 'HEAD';
  if (!isBare) place.begin(heldBytes);
  reply.code(200);
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  if (encoding === 'identity') reply.header('content-length', byteLength);
  if (isBare) return reply.send();
  await sendLarge(request, reply, answer, encoding);
  return reply;
}

async function sendSmall(
  reply: FastifyReply,
  answer: SizedAnswer,
  encoding: Encoding,
  keep: (bytes: Buffer) => void,
): Promise<FastifyReply> {
  const { byteLength } = answer;
  const memory = scratch.take(byteLength);
  const plain = await collect(answer, memory);
  if (encoding === 'identity') {
    scratch.giveBackAfter(reply.raw, memory, byteLength);
    keep(plain);
    return sendFinished(reply, plain, encoding);
  }
  const bytes = await compressSmall[encoding](plain);
  scratch.giveBack(memory, byteLength);
  keep(bytes);
  return sendFinished(reply, bytes, encoding);
}

/** Sends a small 200 whose bytes are at hand, compressed already. */
export function sendFinished(reply: FastifyReply, bytes: Buffer, encoding: Encoding): FastifyReply {
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  return reply.code(200).send(bytes);
}

/**
 * One piece of memory with the whole answer, `memory` if that was large enough. Throws when fewer or more bytes come
 * than were announced.
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
    // A chunk that is all of the answer is not used again, any other may be.
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
  return new Error('An answer has another length than announced.');
}

/** Writes past the framework, straight to the response: nothing copies the chunks. */
async function sendLarge(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: SizedAnswer,
  encoding: Encoding,
): Promise<void> {
  const response = takeOver(request, reply);
  try {
    // A failure destroys the response: the client sees a cut connection, not a partial array (decision 16).
    await writeEncoded(answer, encoding, request.visit, response);
  } catch {
    // The source has noted its own failure; otherwise the client has gone away, which is its right.
  }
}

/**
 * The response with the header fields of the reply, to be written past the framework. Throws
 * `precondition-failed`.
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

async function writeEncoded(
  answer: SizedAnswer,
  encoding: Encoding,
  visit: Visit,
  response: ServerResponse,
): Promise<void> {
  if (encoding === 'identity') {
    await writeChunks(watchSource(answer.chunks(), visit), response);
  } else if (answer.packed !== undefined) {
    await writeChunks(watchSource(answer.packed(encoding), visit), response);
  } else {
    const compressor = compressLarge[encoding]();
    const source = watchSource(answer.chunks(), visit);
    // Both to their end: the answer must not be over for its dataset while its source is still being read.
    const ends = await Promise.allSettled([writeChunks(source, compressor), pipeline(compressor, response)]);
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }
}

/** What all large answers together write in a turn of the event loop: about a millisecond, for which others wait. */
const PART_BYTES = 1024 * 1024;
const SMALLEST_PART_BYTES = 64 * 1024;

/** Large answers that this process is writing. */
let answersUnderWay = 0;

/**
 * Writes a source to its end. The next chunk is made while one is taken by the target, and never one more, because
 * the memory of a chunk is used again for the second one after it. Destroys the target on failure.
 */
async function writeChunks(source: AsyncIterable<Uint8Array>, target: Writable): Promise<void> {
  answersUnderWay += 1;
  try {
    let taken = Promise.resolve();
    for await (const chunk of source) {
      for (let at = 0, part: number; at < chunk.length; at += part) {
        part = Math.max(SMALLEST_PART_BYTES, Math.ceil(PART_BYTES / answersUnderWay));
        await taken;
        taken = writeChunk(chunk.subarray(at, at + part), target);
        // Awaited in the next turn; a failure in the meantime is not unheard.
        taken.catch(() => undefined);
        await setImmediate();
      }
    }
    await taken;
    target.end();
    await finished(target, { readable: false });
  } catch (error) {
    target.destroy();
    throw error;
  } finally {
    answersUnderWay -= 1;
  }
}

/** Ends when the target has taken the chunk, to the network or into a compressor, and needs its memory no more. */
function writeChunk(chunk: Uint8Array, target: Writable): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = () => reject(new Error('The connection was closed.'));
    target.once('close', refuse);
    target.write(chunk, (error) => {
      target.off('close', refuse);
      if (error) reject(error);
      else resolve();
    });
  });
}

/** Notes a failure before the response is cut because of it. */
async function* watchSource(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  visit: Visit,
): AsyncGenerator<Uint8Array, void> {
  try {
    yield* chunks;
  } catch (error) {
    visit.failure = error;
    throw error;
  }
}
