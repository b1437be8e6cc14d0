/**
 * Sends a request, reads and decompresses the whole response, and counts the marks that distinguish
 * versions.
 */
import { type Agent, get, type IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { MARK } from './batches.ts';

const ACTION = Buffer.from(`"action":"${MARK}`);
const EVENT = Buffer.from('"timestamp":"');
const EMAIL = Buffer.from('@campus.example');
/** A mark with its number is not longer than this. */
const SEAM_BYTES = 64;

export interface ParsedRequest {
  readonly path: string;
  readonly key: string;
  readonly encoding?: 'gzip' | 'zstd';
  readonly accept?: string;
  readonly etag?: string;
}

export interface RenderedBody {
  readonly status: number;
  readonly etag: string;
  readonly bytes: number;
  readonly elapsedMs: number;
  readonly events: number;
  /** Marked events by batch. */
  readonly marks: ReadonlyMap<number, number>;
  /** Whether the body contains an address as it was imported. */
  readonly plainAddress: boolean;
  /** Complete only for small bodies. */
  readonly text: string;
}

const TEXT_BYTES = 256 * 1024;

/** Throws if the body is cut short or contradicts its headers. */
export async function read(port: number, agent: Agent, question: ParsedRequest): Promise<RenderedBody> {
  const startMs = performance.now();
  const response = await ask(port, agent, question);
  const tally = new Tally();
  let sent = 0;
  response.on('data', (chunk: Buffer) => {
    sent += chunk.length;
  });
  for await (const chunk of decoded(response) as AsyncIterable<Buffer>) tally.add(chunk);
  tally.end();
  const announced = response.headers['content-length'];
  if (!response.complete) throw new Error(`${question.path} was cut after ${sent} bytes`);
  if (response.statusCode === 200 && announced !== undefined && Number(announced) !== sent) {
    throw new Error(`${question.path} announced ${announced} bytes and has ${sent}`);
  }
  return {
    status: response.statusCode ?? 0,
    etag: response.headers.etag ?? '',
    bytes: sent,
    elapsedMs: performance.now() - startMs,
    ...tally.result(),
  };
}

function ask(port: number, agent: Agent, question: ParsedRequest): Promise<IncomingMessage> {
  const headers = {
    apikey: question.key,
    'accept-encoding': question.encoding ?? 'identity',
    ...(question.accept && { accept: question.accept }),
    ...(question.etag && { 'if-none-match': question.etag }),
  };
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path: question.path, agent, headers }, resolve).once('error', reject);
  });
}

function decoded(response: IncomingMessage): Readable {
  const encoding = response.headers['content-encoding'];
  const decoder =
    encoding === 'gzip' ? createGunzip() : encoding === 'zstd' ? createZstdDecompress() : undefined;
  if (decoder === undefined) return response;
  response.once('error', (error) => decoder.destroy(error));
  response.once('aborted', () => decoder.destroy(new Error('the answer was cut')));
  return response.pipe(decoder);
}

class Tally {
  readonly #marks = new Map<number, number>();
  readonly #texts: Buffer[] = [];
  #bytes = 0;
  #events = 0;
  #plainAddress = false;
  #tail: Buffer = Buffer.alloc(0);

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= TEXT_BYTES) this.#texts.push(chunk);
    const part = Buffer.concat([this.#tail, chunk]);
    const limit = Math.max(0, part.length - SEAM_BYTES);
    this.#count(part, limit);
    this.#tail = part.subarray(limit);
  }

  end(): void {
    this.#count(this.#tail, this.#tail.length);
  }

  result() {
    return {
      events: this.#events,
      marks: this.#marks,
      plainAddress: this.#plainAddress,
      text: Buffer.concat(this.#texts).toString(),
    };
  }

  /** Counts matches that begin before the limit; the others are counted with the next chunk. */
  #count(part: Buffer, limit: number): void {
    for (let at = part.indexOf(EVENT); at >= 0 && at < limit; at = part.indexOf(EVENT, at + 1))
      this.#events++;
    for (let at = part.indexOf(ACTION); at >= 0 && at < limit; at = part.indexOf(ACTION, at + 1)) {
      const batch = Number.parseInt(part.toString('latin1', at + ACTION.length, at + ACTION.length + 12), 10);
      this.#marks.set(batch, (this.#marks.get(batch) ?? 0) + 1);
    }
    this.#plainAddress ||= part.includes(EMAIL);
  }
}
