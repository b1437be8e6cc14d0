/**
 * Limits how many responses are made at once before anything of them is sent, for keys,
 * organizations and the process: Parquet files, and what precedes a range of bytes (decision 91).
 * Also limits the disk space of Parquet files until they have been sent (decision 60).
 */
import { AppError } from '../../domain/app-error.ts';
import type { KeyEntry } from '../../keys/keyring.ts';
import type { UnsizedBody } from '../../render/text/rendered-body.ts';
import { freeDiskBytes } from '../../system/free-disk.ts';
import type { Making } from '../bodies/body.ts';
import type { Beginning } from '../bodies/body-cache.ts';
import type { Limits } from '../limits/limits.ts';
import { type CountRefusal, Quota, type Share, Tally } from '../limits/quota.ts';

/** Share of the free disk that one file may take, measured when the file begins. */
const SHARE_OF_FREE_DISK = 1 / 4;
/**
 * Smaller files are made at once, however many others are in progress, because they are made
 * quickly.
 */
const SMALL_FILE_ROWS = 2_048;
/** Approximate memory of a Parquet file while it is made. */
export const PARQUET_BYTES = 20e6;

export function isLargeFile({ mostRows }: UnsizedBody<unknown>): boolean {
  return mostRows > SMALL_FILE_ROWS;
}

export class ParquetPlaces {
  readonly making: Quota;
  readonly disk: Quota;
  readonly #limits: Limits;
  readonly #ofKey = new Tally();
  /**
   * By key: requests that wait for a place of the same key. Each receives it, or `undefined` when
   * its client has disconnected.
   */
  readonly #lines = new Map<string, Set<(place: Share | undefined) => void>>();

  constructor(limits: Limits, countRefusal: CountRefusal) {
    this.making = new Quota('parquet-files', limits, countRefusal);
    this.disk = new Quota('parquet-disk', limits, countRefusal);
    this.#limits = limits;
  }

  /**
   * A place for making a file, or up to a range. Must be disposed of once, when that is done. Waits
   * only for those of the same key; if others have taken the places, the request is refused. Absent
   * when the client has disconnected.
   */
  async enter(key: KeyEntry, gone: AbortSignal): Promise<Disposable | undefined> {
    const place = await this.#wait(key, gone);
    return place && { [Symbol.dispose]: () => this.#leave(key, place) };
  }

  /** The input for the file of a key. `place`: the place that a large file has entered. */
  beginning(
    answer: UnsizedBody<unknown>,
    next: string | undefined,
    key: KeyEntry,
    place: Disposable | undefined,
  ): Beginning {
    return {
      ...{
        next,
        rows: answer.rows,
        heldBytes: PARQUET_BYTES,
        isPlain: false,
        isCostly: true,
        account: this.#openAccount(key),
      },
      async *make() {
        using _ = place;
        yield* answer.pieces();
      },
    };
  }

  #openAccount(key: KeyEntry): Making['account'] {
    const mostBytes = Math.min(
      this.#limits['parquet-disk'],
      this.#limits['parquet-disk-per-organization'],
      this.#limits['parquet-disk-per-key'],
      freeDiskBytes() * SHARE_OF_FREE_DISK,
    );
    let share: Share | undefined;
    let takenBytes = 0;
    return {
      take: (bytes) => {
        // Too large, however few other files there are.
        if (takenBytes + bytes > mostBytes) throw noRoom();
        if (share === undefined) share = this.disk.take(key, bytes);
        else share.add(bytes);
        takenBytes += bytes;
      },
      giveBack: () => share?.giveBack(),
    };
  }

  async #wait(key: KeyEntry, gone: AbortSignal): Promise<Share | undefined> {
    const underWay = this.#ofKey.of(key.id);
    if (underWay === 0 || underWay < this.#limits['parquet-files-per-key']) {
      const place = this.making.take(key);
      this.#ofKey.change(key.id, 1);
      return place;
    }
    const line = this.#lines.get(key.id) ?? new Set();
    this.#lines.set(key.id, line);
    const { promise, resolve } = Promise.withResolvers<Share | undefined>();
    const goAway = () => {
      line.delete(resolve);
      resolve(undefined);
    };
    line.add(resolve);
    gone.addEventListener('abort', goAway);
    const place = await promise;
    gone.removeEventListener('abort', goAway);
    return place;
  }

  #leave(key: KeyEntry, place: Share): void {
    const line = this.#lines.get(key.id);
    const [next] = line ?? [];
    if (line !== undefined && next !== undefined) {
      line.delete(next);
      next(place);
    } else {
      this.#lines.delete(key.id);
      this.#ofKey.change(key.id, -1);
      place.giveBack();
    }
  }
}

/** The error for a request whose file could not be written. */
export function refusalOf(error: unknown): unknown {
  const isFull = error instanceof Error && 'code' in error && /^(ENOSPC|EDQUOT)$/.test(String(error.code));
  return isFull ? noRoom(error) : error;
}

function noRoom(cause?: unknown): AppError {
  return new AppError(
    'no-room',
    'There is not enough disk space for a response of this size. Request a shorter range, pages with "limit", or csv or ndjson, which need no disk space.',
    { cause },
  );
}
