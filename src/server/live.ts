/**
 * Live streams (decision 58): what changes, as server-sent events, as soon as it is published. A stream is a sync that does
 * not end: it tells what has changed since the last version it has told of, then a token to go on from, and waits.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../app-error.ts';
import type { Keyring } from '../keys/keyring.ts';
import { Shelf } from '../shelf.ts';
import { authenticate, keyOf } from './authenticate.ts';
import type { Datasets, Lease } from './datasets.ts';
import { type Chunks, Stream, StreamEnded } from './live-stream.ts';
import { CONTENT_TYPES } from './negotiation.ts';
import type { Question, Since } from './question.ts';
import type { AnyAnswer } from './route.ts';
import { takeOver } from './send.ts';

/** Connections that bring nothing are closed by proxies, many after a minute; it also tells whether the key still holds. */
const HEARTBEAT_MS = 15_000;
const HEARTBEAT = ':\n\n';
/** Who does not take what is sent within this time is cut off: nothing piles up for anybody. */
const STALLED_MS = 10_000;
/** In this process; the other connections are for answers. */
const MOST_STREAMS = 3_072;

/** What is rendered once for all that ask the same, and how many of these are kept. */
const SHARED_BYTES = 64 * 1024;
const MOST_SHARED = 64;

/** For tests; absent: 15 and 10 seconds. */
export interface LiveTimes {
  readonly heartbeatMs?: number | undefined;
  readonly stalledMs?: number | undefined;
}

export class LiveStreams {
  readonly #datasets: Datasets;
  readonly #keyring: Keyring;
  readonly #stalledMs: number;
  readonly #streams = new Set<Stream>();
  /** What streams with the same question were told, while others wait for it. */
  readonly #shared = new Shelf<Chunks | undefined>(MOST_SHARED);
  readonly #timer: NodeJS.Timeout;

  constructor(
    datasets: Datasets,
    keyring: Keyring,
    { heartbeatMs = HEARTBEAT_MS, stalledMs = STALLED_MS }: LiveTimes = {},
  ) {
    this.#datasets = datasets;
    this.#keyring = keyring;
    this.#stalledMs = stalledMs;
    this.#timer = setInterval(() => this.#wake(() => true), heartbeatMs).unref();
  }

  /** To be called when a version of the organization has come into service. */
  tell(organization: string): void {
    this.#wake((stream) => stream.key.organization === organization);
  }

  /** Ends all streams; clients come back to another server, with the token that they have. */
  end(): void {
    clearInterval(this.#timer);
    for (const stream of this.#streams) stream.end();
  }

  /** Answers until the client goes, the key holds no longer, or the server stops. Throws what any answer does before. */
  async send(question: Question, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (this.#streams.size >= MOST_STREAMS) throw tooMany();
    const stream = new Stream(question, keyOf(request), reply.raw, this.#stalledMs);
    this.#streams.add(stream);
    reply.raw.once('close', () => stream.end());
    try {
      await this.#begin(stream, request, reply);
      while (!stream.hasEnded) {
        await stream.woken();
        if (stream.hasEnded) break;
        await authenticate(request.raw, this.#keyring);
        await this.#goOn(stream);
      }
    } catch (error) {
      if (!reply.raw.headersSent) throw error;
      // Of an expected one, a revoked key above all, the client learns when it comes back.
      if (!(error instanceof AppError || error instanceof StreamEnded)) request.visit.failure = error;
    } finally {
      this.#streams.delete(stream);
      stream.end();
    }
    return reply;
  }

  #wake(isMeant: (stream: Stream) => boolean): void {
    for (const stream of this.#streams) if (isMeant(stream)) stream.wake();
  }

  /** Everything that can be refused is refused before the first byte. */
  async #begin(stream: Stream, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { question, key } = stream;
    const lease = await this.#datasets.lease(key.organization);
    try {
      const bound = lease.questions.bind(question, key);
      const last = request.headers['last-event-id'];
      const since =
        typeof last === 'string' && last !== ''
          ? { sequence: lease.questions.sequenceOf(question, key, last) }
          : bound.since;
      const render = await askAbout(stream, lease, since);
      const chunks = since === undefined ? [] : chunksOf(await render());
      const headers = { 'content-type': CONTENT_TYPES['event-stream'], 'cache-control': 'no-store' };
      // Proxies of the kind of nginx would wait for more than a few lines.
      takeOver(request, reply.headers({ ...headers, 'x-accel-buffering': 'no' })).flushHeaders();
      if (request.method === 'HEAD') return stream.end();
      await stream.tell(chunks, lease);
    } finally {
      lease.end();
    }
  }

  async #goOn(stream: Stream): Promise<void> {
    const lease = await this.#datasets.lease(stream.key.organization);
    try {
      if (lease.dataset.version === stream.version) return await stream.write(HEARTBEAT);
      await stream.tell(await this.#changes(stream, lease), lease);
    } finally {
      lease.end();
    }
  }

  /** What has changed is small as a rule, and many wait for the same. */
  async #changes(stream: Stream, lease: Lease): Promise<Chunks> {
    const { syncToken } = lease.questions.bind(stream.question, stream.key);
    // The token stands for question, scope and redaction, under the secret of the organization.
    const name = `${lease.dataset.version} ${syncToken} ${stream.sequence}`;
    const render = async () => chunksAtOnce(await renderChanges(stream, lease));
    return (await this.#shared.take(name, render)) ?? chunksOf(await renderChanges(stream, lease));
  }
}

function chunksOf(answer: AnyAnswer): Chunks {
  if (!('chunks' in answer)) throw new Error('A stream is made of answers in chunks.');
  return answer.chunks();
}

/** Absent when it is large. */
async function chunksAtOnce(answer: AnyAnswer): Promise<Chunks | undefined> {
  if (!('chunks' in answer) || answer.byteLength > SHARED_BYTES) return undefined;
  const copies: Uint8Array[] = [];
  // The memory of a chunk is used again.
  for await (const chunk of answer.chunks()) copies.push(Buffer.from(chunk));
  return copies;
}

async function renderChanges(stream: Stream, lease: Lease): Promise<AnyAnswer> {
  return await (await askAbout(stream, lease, { sequence: stream.sequence }))();
}

/** Throws `not-found`. */
async function askAbout(
  { question, key }: Stream,
  lease: Lease,
  since: Since | undefined,
): Promise<() => Promise<AnyAnswer>> {
  const { parameters, subject, representation } = question;
  const rendering = lease.rendering(key.redact);
  const { dataset } = rendering;
  const ask = { dataset, rendering, scope: key.scope, parameters, place: undefined, since, representation };
  return await subject.find(ask);
}

function tooMany(): AppError {
  return new AppError(
    'too-many-streams',
    'This server has as many live streams as it takes. Try again later, or ask with since= from time to time.',
  );
}
