/**
 * A large response body: bytes in an unlinked file that grows while it is written, so that all
 * readers follow the first one. It is made once for all concurrent requests. A complete body is
 * never truncated: a reader gets all of its bytes or an error.
 */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Opens a file that is deleted with its last handle, so that a killed process leaves no file
 * behind.
 */
export async function openNameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `corkboard-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await rm(path);
  return file;
}

/** Bytes per read. A few of these stay in the cache of a core until they are sent. */
const READ_BYTES = 512 * 1024;
/**
 * Chunks that are read before they are sent; one more is being sent. One less than libuv has
 * threads, so that a slow disk leaves one to other work.
 */
const READS_AHEAD = 3;
/** The writer waits when it is further than this ahead of the fastest reader. */
const AHEAD_BYTES = 4 * 1024 * 1024;
/** Memory of a reader of a complete body, including the bytes in its socket. */
const READER_BYTES = (READS_AHEAD + 1) * READ_BYTES + 1024 * 1024;
/** A body that must be complete before it is sent stays in memory up to this size. */
const IN_MEMORY_BYTES = 256 * 1024;

export interface Making {
  /**
   * Generates the bytes from the start, the same bytes at each call. A chunk may be overwritten
   * once the second chunk after it is requested. Called again for single readers when the disk
   * fails.
   */
  make(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  /** Cursor of the next page; absent when there is none. */
  readonly next: string | undefined;
  /** Number of events, records or changes; absent if unknown. */
  readonly rows?: number | undefined;
  /** Approximate memory while it is made. */
  readonly heldBytes: number;
  /** Absent while unknown. */
  readonly byteLength?: number | undefined;
  /**
   * Present when the body must be complete before its first byte is sent. Readers then call
   * `whole`, and the disk space is charged to this account as long as there are readers. `take`
   * throws the refusal.
   */
  readonly account?: { take(bytes: number): void; giveBack(): void } | undefined;
}

/** The place of a body in the cache. */
export interface CachePlace {
  /** Reserves more bytes. False, and nothing is reserved, when there is no room. */
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
  /** Reports that `bytes` were written in `ms` milliseconds. */
  wrote(bytes: number, ms: number): void;
  /** Removes the body from the cache; it is no longer found. */
  leave(): void;
}

/** A hold on a body. Must be disposed of before the data that the body is made from is released. */
export interface Reader extends AsyncDisposable {
  /** Bytes read so far. */
  position: number;
  /**
   * Resolves when all bytes are available; to false if the signal is aborted first. Throws the
   * error of `make`.
   */
  whole(signal: AbortSignal): Promise<boolean>;
  /**
   * Yields the bytes from `from` on; must be called once. A chunk may be overwritten once the
   * second chunk after it is requested. Throws when the source fails. Ends early when `gone` is
   * aborted while it waits for bytes.
   */
  read(from?: number, gone?: AbortSignal): AsyncGenerator<Uint8Array, void>;
}

type State = 'growing' | 'complete' | 'failed' | 'given-up' | 'abandoned';

export class Body {
  readonly next: string | undefined;
  readonly rows: number | undefined;
  readonly isWhole: boolean;
  readonly #readers = new Set<Reader>();
  readonly #heldBytes: number;
  #account: Making['account'];
  /** Absent when the body is complete, so that the data it was made from can be released. */
  #make: Making['make'] | undefined;
  readonly #place: CachePlace | undefined;
  #state: State = 'growing';
  #error: unknown;
  #byteLength: number | undefined;
  #held: Uint8Array[] = [];
  #file: FileHandle | undefined;
  #filling: Promise<void> | undefined;
  /**
   * The chunk that could not be written, its position, and the source of all that follow; for the
   * first reader that gets there.
   */
  #rest:
    | { readonly at: number; readonly chunk: Uint8Array; readonly source: AsyncIterator<Uint8Array> }
    | undefined;
  #writtenBytes = 0;
  #takenBytes = 0;
  #isReleased: boolean;
  /** Resolves with the next change of any state of the body. */
  #changed = Promise.withResolvers<void>();

  constructor({ make, next, rows, heldBytes, byteLength, account }: Making, place: CachePlace | undefined) {
    this.next = next;
    this.rows = rows;
    this.isWhole = account !== undefined;
    this.#make = make;
    this.#heldBytes = heldBytes;
    this.#byteLength = byteLength;
    this.#account = account;
    this.#place = place;
    this.#isReleased = place === undefined;
    if (place !== undefined) this.#takenBytes = byteLength ?? 0;
  }

  get isComplete(): boolean {
    return this.#state === 'complete';
  }

  /** Whether it has no readers. */
  get isIdle(): boolean {
    return this.#readers.size === 0;
  }

  /** Absent while unknown. */
  get byteLength(): number | undefined {
    return this.#byteLength;
  }

  /** All bytes of a complete body in memory; absent for other bodies. */
  get bytes(): Buffer | undefined {
    return this.isComplete && this.#file === undefined ? Buffer.concat(this.#held) : undefined;
  }

  /**
   * Approximate memory for one more reader. While the body grows, this is the memory of making it,
   * because that reader may be the one for whom it is made.
   */
  get heldBytes(): number {
    return this.isComplete ? READER_BYTES : this.#heldBytes;
  }

  /** Must be called in the same turn in which the body was found or begun. */
  join(): Reader {
    const reader: Reader = {
      position: 0,
      whole: (signal) => this.#waitForAll(signal),
      read: (from = 0, gone) => {
        reader.position = from;
        return this.#read(reader, gone);
      },
      [Symbol.asyncDispose]: () => this.#leave(reader),
    };
    this.#readers.add(reader);
    this.#filling ??= this.#fill(this.#make!);
    return reader;
  }

  /** Must be called when the cache has dropped the body: it is deleted with its last reader. */
  release(): void {
    this.#isReleased = true;
    if (this.isIdle) this.#drop();
  }

  #drop(): void {
    this.#place?.giveBack(this.#takenBytes);
    this.#takenBytes = 0;
    this.#file?.close().catch(() => undefined);
    this.#file = undefined;
  }

  /** After this call the body is not kept, and no longer found. */
  #leaveCache(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#place?.leave();
  }

  #notify(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve();
  }

  async #leave(reader: Reader): Promise<void> {
    if (!this.#readers.delete(reader)) return;
    if (this.isIdle && this.#state === 'growing') this.#end('abandoned');
    this.#notify();
    if (!this.isIdle) return;
    // The data that the body is made from must not be released before the making has ended.
    await this.#filling;
    const rest = this.#rest;
    this.#rest = undefined;
    await rest?.source.return?.();
    if (!this.isIdle) return;
    this.#account?.giveBack();
    this.#account = undefined;
    if (this.#isReleased) this.#drop();
  }

  #end(state: State): void {
    if (this.#state !== 'growing') return;
    this.#state = state;
    if (state === 'complete') {
      this.#byteLength = this.#writtenBytes;
      this.#make = undefined;
    }
    if (state !== 'complete' || this.#file === undefined) this.#leaveCache();
  }

  async #fill(make: Making['make']): Promise<void> {
    const source = iterate(make());
    try {
      while (!this.isIdle) {
        const { done, value } = await source.next();
        if (done === true) {
          this.#end('complete');
          break;
        }
        if (this.isIdle) break;
        if (!(await this.#write(value))) {
          this.#rest = { at: this.#writtenBytes, chunk: value, source };
          this.#end('given-up');
          return;
        }
        this.#notify();
        while (!this.isWhole && this.#aheadBytes() > AHEAD_BYTES) await this.#changed.promise;
      }
    } catch (error) {
      this.#error = error;
      this.#end('failed');
    } finally {
      this.#notify();
      if (this.#rest === undefined) await source.return?.();
    }
  }

  /**
   * Bytes between the writer and the fastest reader. 0 without readers, so that the writer
   * continues and notices their absence.
   */
  #aheadBytes(): number {
    let least = this.isIdle ? 0 : Number.POSITIVE_INFINITY;
    for (const { position } of this.#readers) least = Math.min(least, this.#writtenBytes - position);
    return least;
  }

  /**
   * Returns false when the cache has no room or the disk fails. A body that must be complete is
   * also written without room in the cache; it throws when the disk fails.
   */
  async #write(chunk: Uint8Array): Promise<boolean> {
    if (this.isWhole && this.#file === undefined && this.#writtenBytes + chunk.length <= IN_MEMORY_BYTES) {
      this.#held.push(Buffer.from(chunk));
      this.#writtenBytes += chunk.length;
      return true;
    }
    const position = this.#file === undefined ? 0 : this.#writtenBytes;
    const bytes = this.#file === undefined && this.isWhole ? Buffer.concat([...this.#held, chunk]) : chunk;
    this.#account?.take(bytes.length);
    if (!this.#takeRoom(position + bytes.length) && !this.isWhole) return false;
    try {
      this.#file ??= await openNameless();
      await this.#writeAt(this.#file, bytes, position);
    } catch (error) {
      if (this.isWhole) throw error;
      return false;
    }
    this.#held = [];
    this.#writtenBytes = position + bytes.length;
    return true;
  }

  async #writeAt(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
    const startMs = performance.now();
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await file.write(bytes, at, bytes.length - at, position + at);
      at += bytesWritten;
    }
    this.#place?.wrote(bytes.length, performance.now() - startMs);
  }

  /** Reserves room in the cache for `totalBytes` in total. Without room the body is not kept. */
  #takeRoom(totalBytes: number): boolean {
    const more = Math.max(0, totalBytes - this.#takenBytes);
    if (this.#isReleased || this.#place?.take(more) !== true) {
      this.#leaveCache();
      return false;
    }
    this.#takenBytes += more;
    return true;
  }

  async #waitForAll(signal: AbortSignal): Promise<boolean> {
    const left = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    while (this.#state === 'growing' && !signal.aborted) {
      await Promise.race([this.#changed.promise, left]);
    }
    if (this.#state === 'failed') throw this.#error;
    return !signal.aborted;
  }

  async *#read(reader: Reader, gone: AbortSignal | undefined): AsyncGenerator<Uint8Array, void> {
    const written = new FileReader(reader.position);
    while (gone?.aborted !== true) {
      // Checked in the same turn as the state, so that no bytes are written in between.
      const reading = this.#file && written.next(this.#file, this.#writtenBytes);
      if (reading !== undefined) {
        const chunk = await reading;
        reader.position += chunk.length;
        this.#notify();
        yield chunk;
      } else if (this.#state === 'growing') {
        await this.#changed.promise;
      } else if (this.#state === 'complete') {
        const held = Buffer.concat(this.#held).subarray(reader.position);
        if (held.length > 0) yield held;
        return;
      } else if (this.#state === 'failed') {
        throw this.#error;
      } else {
        yield* this.#readOn(reader, gone);
        return;
      }
    }
  }

  /** Yields the bytes after those on disk: a failing disk costs time, not the response. */
  async *#readOn({ position }: Reader, gone: AbortSignal | undefined): AsyncGenerator<Uint8Array, void> {
    const rest = this.#rest;
    if (rest === undefined) {
      yield* bytesFrom(this.#make!(), position, gone);
      return;
    }
    this.#rest = undefined;
    const { at, chunk, source } = rest;
    const all = async function* (): AsyncGenerator<Uint8Array, void> {
      yield chunk;
      yield* { [Symbol.asyncIterator]: () => source };
    };
    try {
      // A reader of a later part may get here first.
      yield* bytesFrom(all(), position - at, gone);
    } finally {
      await source.return?.();
    }
  }
}

/**
 * The bytes after the first `skipped` ones. Ends early when `gone` is aborted, because nothing is
 * written meanwhile that would notice it.
 */
export async function* bytesFrom(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  skipped: number,
  gone?: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  let left = skipped;
  for await (const chunk of chunks) {
    if (gone?.aborted) return;
    if (chunk.length > left) yield chunk.subarray(left);
    left = Math.max(0, left - chunk.length);
  }
}

/** Reads a growing file ahead of its consumer. */
class FileReader {
  readonly #memory: Buffer[] = [];
  readonly #ahead: Promise<Buffer>[] = [];
  #position: number;
  #turn = 0;

  constructor(position: number) {
    this.#position = position;
  }

  /**
   * The next bytes up to `end`; absent when there are none. They may be overwritten once the second
   * chunk after them is requested.
   */
  next(file: FileHandle, end: number): Promise<Buffer> | undefined {
    while (this.#ahead.length < READS_AHEAD && this.#position < end) {
      const memory = this.#memory[this.#turn] ?? Buffer.allocUnsafeSlow(READ_BYTES);
      this.#memory[this.#turn] = memory;
      this.#turn = (this.#turn + 1) % (READS_AHEAD + 1);
      const chunk = memory.subarray(0, Math.min(READ_BYTES, end - this.#position));
      const reading = readWhole(file, chunk, this.#position);
      // Awaited later, or never if the client disconnects.
      reading.catch(() => undefined);
      this.#ahead.push(reading);
      this.#position += chunk.length;
    }
    return this.#ahead.shift();
  }
}

async function readWhole(file: FileHandle, into: Buffer, position: number): Promise<Buffer> {
  for (let at = 0; at < into.length; ) {
    const { bytesRead } = await file.read(into, at, into.length - at, position + at);
    if (bytesRead === 0) throw new Error('The file of a response has become shorter.');
    at += bytesRead;
  }
  return into;
}

function iterate(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncIterator<Uint8Array> {
  if (Symbol.asyncIterator in source) return source[Symbol.asyncIterator]();
  return iterateAsync(source);
}

async function* iterateAsync(source: Iterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  yield* source;
}
