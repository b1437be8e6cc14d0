/**
 * Responses that take long: large ones, with the Parquet files that are made for them, and live
 * streams. One timer for all of them cuts those that must not go on (decision 60): the key has
 * ended or sees something else now, the version that is read has been recalled, or the client
 * hardly takes anything. Small responses cost nothing here.
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

/** A revocation, or a change of a key, ends a response within a second. */
const CHECK_MS = 500;
/** The most that is handed to a connection at once and leaves it as slowly as the client likes. */
const HANDED_BYTES = 1024 * 1024;
const ENDED: readonly ErrorCode[] = ['key-revoked', 'key-expired', 'key-unknown'];

export interface LongResponse {
  readonly request: FastifyRequest;
  /** The version that is read now; absent between two messages of a live stream. */
  version: HeldVersion | undefined;
  /** Whether its client has to take at least `least-rate`. */
  readonly isPaced: boolean;
  /** Ends it so that no client takes it for whole. */
  cut(): void;
}

/** Bytes that a client takes are credited; the time in which the server waits for it is charged. */
interface Pace {
  sentBytes: number;
  creditBytes: number;
}

export interface UnderWayOptions {
  readonly countRefusal: CountRefusal;
  readonly countCut: (reason: CutReason) => void;
}

/** To be disposed of when the response has ended, in whatever way. */
export interface ResponsePlace extends Disposable {
  /**
   * To be called when a response is known to be large, before much is done for it; only the first call
   * counts. `heldBytes`: what is in memory for it at a time, about. Throws `too-many-responses`,
   * `server-busy`.
   */
  begin(heldBytes: number): void;
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
   * The place of a response, which takes its share when it turns out to be large. `version`: what it
   * reads; absent for a part of a live stream, which is watched as a whole.
   */
  placeOf(request: FastifyRequest, version?: HeldVersion): ResponsePlace {
    let end: (() => void) | undefined;
    return {
      begin: (heldBytes) => {
        end ??= this.#take(request, version, heldBytes);
      },
      [Symbol.dispose]() {
        end?.();
        end = undefined;
      },
    };
  }

  #take(request: FastifyRequest, version: HeldVersion | undefined, heldBytes: number): () => void {
    const key = keyOf(request);
    const place = this.responses.take(key);
    try {
      // A key may always have one, however large it is.
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

  /** Returns the function to call when the response has ended. */
  watch(response: LongResponse): () => void {
    const sentBytes = response.request.raw.socket.bytesWritten;
    this.#watched.set(response, { sentBytes, creditBytes: this.#firstCredit() });
    return () => this.#watched.delete(response);
  }

  /** Checks nothing any more. */
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

  /** Each key is looked up once, however many responses it has. */
  async #checkKeys(): Promise<void> {
    const byKey = Map.groupBy(this.#watched.keys(), ({ request }) => keyOf(request).id);
    await Promise.all(
      [...byKey.values()].map(async (responses) => {
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

  /** Absent while the keys cannot be read. */
  async #lookUp({ raw }: FastifyRequest): Promise<KeyEntry | 'ended' | undefined> {
    try {
      return await authenticate(raw, this.#keyring);
    } catch (error) {
      return error instanceof AppError && ENDED.includes(error.code) ? 'ended' : undefined;
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
    // It has ended, or has been cut by the check before.
    if (!this.#watched.delete(response)) return;
    this.#countCut(reason);
    response.request.visit.cutFor = reason;
    response.cut();
  }
}

/** `before`: the key as the response began with it. While the keys cannot be read, none has ended. */
function reasonToCut(before: KeyEntry, now: KeyEntry | 'ended' | undefined): CutReason | undefined {
  if (now === undefined) return undefined;
  if (now === 'ended') return 'key-ended';
  return seesTheSame(before, now) ? undefined : 'key-changed';
}
