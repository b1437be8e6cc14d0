/**
 * Pieces of large answers, of one rendering of one version, kept in a file without a name: the system's page cache holds what
 * is asked for often, a process that dies leaves nothing, and the memory taken is a few numbers a piece.
 */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Packed } from './render-job.ts';

/** How many bytes all spools of a process may take together, how much of it plain pieces may, and how much is left. */
export interface SpoolBudget {
  readonly totalBytes: number;
  readonly plainBytes: number;
  leftBytes: number;
}

/** Memory for one piece after the other; replaced by what is larger when one does not fit. */
export interface PieceMemory {
  memory: SharedArrayBuffer;
}

/** Where a piece is, behind the bytes that stand before it, and what it holds. An empty one takes no bytes. */
export interface Kept {
  readonly position: number;
  /** With the bytes before it. */
  readonly length: number;
  readonly plainBytes: number;
  readonly crc: number;
}

/** A stretch of the file for pieces of one series, so that they lie one behind the other whatever else is kept meanwhile. */
interface Extent {
  end: number;
  readonly limit: number;
}

/** What is not written of it takes no place on the disk. */
const EXTENT_BYTES = 32 * 1024 * 1024;

/** A disk that takes fewer holds up answers more than it will save: plain bytes are made twice as fast. */
const LEAST_BYTES_PER_MS = 300_000;
/** So much is written each time before the disk is judged. */
const TRIAL_BYTES = 64 * 1024 * 1024;
/** How long a slow disk is left alone: what the system has gathered for it leaves in that time. */
const REST_MS = 20_000;

const NOTHING: Uint8Array = new Uint8Array();

export class Spool {
  readonly #budget: SpoolBudget;
  readonly #kept = new Map<string, Kept>();
  readonly #keeping = new Set<string>();
  /** The one in use, by series. */
  readonly #extents = new Map<string, Extent>();
  #extentsEnd = 0;
  #file: Promise<FileHandle> | undefined;
  #takenBytes = 0;
  #writtenBytes = 0;
  #writingMs = 0;
  #restUntilMs = 0;
  #closed = false;
  readonly #leastBytesPerMs: number;

  constructor(budget: SpoolBudget, leastBytesPerMs = LEAST_BYTES_PER_MS) {
    this.#budget = budget;
    this.#leastBytesPerMs = leastBytesPerMs;
  }

  /** Where the piece of that name is; absent when it is not kept. */
  look(name: string): Kept | undefined {
    return this.#kept.get(name);
  }

  /**
   * Pieces that lie one behind the other, each behind the bytes before it, read at once. Absent when the disk does not
   * give back what it took: that costs pieces, not the answer.
   */
  async read(run: readonly Kept[], into: PieceMemory): Promise<Uint8Array | undefined> {
    const [first] = run;
    if (first === undefined || this.#file === undefined) return undefined;
    const length = run.reduce((sum, kept) => sum + kept.length, 0);
    // With room for runs that are a little longer, so that it is seldom replaced.
    if (into.memory.byteLength < length) into.memory = new SharedArrayBuffer(length + (length >> 2));
    const bytes = new Uint8Array(into.memory, 0, length);
    try {
      const { bytesRead } = await (await this.#file).read(bytes, 0, length, first.position);
      return bytesRead === length ? bytes : undefined;
    } catch {
      return undefined;
    }
  }

  /**
   * Keeps a piece with the bytes `before` it, behind the one of the same series that was kept last. Does nothing when
   * the budget has no room for it or the disk refuses, and with a plain piece also while the disk is slow. Never fails.
   */
  async keep(
    name: string,
    series: string,
    { bytes, plainBytes, crc }: Packed,
    { before = NOTHING, isPlain = false } = {},
  ): Promise<void> {
    if (this.#closed || this.#kept.has(name) || this.#keeping.has(name)) return;
    if (isPlain && performance.now() < this.#restUntilMs) return;
    const buffers = bytes.length === 0 ? [] : [before, bytes];
    const length = buffers.reduce((sum, buffer) => sum + buffer.length, 0);
    const spareBytes = isPlain ? this.#budget.totalBytes - this.#budget.plainBytes : 0;
    if (length + spareBytes > this.#budget.leftBytes) return;
    this.#keeping.add(name);
    const position = this.#place(series, length);
    this.#budget.leftBytes -= length;
    this.#takenBytes += length;
    const startMs = performance.now();
    try {
      this.#file ??= openNameless();
      const { bytesWritten } = await (await this.#file).writev(buffers, position);
      if (bytesWritten === length) this.#kept.set(name, { position, length, plainBytes, crc });
    } catch {
      // The answer itself does not depend on it; the bytes stay counted, so that a full disk is not asked for ever.
    } finally {
      this.#judge(length, performance.now() - startMs);
      this.#keeping.delete(name);
    }
  }

  #judge(bytes: number, ms: number): void {
    this.#writtenBytes += bytes;
    this.#writingMs += ms;
    if (this.#writtenBytes < TRIAL_BYTES) return;
    if (this.#writtenBytes < this.#leastBytesPerMs * this.#writingMs)
      this.#restUntilMs = performance.now() + REST_MS;
    this.#writtenBytes = 0;
    this.#writingMs = 0;
  }

  #place(series: string, length: number): number {
    let extent = this.#extents.get(series);
    if (extent === undefined || extent.end + length > extent.limit) {
      extent = { end: this.#extentsEnd, limit: this.#extentsEnd + Math.max(length, EXTENT_BYTES) };
      this.#extentsEnd = extent.limit;
      this.#extents.set(series, extent);
    }
    const position = extent.end;
    extent.end += length;
    return position;
  }

  /** Gives the disk back. To be called when the last answer has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#kept.clear();
    this.#budget.leftBytes += this.#takenBytes;
    const file = await this.#file?.catch(() => undefined);
    await file?.close();
  }
}

/** A file that is gone with its last handle. */
export async function openNameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `corkboard-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await rm(path);
  return file;
}
