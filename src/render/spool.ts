/**
 * Pieces of large answers, of one rendering of one version, kept in a file without a name: the system's page cache holds what
 * is asked for often, a process that dies leaves nothing, and the memory taken is a few numbers a piece.
 */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Packed } from './render-job.ts';

/** How many bytes all spools of a process may take together, and how much of that is left. */
export interface SpoolBudget {
  readonly totalBytes: number;
  leftBytes: number;
}

/** Memory for one piece after the other; replaced by what is larger when one does not fit. */
export interface PieceMemory {
  memory: SharedArrayBuffer;
}

interface Kept {
  readonly position: number;
  readonly length: number;
  readonly plainBytes: number;
  readonly crc: number;
}

export class Spool {
  readonly #budget: SpoolBudget;
  readonly #kept = new Map<string, Kept>();
  readonly #keeping = new Set<string>();
  #file: Promise<FileHandle> | undefined;
  #length = 0;
  #closed = false;

  constructor(budget: SpoolBudget) {
    this.#budget = budget;
  }

  /** The piece of that name, read into the memory; absent when it is not kept. */
  async find(name: string, into: PieceMemory): Promise<Packed | undefined> {
    const kept = this.#kept.get(name);
    if (kept === undefined || this.#file === undefined) return undefined;
    const file = await this.#file;
    if (into.memory.byteLength < kept.length) into.memory = new SharedArrayBuffer(kept.length);
    const bytes = Buffer.from(into.memory, 0, kept.length);
    // A disk that does not give back what it took costs a piece, not the answer.
    const read = file.read(bytes, 0, kept.length, kept.position);
    const { bytesRead } = await read.catch(() => ({ bytesRead: 0 }));
    return bytesRead === kept.length ? { ...kept, bytes } : undefined;
  }

  /** Keeps a piece, unless that leaves less of the budget than `spareBytes` or the disk refuses. Never fails. */
  async keep(name: string, { bytes, plainBytes, crc }: Packed, spareBytes = 0): Promise<void> {
    if (this.#closed || this.#kept.has(name) || this.#keeping.has(name)) return;
    if (bytes.length + spareBytes > this.#budget.leftBytes) return;
    this.#keeping.add(name);
    const position = this.#length;
    this.#budget.leftBytes -= bytes.length;
    this.#length += bytes.length;
    try {
      this.#file ??= openNameless();
      const file = await this.#file;
      const { bytesWritten } = await file.write(bytes, 0, bytes.length, position);
      if (bytesWritten === bytes.length)
        this.#kept.set(name, { position, length: bytes.length, plainBytes, crc });
    } catch {
      // The answer itself does not depend on it; the bytes stay counted, so that a full disk is not asked for ever.
    } finally {
      this.#keeping.delete(name);
    }
  }

  /** Gives the disk back. To be called when the last answer has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#kept.clear();
    this.#budget.leftBytes += this.#length;
    const file = await this.#file?.catch(() => undefined);
    await file?.close();
  }
}

async function openNameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `corkboard-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await rm(path);
  return file;
}
