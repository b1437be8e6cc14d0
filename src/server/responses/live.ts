/**
 * Live streams (decision 58): what changes, as server-sent events, as soon as it is published. A stream is a sync that does
 * not end: it tells what has changed since the last version it has told of, then a token to go on from, and waits.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../domain/app-error.ts';
import type { Keyring } from '../../keys/keyring.ts';
import { contentTypeOf } from '../../render/text/representations.ts';
import { Shelf } from '../../system/shelf.ts';
import { slice } from '../../system/time-slice.ts';
import { isRefusedShare } from '../limits/quota.ts';
import { authenticate, keyOf } from '../request/authenticate.ts';
import { seesTheSame } from '../request/conditional.ts';
import type { Question, Since } from '../request/question.ts';
import type { AnyAnswer } from '../request/route.ts';
import type { LongResponse, ResponsePlace } from '../traffic/responses-under-way.ts';
import type { Shares } from '../traffic/shares.ts';
import type { DatasetLease, Datasets } from '../versions/datasets.ts';
import type { HeldVersion } from '../versions/replaced-versions.ts';
import { Stream, type StreamChunks, StreamEnded } from './live-stream.ts';
import { SMALL_ANSWER_BYTES, takeOver } from './send.ts';

/** Connections that bring nothing are closed by proxies, many after a minute; it also tells whether the key still holds. */
const HEARTBEAT_MS = 15_000;
const HEARTBEAT = ':\n\n';
/** Who does not take what is sent within this time is cut off: nothing piles up for anybody. */
const STALLED_MS = 10_000;

/** What is rendered once for all that ask the same, and how many of these are kept. */
const SHARED_BYTES = 64 * 1024;
const MOST_SHARED = 64;

/** For tests; absent: 15 and 10 seconds. */
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
  /** What streams with the same question were told, while others wait for it. */
  readonly #shared = new Shelf<StreamChunks | undefined>(MOST_SHARED);
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

  /** To be called when a version of the organization has come into service. */
  tell(organization: string): void {
    this.#wake((stream) => stream.key.organization === organization);
  }

  /** Ends all streams; clients come back to another server, with the token that they have. */
  end(): void {
    clearInterval(this.#timer);
    for (const stream of this.#streams) stream.end();
  }

  /**
   * Responds until the client goes, the key ends or sees something else, or the server stops. Until
   * it has begun it throws what any response does.
   */
  async send(question: Question, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
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
        const key = await authenticate(request.raw, this.#keyring);
        // Its token belongs to what the key saw before, so the client begins again from the start.
        if (!seesTheSame(stream.key, key)) break;
        await this.#reading(stream, watched, (lease, place) => this.#goOn(stream, lease, place));
      }
    } catch (error) {
      if (!reply.raw.headersSent) throw error;
      // Of an expected one, a revoked key above all, the client learns when it comes back.
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

  /** Everything that can be refused is refused before the first byte. */
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
    // Proxies of the kind of nginx would wait for more than a few lines.
    takeOver(request, reply.headers({ ...headers, 'x-accel-buffering': 'no' })).flushHeaders();
    if (request.method === 'HEAD') return stream.end();
    await stream.tell(chunks, lease);
  }

  /** Changes that are too large for the shares that are left wait for the next time. */
  async #goOn(stream: Stream, lease: DatasetLease, place: ResponsePlace): Promise<void> {
    // All streams of an organization go on at once.
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

  /** What has changed is small as a rule, and many wait for the same. */
  async #changes(stream: Stream, lease: DatasetLease, place: ResponsePlace): Promise<StreamChunks> {
    const { syncToken } = lease.questions.bind(stream.question, stream.key);
    // The token stands for question, scope and redaction, under the secret of the organization.
    const name = `${lease.dataset.version} ${syncToken} ${stream.sequence}`;
    const render = (own?: ResponsePlace) =>
      this.#inTurn(stream, lease, () => renderChanges(stream, lease, own));
    const shared = await this.#shared.take(name, async () => chunksAtOnce(await render()));
    return shared ?? chunksOf(await render(place), place);
  }
}

/** Throws what refuses a large one. */
function chunksOf(answer: AnyAnswer, place: ResponsePlace): StreamChunks {
  if (!('chunks' in answer)) throw new Error('A stream is made of answers in chunks.');
  const { byteLength, heldBytes = byteLength } = answer;
  if (byteLength > SMALL_ANSWER_BYTES) place.begin(heldBytes);
  return answer.chunks();
}

/** Absent when it is large. */
async function chunksAtOnce(answer: AnyAnswer): Promise<StreamChunks | undefined> {
  if (!('chunks' in answer) || answer.byteLength > SHARED_BYTES) return undefined;
  const copies: Uint8Array[] = [];
  // The memory of a chunk is used again.
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
