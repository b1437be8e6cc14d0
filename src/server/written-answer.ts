/**
 * Answers whose size is known only when all of them is made (Parquet, decision 17): a small one is written into memory,
 * a larger one into a file without a name, so that nothing is left of it whatever ends the process or the connection.
 */
import type { FileHandle } from 'node:fs/promises';
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { AppError } from '../app-error.ts';
import type { Answer, UnsizedAnswer } from '../render/answer.ts';
import { openNameless } from '../render/spool.ts';

/** Up to this size it stays in memory, as what is sent in one piece does. */
const IN_MEMORY_BYTES = 256 * 1024;
/** What one file may take of the disk that is free when it begins. */
const SHARE_OF_FREE_DISK = 1 / 4;
/** At the same time in this process; the others wait. Each holds the columns of some ten thousand rows. */
const MOST_UNDER_WAY = 2;
const READ_BYTES = 256 * 1024;

export type WrittenAnswer = Answer & AsyncDisposable;

let underWay = 0;
const waiting: (() => void)[] = [];

/**
 * The whole answer, to be disposed of when it has been sent; absent when nobody wants it any more. Throws `no-room`,
 * and whatever its source throws: nothing of it has been sent then.
 */
export async function writeAnswer(
  answer: UnsizedAnswer<unknown>,
  isWanted: () => boolean,
): Promise<WrittenAnswer | undefined> {
  // Woken by the one that ends, which leaves its place to it.
  if (underWay === MOST_UNDER_WAY) await new Promise<void>((resolve) => waiting.push(resolve));
  else underWay += 1;
  const target = new WrittenBytes();
  try {
    for await (const piece of isWanted() ? answer.pieces() : []) {
      await target.add(piece);
      if (!isWanted()) break;
    }
    if (isWanted()) return target;
    await target[Symbol.asyncDispose]();
    return undefined;
  } catch (error) {
    await target[Symbol.asyncDispose]();
    throw error;
  } finally {
    const next = waiting.shift();
    if (next === undefined) underWay -= 1;
    else next();
  }
}

class WrittenBytes implements Answer, AsyncDisposable {
  readonly next = undefined;
  byteLength = 0;
  readonly #held: Uint8Array[] = [];
  #file: FileHandle | undefined;
  #mostBytes = 0;

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
    this.#mostBytes = bavail * bsize * SHARE_OF_FREE_DISK;
    this.#file = await openNameless();
    const held = Buffer.concat(this.#held.splice(0));
    this.byteLength = 0;
    await this.#write(held);
    this.byteLength = held.length;
  }

  async #write(bytes: Uint8Array): Promise<void> {
    if (this.byteLength + bytes.length > this.#mostBytes) throw noRoom();
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
  }
}

function noRoom(cause?: unknown): AppError {
  return new AppError(
    'no-room',
    'There is no room for an answer of this size. Ask for a shorter range or for pages with "limit", or for csv or ndjson, which need none.',
    { cause },
  );
}
