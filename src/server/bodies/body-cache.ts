/**
 * Response bodies for whoever asks the same again, by entity tag: small ones in memory, large ones
 * in files (`body.ts`). What costs little to make is kept from the second time on that it is asked
 * for: keeping everything that is asked for once would cost more than it saves.
 *
 * A wrong hit would show a key what it must not see (decision 12), so here is why there is none. A
 * body is kept under its entity tag, and with the very dataset it was made from. The tag is a digest
 * of 132 bits, made with a secret of the organization, of everything that settles the bytes: version,
 * variant, route, subject, range, scope, page, redaction, representation and encoding (`question.ts`).
 * It is computed from the key of the request at hand, never taken from the client. Two organizations
 * share neither datasets nor secrets.
 */
import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { availableMemory } from 'node:process';
import type { Dataset } from '../../dataset/dataset.ts';
import { Body, type Making } from './body.ts';
import { Doorkeeper } from './doorkeeper.ts';
import { BodyRoom, type Kept } from './room.ts';

const MEMORY_BYTES = 32 * 1024 * 1024;
/** About what a small body takes beside its bytes. */
const OVERHEAD_BYTES = 512;
const MOST_DISK_BYTES = 32 * 1024 ** 3;
/** Of all processes together. */
const SHARE_OF_FREE_DISK = 1 / 4;
/** Plain bodies take seven times as much as compressed ones. They leave room for those, and fit into the page cache. */
const PLAIN_SHARE = 1 / 2;
/** Each has a file that is open. */
const MOST_FILES = 256;
const REMEMBERED_TAGS = 1024;

/** A disk that takes fewer holds up a response for longer than most networks do. */
const LEAST_BYTES_PER_MS = 30_000;
/** So much is written each time before the disk is judged. */
const TRIAL_BYTES = 64 * 1024 * 1024;
/** How long a slow disk is left alone: what the system has gathered for it leaves in that time. */
const REST_MS = 20_000;

/** All of a small body, compressed already where that was asked for. */
export interface SmallBody {
  readonly bytes: Buffer;
  /** Cursor of the next page; absent when there is none. */
  readonly next: string | undefined;
}

/** How a body is begun. */
export interface Beginning extends Making {
  /** Its bytes are those that the data are rendered to, uncompressed. */
  readonly isPlain: boolean;
  /** Whether it is worth its place when it is asked for once. */
  readonly isCostly: boolean;
}

/** The bodies of one request: those under its entity tag. */
export interface BodySlot {
  /** Complete, or being made; a body that has to be whole may not be yet. */
  find(): SmallBody | Body | undefined;
  /** The same, but only what can be sent at once. */
  findReady(): SmallBody | Body | undefined;
  /** Copies the bytes when they are to be kept. */
  keep(body: SmallBody, isCostly?: boolean): void;
  /**
   * A body that is being made from now on, to be joined at once; absent when it is better sent as it
   * is made.
   */
  begin(beginning: Beginning): Body | undefined;
}

export interface Budget {
  readonly memoryBytes: number;
  readonly diskBytes: number;
  /** How much of the disk plain bodies may take. */
  readonly plainBytes: number;
}

/** What one of several processes may take. */
export function measureBudget(processes = 1): Budget {
  const diskBytes = Math.min(MOST_DISK_BYTES, (freeDiskBytes() * SHARE_OF_FREE_DISK) / processes);
  const plainBytes = Math.min(diskBytes, availableMemory() / processes) * PLAIN_SHARE;
  return { memoryBytes: MEMORY_BYTES, diskBytes, plainBytes };
}

/** In the folder for temporary files. */
export function freeDiskBytes(): number {
  try {
    const { bavail, bsize } = statfsSync(tmpdir());
    return bavail * bsize;
  } catch {
    // Without a folder for temporary files nothing can be kept there.
    return 0;
  }
}

export class BodyCache {
  readonly #small: BodyRoom<SmallBody & Kept>;
  readonly #plain: DiskRoom;
  readonly #packed: DiskRoom;
  readonly #askedSmall = new Doorkeeper(REMEMBERED_TAGS);
  readonly #askedLarge = new Doorkeeper(REMEMBERED_TAGS);
  readonly #retired = new WeakSet<Dataset>();

  constructor({ memoryBytes, diskBytes, plainBytes }: Budget = measureBudget()) {
    this.#small = new BodyRoom(memoryBytes);
    this.#plain = new DiskRoom(plainBytes);
    this.#packed = new DiskRoom(diskBytes - plainBytes);
  }

  /** What is on disk. */
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

  /** To be called when a version goes out of service. */
  forget(dataset: Dataset): void {
    this.#retired.add(dataset);
    this.#small.forget(dataset);
    this.#plain.bodies.forget(dataset);
    this.#packed.bodies.forget(dataset);
  }

  #keep(dataset: Dataset, tag: string, { bytes, next }: SmallBody, isCostly: boolean): void {
    if (!(isCostly || this.#askedSmall.knows(tag)) || this.#retired.has(dataset)) return;
    if (this.#small.find(dataset, tag) !== undefined) return;
    const size = bytes.length + OVERHEAD_BYTES;
    if (!this.#small.take(dataset, size)) return;
    // In memory of its own: that of the response is used again.
    const copy = Buffer.allocUnsafeSlow(bytes.length);
    bytes.copy(copy);
    const release = () => this.#small.giveBack(dataset, size);
    this.#small.add(dataset, tag, { bytes: copy, next, isIdle: true, release });
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

/** The bodies that share one bound on the disk, which is left alone for a while when it is slow. */
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
