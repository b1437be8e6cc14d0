/**
 * Answers whose size is known only when all of them is made (Parquet, decision 17): a small one is
 * written into memory, a larger one into a file without a name, so that nothing is left of it
 * whatever ends the process or the connection. The number of files that are made and the disk they
 * take are bounded for keys and organizations (decision 60).
 */
import type { FileHandle } from 'node:fs/promises';
import { statfs } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { AppError } from '../app-error.ts';
import type { KeyEntry } from '../keys/keyring.ts';
import type { Answer, UnsizedAnswer } from '../render/answer.ts';
import { openNameless } from '../render/spool.ts';
import type { Limits } from './limits.ts';
import { type CountRefusal, Quota, type Share, Tally } from './quota.ts';

/** Up to this size it stays in memory, as what is sent in one piece does. */
const IN_MEMORY_BYTES = 256 * 1024;
/** What one file may take of the disk that is free when it begins. */
const SHARE_OF_FREE_DISK = 1 / 4;
/**
 * Smaller files are made at once, however many others are under way: they take some milliseconds.
 */
const SMALL_FILE_ROWS = 2_048;
const READ_BYTES = 256 * 1024;

export type WrittenAnswer = Answer & AsyncDisposable;

export function isLargeFile({ mostRows }: UnsizedAnswer<unknown>): boolean {
  return mostRows > SMALL_FILE_ROWS;
}

/** The key that asked for a file, and the response it is for. */
export interface Recipient {
  readonly key: KeyEntry;
  readonly response: ServerResponse;
}

export class ParquetFiles {
  readonly making: Quota;
  readonly disk: Quota;
  readonly #limits: Limits;
  readonly #ofKey = new Tally();
  /**
   * By key: those that wait for a file of the same key. Each gets its place, or none when its
   * client has gone.
   */
  readonly #lines = new Map<string, Set<(place: Share | undefined) => void>>();

  constructor(limits: Limits, countRefusal: CountRefusal) {
    this.making = new Quota('parquet-files', limits, countRefusal);
    this.disk = new Quota('parquet-disk', limits, countRefusal);
    this.#limits = limits;
  }

  /**
   * The whole answer, to be disposed of when it has been sent; absent when the client has gone.
   * Throws `no-room`, `too-many-responses`, `server-busy`, and what its source throws: nothing has
   * been sent then.
   */
  async write(answer: UnsizedAnswer<unknown>, to: Recipient): Promise<WrittenAnswer | undefined> {
    if (!isLargeFile(answer)) return await this.#make(answer, to);
    const place = await this.#enter(to);
    if (place === undefined) return undefined;
    try {
      return await this.#make(answer, to);
    } finally {
      this.#leave(to.key, place);
    }
  }

  async #make(answer: UnsizedAnswer<unknown>, to: Recipient): Promise<WrittenAnswer | undefined> {
    const target = new WrittenBytes(this.#limits, (bytes) => this.disk.take(to.key, bytes));
    try {
      for await (const piece of to.response.destroyed ? [] : answer.pieces()) {
        await target.add(piece);
        if (to.response.destroyed) break;
      }
    } catch (error) {
      await target[Symbol.asyncDispose]();
      throw error;
    }
    if (!to.response.destroyed) return target;
    await target[Symbol.asyncDispose]();
    return undefined;
  }

  /**
   * Waits for files of the same key only; when others have taken the places, the request is
   * refused.
   */
  async #enter({ key, response }: Recipient): Promise<Share | undefined> {
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
    response.once('close', goAway);
    const place = await promise;
    response.off('close', goAway);
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

/** A file that is larger has no room, however few others there are. */
function mostFileBytes(limits: Limits): number {
  return Math.min(
    limits['parquet-disk'],
    limits['parquet-disk-per-organization'],
    limits['parquet-disk-per-key'],
  );
}

class WrittenBytes implements Answer, AsyncDisposable {
  readonly next = undefined;
  readonly heldBytes = 2 * READ_BYTES;
  byteLength = 0;
  readonly #held: Uint8Array[] = [];
  readonly #takeDisk: (bytes: number) => Share;
  #mostBytes: number;
  #disk: Share | undefined;
  #file: FileHandle | undefined;

  constructor(limits: Limits, takeDisk: (bytes: number) => Share) {
    this.#mostBytes = mostFileBytes(limits);
    this.#takeDisk = takeDisk;
  }

  async add(piece: Uint8Array): Promise<void> {
    if (this.#file === undefined && this.byteLength + piece.length <= IN_MEMORY_BYTES) {
      this.#held.push(piece);
      this.byteLength += piece.length;
      return;
    }
    await this.#open();
    await this.#write(piece);
    this.byteLength += piece.length;
  }

  /** What was held goes first. */
  async #open(): Promise<void> {
    if (this.#file !== undefined) return;
    const { bavail, bsize } = await statfs(tmpdir());
    this.#mostBytes = Math.min(this.#mostBytes, bavail * bsize * SHARE_OF_FREE_DISK);
    this.#file = await openNameless();
    const held = Buffer.concat(this.#held.splice(0));
    this.byteLength = 0;
    await this.#write(held);
    this.byteLength = held.length;
  }

  async #write(bytes: Uint8Array): Promise<void> {
    if (this.byteLength + bytes.length > this.#mostBytes) throw noRoom();
    if (this.#disk === undefined) this.#disk = this.#takeDisk(bytes.length);
    else this.#disk.add(bytes.length);
    try {
      for (let at = 0; at < bytes.length; ) {
        const { bytesWritten } = await this.#file!.write(bytes, at, bytes.length - at, this.byteLength + at);
        at += bytesWritten;
      }
    } catch (error) {
      const isFull =
        error instanceof Error && 'code' in error && /^(ENOSPC|EDQUOT)$/.test(String(error.code));
      throw isFull ? noRoom(error) : error;
    }
  }

  async *chunks(): AsyncGenerator<Uint8Array, void> {
    if (this.#file === undefined) {
      if (this.byteLength > 0) yield Buffer.concat(this.#held);
      return;
    }
    // Two take turns: the one before may still be on its way.
    const memory = [Buffer.allocUnsafeSlow(READ_BYTES), Buffer.allocUnsafeSlow(READ_BYTES)] as const;
    for (let at = 0, turn = 0; at < this.byteLength; turn ^= 1) {
      const { bytesRead } = await this.#file.read(memory[turn & 1]!, 0, READ_BYTES, at);
      if (bytesRead === 0) throw new Error('The file of an answer has become shorter.');
      at += bytesRead;
      yield memory[turn & 1]!.subarray(0, bytesRead);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file?.close();
    this.#disk?.giveBack();
    this.#disk = undefined;
  }
}

function noRoom(cause?: unknown): AppError {
  return new AppError(
    'no-room',
    'There is no room for an answer of this size. Ask for a shorter range or for pages with "limit", or for csv or ndjson, which need none.',
    { cause },
  );
}
