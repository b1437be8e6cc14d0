/**
 * The response cache: bodies for repeated requests, by entity tag. Small bodies are in memory,
 * large ones in files (`body.ts`). A body that is cheap to make is kept from its second request on:
 * keeping every body that is requested once would cost more than it saves.
 *
 * A wrong hit would show a key data that it must not see (decision 12). This is why there is none:
 * a body is kept under its entity tag, and with the dataset object that it was made from. The tag
 * is a digest of 132 bits, made with a secret of the organization, of everything that determines
 * the bytes: version, variant, route, subject, range, scope, page, redaction, representation and
 * encoding (`parsed-request.ts`). It is computed from the key of the current request, never taken
 * from the client. Two organizations share neither datasets nor secrets.
 */
import type { Dataset } from '../../dataset/dataset.ts';
import { freeDiskBytes } from '../../system/free-disk.ts';
import { freeMemory } from '../../system/machine-memory.ts';
import { Body, type Making } from './body.ts';
import { Doorkeeper } from './doorkeeper.ts';
import { BodyRoom, type Kept } from './room.ts';

const MEMORY_BYTES = 32 * 1024 * 1024;
/** Approximate memory of a small body in addition to its bytes. */
const OVERHEAD_BYTES = 512;
const MOST_DISK_BYTES = 32 * 1024 ** 3;
/** For all processes together. */
const SHARE_OF_FREE_DISK = 1 / 4;
/**
 * Plain bodies are several times as large as compressed ones. They must leave room for those, and
 * fit into the page cache.
 */
const PLAIN_SHARE = 1 / 2;
/** Each body has an open file. */
const MOST_FILES = 256;
const REMEMBERED_TAGS = 1024;
/**
 * When memory is full, this share of the small bodies is kept, at random. Otherwise, requests that
 * take turns and do not all fit would evict each other: each would be copied and none found again.
 */
const EVICTING_SHARE = 1 / 16;

/** A slower disk delays a response more than most networks do. */
const LEAST_BYTES_PER_MS = 30_000;
/** Bytes that are written before the disk is judged. */
const TRIAL_BYTES = 64 * 1024 * 1024;
/** How long a slow disk is not used. The system writes its buffered data in that time. */
const REST_MS = 20_000;

/** A complete small body, already compressed if the request asked for it. */
export interface SmallBody {
  readonly bytes: Buffer;
  /** Cursor of the next page; absent when there is none. */
  readonly next: string | undefined;
  /** Number of events, records or changes; absent if unknown. */
  readonly rows?: number | undefined;
}

/** The input for a new body. */
export interface Beginning extends Making {
  /** Whether the bytes are rendered text without compression. */
  readonly isPlain: boolean;
  /** Whether it is worth caching after a single request. */
  readonly isCostly: boolean;
}

/** The bodies of one request: those under its entity tag. */
export interface BodySlot {
  /**
   * A complete body, or one that is being made. A body that must be complete before it is sent may
   * not be complete yet.
   */
  find(): SmallBody | Body | undefined;
  /** Like `find`, but only a body that can be sent at once. */
  findReady(): SmallBody | Body | undefined;
  /** Caches a copy of the bytes if that is worthwhile. */
  keep(body: SmallBody, isCostly?: boolean): void;
  /**
   * A new body, to be joined in the same turn. Absent when the response should be sent while it is
   * made, without a body.
   */
  begin(beginning: Beginning): Body | undefined;
}

export interface Budget {
  readonly memoryBytes: number;
  readonly diskBytes: number;
  /** Disk space that plain bodies may use. */
  readonly plainBytes: number;
}

/** The budget of one of `processes` processes. */
export function measureBudget(processes = 1): Budget {
  const diskBytes = Math.min(MOST_DISK_BYTES, (freeDiskBytes() * SHARE_OF_FREE_DISK) / processes);
  const plainBytes = Math.min(diskBytes, freeMemory() / processes) * PLAIN_SHARE;
  return { memoryBytes: MEMORY_BYTES, diskBytes, plainBytes };
}

export class BodyCache {
  readonly #small: BodyRoom<SmallBody & Kept>;
  readonly #plain: DiskRoom;
  readonly #packed: DiskRoom;
  readonly #askedSmall = new Doorkeeper(REMEMBERED_TAGS);
  readonly #askedLarge = new Doorkeeper(REMEMBERED_TAGS);
  readonly #retired = new WeakSet<Dataset>();
  readonly #mayEvict: () => boolean;

  /** `mayEvict`: whether a small body may evict others; called when there is no room for it. */
  constructor(
    { memoryBytes, diskBytes, plainBytes }: Budget = measureBudget(),
    mayEvict = () => Math.random() < EVICTING_SHARE,
  ) {
    this.#small = new BodyRoom(memoryBytes);
    this.#plain = new DiskRoom(plainBytes);
    this.#packed = new DiskRoom(diskBytes - plainBytes);
    this.#mayEvict = mayEvict;
  }

  /** Bytes on disk. */
  get diskBytes(): number {
    return this.#plain.bodies.usedBytes + this.#packed.bodies.usedBytes;
  }

  slot(dataset: Dataset, tag: string): BodySlot {
    const find = () =>
      this.#small.find(dataset, tag) ??
      this.#packed.bodies.find(dataset, tag) ??
      this.#plain.bodies.find(dataset, tag);
    return {
      find,
      findReady: () => {
        const found = find();
        return found instanceof Body && found.isWhole && !found.isComplete ? undefined : found;
      },
      keep: (body, isCostly = false) => this.#keep(dataset, tag, body, isCostly),
      begin: (beginning) => this.#begin(dataset, tag, beginning),
    };
  }

  /** Must be called when a version is taken out of service. */
  forget(dataset: Dataset): void {
    this.#retired.add(dataset);
    this.#small.forget(dataset);
    this.#plain.bodies.forget(dataset);
    this.#packed.bodies.forget(dataset);
  }

  #keep(dataset: Dataset, tag: string, { bytes, next, rows }: SmallBody, isCostly: boolean): void {
    if (!(isCostly || this.#askedSmall.knows(tag)) || this.#retired.has(dataset)) return;
    if (this.#small.find(dataset, tag) !== undefined) return;
    const size = bytes.length + OVERHEAD_BYTES;
    if (!(isCostly || this.#small.hasFree(size) || this.#mayEvict())) return;
    if (!this.#small.take(dataset, size)) return;
    // A copy in separate memory, because the memory of the response is reused.
    const copy = Buffer.allocUnsafeSlow(bytes.length);
    bytes.copy(copy);
    const release = () => this.#small.giveBack(dataset, size);
    this.#small.add(dataset, tag, { bytes: copy, next, rows, isIdle: true, release });
  }

  #begin(dataset: Dataset, tag: string, beginning: Beginning): Body | undefined {
    const { isPlain, isCostly, byteLength = 0, account } = beginning;
    const isWorthIt = isCostly || this.#askedLarge.knows(tag);
    const room = isPlain ? this.#plain : this.#packed;
    if (!isWorthIt || this.#retired.has(dataset) || !room.take(dataset, byteLength)) {
      return account && new Body(beginning, undefined);
    }
    const body = new Body(beginning, {
      take: (bytes) => room.take(dataset, bytes),
      giveBack: (bytes) => room.bodies.giveBack(dataset, bytes),
      wrote: (bytes, ms) => room.judge(bytes, ms),
      leave: () => {
        if (room.bodies.find(dataset, tag) === body) room.bodies.remove(dataset, tag);
      },
    });
    room.bodies.add(dataset, tag, body);
    return body;
  }
}

/** Bodies that share one limit on disk use. A slow disk is not used for a while. */
class DiskRoom {
  readonly bodies: BodyRoom<Body>;
  #writtenBytes = 0;
  #writingMs = 0;
  #restUntilMs = 0;

  constructor(mostBytes: number) {
    this.bodies = new BodyRoom(mostBytes, MOST_FILES);
  }

  take(dataset: Dataset, bytes: number): boolean {
    return performance.now() >= this.#restUntilMs && this.bodies.take(dataset, bytes);
  }

  judge(bytes: number, ms: number): void {
    this.#writtenBytes += bytes;
    this.#writingMs += ms;
    if (this.#writtenBytes < TRIAL_BYTES) return;
    if (this.#writtenBytes < LEAST_BYTES_PER_MS * this.#writingMs) {
      this.#restUntilMs = performance.now() + REST_MS;
    }
    this.#writtenBytes = 0;
    this.#writingMs = 0;
  }
}
