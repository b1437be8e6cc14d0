/**
 * Live streams (decision 58): changes as server-sent events, as soon as they are published. A
 * stream is a sync that does not end: it sends the changes since the version that it reported last,
 * then a sync token, and waits.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../domain/app-error.ts';
import type { Keyring } from '../../keys/keyring.ts';
import { contentTypeOf } from '../../render/text/representations.ts';
import { AsyncMemo } from '../../system/async-memo.ts';
import { slice } from '../../system/time-slice.ts';
import { isRefusedShare } from '../limits/quota.ts';
import { authenticate, keyOf } from '../request/authenticate.ts';
import { seesTheSame } from '../request/conditional.ts';
import type { ParsedRequest, Since } from '../request/parsed-request.ts';
import type { AnyAnswer } from '../request/route.ts';
import type { LongResponse, ResponsePlace } from '../traffic/responses-under-way.ts';
import type { Shares } from '../traffic/shares.ts';
import type { DatasetLease, Datasets } from '../versions/datasets.ts';
import type { HeldVersion } from '../versions/replaced-versions.ts';
import { Stream, type StreamChunks, StreamEnded } from './live-stream.ts';
import { SMALL_ANSWER_BYTES, takeOver } from './send.ts';

/**
 * Proxies close connections without traffic, many after a minute. Each heartbeat also checks that
 * the key is still valid.
 */
const HEARTBEAT_MS = 15_000;
const HEARTBEAT = ':\n\n';
/**
 * A client that does not read within this time is disconnected, so that no data accumulates for it.
 */
const STALLED_MS = 10_000;

/**
 * Changes up to this size are rendered once for all streams with the same request; `MOST_SHARED` of
 * these are kept.
 */
const SHARED_BYTES = 64 * 1024;
const MOST_SHARED = 64;

/** For tests; defaults: 15 and 10 seconds. */
export interface LiveTimes {
  readonly heartbeatMs?: number | undefined;
  readonly stalledMs?: number | undefined;
}

type LiveShares = Pick<Shares, 'streams' | 'underWay' | 'turns'>;

/** A live stream that can be cut. */
interface Watched extends LongResponse {
  version: HeldVersion | undefined;
}

export class LiveStreams {
  readonly #datasets: Datasets;
  readonly #keyring: Keyring;
  readonly #shares: LiveShares;
  readonly #stalledMs: number;
  readonly #streams = new Set<Stream>();
  /** Changes for streams with the same request, rendered once. */
  readonly #shared = new AsyncMemo<StreamChunks | undefined>(MOST_SHARED);
  readonly #timer: NodeJS.Timeout;

  constructor(
    datasets: Datasets,
    keyring: Keyring,
    shares: LiveShares,
    { heartbeatMs = HEARTBEAT_MS, stalledMs = STALLED_MS }: LiveTimes = {},
  ) {
    this.#datasets = datasets;
    this.#keyring = keyring;
    this.#shares = shares;
    this.#stalledMs = stalledMs;
    this.#timer = setInterval(() => this.#wake(() => true), heartbeatMs).unref();
  }

  /** Must be called when a new version of the organization is in service. */
  tell(organization: string): void {
    this.#wake((stream) => stream.key.organization === organization);
  }

  /**
   * Ends all streams. Clients reconnect to a different server, with the sync token that they have.
   */
  end(): void {
    clearInterval(this.#timer);
    for (const stream of this.#streams) stream.end();
  }

  /**
   * Responds until the client disconnects, the key ends or sees different data, or the server
   * stops. Before the response has begun, throws the same errors as any response.
   */
  async send(question: ParsedRequest, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const share = this.#shares.streams.take(keyOf(request));
    const stream = new Stream(question, keyOf(request), reply.raw, this.#stalledMs);
    const watched: Watched = { request, version: undefined, isPaced: false, cut: () => stream.cut() };
    const endWatch = this.#shares.underWay.watch(watched);
    this.#streams.add(stream);
    reply.raw.once('close', () => stream.end());
    try {
      await this.#reading(stream, watched, (lease, place) =>
        this.#begin(stream, lease, place, request, reply),
      );
      while (!stream.hasEnded) {
        await stream.woken();
        if (stream.hasEnded) break;
        const key = await authenticate(request, this.#keyring);
        // The client's token belongs to what the key could see before, so the client starts again.
        if (!seesTheSame(stream.key, key)) break;
        // The organization may have been renamed.
        stream.key = key;
        await this.#reading(stream, watched, (lease, place) => this.#goOn(stream, lease, place));
      }
    } catch (error) {
      if (!reply.raw.headersSent) throw error;
      // The client learns of an expected error, mostly a revoked key, when it reconnects.
      if (!(error instanceof AppError || error instanceof StreamEnded)) request.visit.failure = error;
    } finally {
      endWatch();
      share.giveBack();
      this.#streams.delete(stream);
      stream.end();
    }
    return reply;
  }

  #wake(isMeant: (stream: Stream) => boolean): void {
    for (const stream of this.#streams) if (isMeant(stream)) stream.wake();
  }

  async #reading(
    stream: Stream,
    watched: Watched,
    read: (lease: DatasetLease, place: ResponsePlace) => Promise<void>,
  ): Promise<void> {
    using place = this.#shares.underWay.placeOf(watched.request);
    const lease = await this.#datasets.lease(stream.key.organization);
    watched.version = lease.version;
    try {
      await read(lease, place);
    } finally {
      watched.version = undefined;
      lease.end();
    }
  }

  /** All refusals happen before the first byte. */
  async #begin(
    stream: Stream,
    lease: DatasetLease,
    place: ResponsePlace,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    const { question, key } = stream;
    const bound = lease.questions.bind(question, key);
    const last = request.headers['last-event-id'];
    const since =
      typeof last === 'string' && last !== ''
        ? { sequence: lease.questions.sequenceOf(question, key, last) }
        : bound.since;
    const render = await this.#inTurn(stream, lease, () => askAbout(stream, lease, since, place));
    const chunks = since === undefined ? [] : chunksOf(await this.#inTurn(stream, lease, render), place);
    const headers = { 'content-type': contentTypeOf('event-stream'), 'cache-control': 'no-store' };
    // Without this header, nginx and similar proxies wait for more than a few lines.
    takeOver(request, reply.headers({ ...headers, 'x-accel-buffering': 'no' })).flushHeaders();
    if (request.method === 'HEAD') return stream.end();
    await stream.tell(chunks, lease);
  }

  /** Changes that are too large for the remaining shares wait for the next wake-up. */
  async #goOn(stream: Stream, lease: DatasetLease, place: ResponsePlace): Promise<void> {
    // All streams of an organization continue at the same time.
    if (slice.isOver()) await slice.pass();
    if (lease.dataset.version === stream.version) return await stream.write(HEARTBEAT);
    const changes = await this.#changes(stream, lease, place).catch((error: unknown) => {
      if (error instanceof AppError && isRefusedShare(error.code)) return undefined;
      throw error;
    });
    if (changes === undefined) await stream.write(HEARTBEAT);
    else await stream.tell(changes, lease);
  }

  async #inTurn<T>({ key }: Stream, { dataset }: DatasetLease, work: () => Promise<T>): Promise<T> {
    return dataset.timeline === undefined ? await this.#shares.turns.run(key, work) : await work();
  }

  /** Changes are usually small, and many streams wait for the same ones. */
  async #changes(stream: Stream, lease: DatasetLease, place: ResponsePlace): Promise<StreamChunks> {
    const { syncToken } = lease.questions.bind(stream.question, stream.key);
    // The token identifies request, scope and redaction, under the secret of the organization.
    const name = `${lease.dataset.version} ${syncToken} ${stream.sequence}`;
    const render = (own?: ResponsePlace) =>
      this.#inTurn(stream, lease, () => renderChanges(stream, lease, own));
    const shared = await this.#shared.take(name, async () => chunksAtOnce(await render()));
    return shared ?? chunksOf(await render(place), place);
  }
}

/** Throws the refusal of a large response. */
function chunksOf(answer: AnyAnswer, place: ResponsePlace): StreamChunks {
  if (!('chunks' in answer)) throw new Error('A stream is made of answers in chunks.');
  const { byteLength, heldBytes = byteLength } = answer;
  if (byteLength > SMALL_ANSWER_BYTES) place.begin(heldBytes);
  return answer.chunks();
}

/** All chunks of a small response; absent when it is large. */
async function chunksAtOnce(answer: AnyAnswer): Promise<StreamChunks | undefined> {
  if (!('chunks' in answer) || answer.byteLength > SHARED_BYTES) return undefined;
  const copies: Uint8Array[] = [];
  // The memory of a chunk is reused.
  for await (const chunk of answer.chunks()) copies.push(Buffer.from(chunk));
  return copies;
}

async function renderChanges(stream: Stream, lease: DatasetLease, place?: ResponsePlace): Promise<AnyAnswer> {
  return await (await askAbout(stream, lease, { sequence: stream.sequence }, place))();
}

/** Throws `not-found`. */
async function askAbout(
  { question, key }: Stream,
  lease: DatasetLease,
  since: Since | undefined,
  place?: ResponsePlace,
): Promise<() => Promise<AnyAnswer>> {
  const { parameters, subject, representation } = question;
  const rendering = lease.rendering(key.redact);
  const { dataset } = rendering;
  await dataset.prepare?.(key.scope);
  const { scope } = key;
  const admit = async (heldBytes: number) => place?.begin(heldBytes);
  const ask = { dataset, rendering, scope, parameters, place: undefined, since, representation, admit };
  return await subject.find(ask);
}
