/**
 * The lock of a copy in a bucket (decision 103). A run renews an object of its own until it ends,
 * and watches those of others: one that is no longer renewed is that of a run that was killed.
 * Clocks of different machines are not compared.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '../../domain/app-error.ts';
import type { S3Objects } from '../../store/chunks/s3-objects.ts';

export interface LockTimes {
  readonly renewMs: number;
  /** A lock that is not renewed for this long is ignored. Many times `renewMs`. */
  readonly silenceMs: number;
}

export interface LockOptions extends Partial<LockTimes> {
  /** Called once, before `take` waits for at most `silenceMs`. */
  readonly onWait?: (silenceMs: number) => void;
}

const TIMES: LockTimes = { renewMs: 5_000, silenceMs: 30_000 };
const LOOKS_PER_RENEWAL = 5;

/** Names of these objects, relative to `folder`. */
const LOCKS = 'locks/';
const HOLDER = 'holder';
/** Also the names of runs. */
const RUN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function isRun(name: string): boolean {
  return RUN.test(name);
}

/** Whether the lock has an object of this name, relative to its folder. */
export function isOfLock(name: string): boolean {
  return name === HOLDER || (name.startsWith(LOCKS) && isRun(name.slice(LOCKS.length)));
}

export class BucketLock {
  /** Names the run that has the lock; new for each lock. */
  readonly run = randomUUID();
  readonly #objects: S3Objects;
  readonly #folder: string;
  readonly #times: LockTimes;
  readonly #onWait: LockOptions['onWait'];
  readonly #ending = new AbortController();
  #renewing: Promise<void> = Promise.resolve();

  private constructor(objects: S3Objects, folder: string, { onWait, ...times }: LockOptions) {
    this.#objects = objects;
    this.#folder = folder;
    this.#times = { ...TIMES, ...times };
    this.#onWait = onWait;
  }

  /**
   * `folder`: the keys of the lock begin like this. Waits while it may be that of a run that was
   * killed. Throws `copy-busy` if a run has it.
   */
  static async take(objects: S3Objects, folder: string, options: LockOptions = {}): Promise<BucketLock> {
    const lock = new BucketLock(objects, folder, options);
    try {
      // Of two runs that begin at the same time, at least one finds the object of the other.
      await lock.#renew();
      lock.#renewing = lock.#renewRepeatedly();
      await lock.#outlastOthers();
      await objects.put(`${folder}${HOLDER}`, Buffer.from(lock.run));
      return lock;
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  /**
   * Throws `copy-busy` if a different run has taken the lock since, because this one did not
   * renew it in time.
   */
  async assertHeld(): Promise<void> {
    const holder = await this.#objects.get(`${this.#folder}${HOLDER}`);
    if (holder !== undefined && Buffer.from(holder).toString() === this.run) return;
    throw new AppError(
      'copy-busy',
      'A different run has continued in place of this one, which was paused for too long. Run the command again after that one has ended.',
    );
  }

  /** If the bucket cannot be reached, the next run waits until the lock is old enough. */
  async release(): Promise<void> {
    this.#ending.abort();
    await this.#renewing;
    await this.#objects.delete([this.#own]).catch(() => undefined);
  }

  get #own(): string {
    return `${this.#folder}${LOCKS}${this.run}`;
  }

  /** A different content each time gives the object a different entity tag. */
  async #renew(): Promise<void> {
    await this.#objects.put(this.#own, Buffer.from(randomUUID()));
  }

  async #renewRepeatedly(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await pause(this.#times.renewMs, undefined, { signal }).catch(() => undefined);
      // What a failure means is found out by `assertHeld`.
      if (!signal.aborted) await this.#renew().catch(() => undefined);
    }
  }

  /**
   * Deletes the locks that are not renewed. Throws `copy-busy` if one is renewed. Counts looks
   * instead of time, so that a pause of this process is not taken for one of the others.
   */
  async #outlastOthers(): Promise<void> {
    const pauseMs = this.#times.renewMs / LOOKS_PER_RENEWAL;
    const mostLooks = this.#times.silenceMs / pauseMs;
    const seen = new Map<string, { readonly etag: string; looks: number }>();
    let hasWaited = false;
    for (;;) {
      const others = await this.#others();
      const silent: string[] = [];
      for (const [key, etag] of others) {
        const former = seen.get(key) ?? { etag, looks: 0 };
        if (former.etag !== etag) throw taken();
        former.looks += 1;
        if (former.looks > mostLooks) silent.push(key);
        seen.set(key, former);
      }
      await this.#objects.delete(silent);
      if (silent.length === others.size) return;
      if (!hasWaited) this.#onWait?.(this.#times.silenceMs);
      hasWaited = true;
      await pause(pauseMs);
    }
  }

  /** Entity tags of the objects of other runs, without an empty one for the folder. */
  async #others(): Promise<ReadonlyMap<string, string>> {
    const others = new Map<string, string>();
    for await (const batch of this.#objects.list(`${this.#folder}${LOCKS}`)) {
      for (const { key, etag } of batch)
        if (key !== this.#own && isOfLock(key.slice(this.#folder.length))) others.set(key, etag);
    }
    return others;
  }
}

function taken(): AppError {
  return new AppError(
    'copy-busy',
    'Cannot lock the bucket: a different run is using the same prefix. Wait until it has ended.',
  );
}
