/**
 * Long responses: large ones, including the Parquet files made for them, and live streams. One
 * timer checks all of them and cuts those that must not continue (decision 60): the key has ended,
 * sees different data or may not be used from the address of the client, the version that is read
 * has been recalled, or the client reads too slowly. Small responses cost nothing here, unless they
 * have waited.
 */
import type { FastifyRequest } from 'fastify';
import { AppError, type ErrorCode } from '../../domain/app-error.ts';
import type { KeyEntry, Keyring } from '../../keys/keyring.ts';
import { slice } from '../../system/time-slice.ts';
import type { Limits } from '../limits/limits.ts';
import { type CountRefusal, Quota } from '../limits/quota.ts';
import { authenticate, keyOf } from '../request/authenticate.ts';
import { seesTheSame } from '../request/conditional.ts';
import type { CutReason, HeldVersion } from '../versions/replaced-versions.ts';

/**
 * A response ends within a second after its key is revoked or changed: a keyring in a database
 * takes half of it to notice the change.
 */
const CHECK_MS = 400;
/**
 * The most that is given to a connection at once; the client may then read it as slowly as it
 * likes.
 */
const HANDED_BYTES = 1024 * 1024;
/** Why responses of a key are cut that is refused now. */
const REFUSALS: Readonly<Partial<Record<ErrorCode, CutReason>>> = {
  'key-revoked': 'key-ended',
  'key-expired': 'key-ended',
  'key-unknown': 'key-ended',
  'network-not-allowed': 'key-changed',
};

export interface LongResponse {
  readonly request: FastifyRequest;
  /** The version that is being read; absent between two messages of a live stream. */
  version: HeldVersion | undefined;
  /** Whether the client must read at `least-rate` or faster. */
  readonly isPaced: boolean;
  /** Ends the response so that no client takes it for complete. */
  cut(): void;
}

/**
 * Bytes that a client reads are credited; the time in which the server waits for the client is
 * charged.
 */
interface Pace {
  sentBytes: number;
  creditBytes: number;
}

export interface UnderWayOptions {
  readonly countRefusal: CountRefusal;
  readonly countCut: (reason: CutReason) => void;
}

/**
 * Must be disposed of when the response has ended, in whatever way. A class, because V8
 * takes a quarter of a microsecond for an object literal with a method named by a symbol.
 */
export class ResponsePlace implements Disposable {
  readonly #take: (heldBytes: number) => () => void;
  #end: (() => void) | undefined;

  /** `take` returns the function that gives the share back. */
  constructor(take: (heldBytes: number) => () => void) {
    this.#take = take;
  }

  /**
   * Must be called when a response is known to be large, before much work is done for it. Only the
   * first call counts. `heldBytes`: the approximate memory that it holds at a time. Throws
   * `too-many-responses`, `server-busy`.
   */
  begin(heldBytes: number): void {
    this.#end ??= this.#take(heldBytes);
  }

  [Symbol.dispose](): void {
    this.#end?.();
    this.#end = undefined;
  }
}

export class ResponsesUnderWay {
  readonly responses: Quota;
  readonly memory: Quota;
  readonly #keyring: Keyring;
  readonly #limits: Limits;
  readonly #countCut: (reason: CutReason) => void;
  readonly #watched = new Map<LongResponse, Pace>();
  readonly #timer: NodeJS.Timeout;
  #checkedMs = performance.now();
  #checkingKeys: Promise<void> | undefined;

  constructor(keyring: Keyring, limits: Limits, options: UnderWayOptions) {
    const { countRefusal, countCut } = options;
    this.#keyring = keyring;
    this.#limits = limits;
    this.#countCut = countCut;
    this.responses = new Quota('responses', limits, countRefusal);
    this.memory = new Quota('response-memory', limits, countRefusal);
    this.#timer = setInterval(() => this.#check(), CHECK_MS).unref();
  }

  /**
   * The place of a response. It takes its share when the response turns out to be large. `version`:
   * the version that it reads; absent for a part of a live stream, which is watched as a whole.
   */
  placeOf(request: FastifyRequest, version?: HeldVersion): ResponsePlace {
    return new ResponsePlace((heldBytes) => this.#take(request, version, heldBytes));
  }

  #take(request: FastifyRequest, version: HeldVersion | undefined, heldBytes: number): () => void {
    const key = keyOf(request);
    const place = this.responses.take(key);
    try {
      // A key may always have one large response, whatever its size.
      const memory = this.memory.take(key, Math.min(heldBytes, this.#limits['response-memory-per-key']));
      const cut = () => void request.raw.socket.resetAndDestroy();
      const end = version && this.watch({ request, version, isPaced: true, cut });
      return () => {
        end?.();
        memory.giveBack();
        place.giveBack();
      };
    } catch (error) {
      place.giveBack();
      throw error;
    }
  }

  /**
   * Must be called before a response begins that is not watched: the request may have waited for
   * its turn while its key was changed. Throws the refusal of the key, or `server-busy`.
   */
  async confirmKey(request: FastifyRequest): Promise<void> {
    if (request.visit.elapsedMs() < CHECK_MS) return;
    const reason = reasonToCut(keyOf(request), await this.#lookUp(request));
    if (reason === undefined) return;
    await authenticate(request, this.#keyring);
    throw new AppError('server-busy', 'The API key was changed while the request waited. Send it again.');
  }

  /** Returns the function to call when the response has ended. */
  watch(response: LongResponse): () => void {
    const sentBytes = response.request.raw.socket.bytesWritten;
    this.#watched.set(response, { sentBytes, creditBytes: this.#firstCredit() });
    return () => this.#watched.delete(response);
  }

  /** Stops the checks. */
  close(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const nowMs = performance.now();
    const elapsedMs = nowMs - this.#checkedMs;
    this.#checkedMs = nowMs;
    if (this.#watched.size === 0) return;
    for (const [response, pace] of this.#watched) {
      const recalledFor = response.version?.recalledFor;
      if (recalledFor !== undefined) this.#cut(response, recalledFor);
      else if (response.isPaced && !this.#keepsPace(response, pace, elapsedMs))
        this.#cut(response, 'least-rate');
    }
    this.#checkingKeys ??= this.#checkKeys().finally(() => {
      this.#checkingKeys = undefined;
    });
  }

  /** Each key is looked up once for each address of its clients, however many responses it has. */
  async #checkKeys(): Promise<void> {
    const byClient = Map.groupBy(
      this.#watched.keys(),
      ({ request }) => `${keyOf(request).id} ${request.visit.address}`,
    );
    await Promise.all(
      [...byClient.values()].map(async (responses) => {
        const key = await this.#lookUp(responses[0]!.request);
        for (const response of responses) {
          const reason = reasonToCut(keyOf(response.request), key);
          if (reason === undefined) continue;
          // A key may have a thousand live streams.
          if (slice.isOver()) await slice.pass();
          this.#cut(response, reason);
        }
      }),
    );
  }

  /**
   * The current entry of the key of a request, or why it is refused; absent while the keys cannot
   * be read.
   */
  async #lookUp(request: FastifyRequest): Promise<KeyEntry | CutReason | undefined> {
    try {
      return await authenticate(request, this.#keyring);
    } catch (error) {
      return error instanceof AppError ? REFUSALS[error.code] : undefined;
    }
  }

  #firstCredit(): number {
    return (this.#limits['least-rate'] * this.#limits['least-rate-after']) / 1000;
  }

  #keepsPace({ request: { raw } }: LongResponse, pace: Pace, elapsedMs: number): boolean {
    const { bytesWritten, writableLength } = raw.socket;
    const earned = pace.creditBytes + bytesWritten - pace.sentBytes;
    pace.sentBytes = bytesWritten;
    pace.creditBytes = Math.min(earned, this.#firstCredit() + HANDED_BYTES);
    // Otherwise the client waits for the server.
    if (writableLength > 0) pace.creditBytes -= (this.#limits['least-rate'] * elapsedMs) / 1000;
    return pace.creditBytes >= 0;
  }

  #cut(response: LongResponse, reason: CutReason): void {
    // The response has ended, or the previous check has cut it.
    if (!this.#watched.delete(response)) return;
    this.#countCut(reason);
    response.request.visit.cutFor = reason;
    response.cut();
  }
}

/**
 * `before`: the key when the response began. While the keys cannot be read, none counts as ended.
 */
function reasonToCut(before: KeyEntry, now: KeyEntry | CutReason | undefined): CutReason | undefined {
  if (now === undefined || typeof now === 'string') return now;
  return seesTheSame(before, now) ? undefined : 'key-changed';
}
