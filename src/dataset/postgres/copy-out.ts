/**
 * The bytes that a COPY sends, as a statement for the driver `pg`. PostgreSQL sends every row as a message of its own;
 * here the rows that arrive together are one chunk, so that what follows is done once for a thousand rows.
 */
import type { Connection, Submittable } from 'pg';

/** Bytes of a chunk, unless a row is longer: about what a read from the socket brings. */
const CHUNK_BYTES = 64 * 1024;
/** When so many bytes wait, the connection is not read, and PostgreSQL waits in its turn. */
const MOST_WAITING_BYTES = 4 * CHUNK_BYTES;

interface Message {
  readonly chunk: Buffer;
}

/** To be handed to `query` and read once, to its end. Whoever stops before that leaves the rest to be thrown away. */
export class CopyOut implements Submittable {
  readonly #sql: string;
  #connection: Connection | undefined;
  readonly #chunks: Buffer[] = [];
  #last = Buffer.allocUnsafe(CHUNK_BYTES);
  #length = 0;
  #waiting = 0;
  #state: 'under way' | 'ended' | 'given up' = 'under way';
  #failure: unknown;
  #wake: (() => void) | undefined;

  /** Statements without parameters, of which one is a COPY TO STDOUT. */
  constructor(sql: string) {
    this.#sql = sql;
  }

  /** Whole rows, or more than one. Throws what the database refuses, and when the connection breaks. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        for (let chunk = this.#next(); chunk !== undefined; chunk = this.#next()) yield chunk;
        if (this.#failure !== undefined) throw this.#failure;
        if (this.#state === 'ended') return;
        this.#connection?.stream.resume();
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      if (this.#state === 'under way') this.#state = 'given up';
      this.#connection?.stream.resume();
    }
  }

  // What follows is called by the driver.

  submit(connection: Connection): void {
    this.#connection = connection;
    connection.query(this.#sql);
  }

  handleCopyData({ chunk }: Message): void {
    if (this.#state === 'given up') return;
    if (this.#length + chunk.length > this.#last.length) this.#close(chunk.length);
    // The driver uses its memory again.
    chunk.copy(this.#last, this.#length);
    this.#length += chunk.length;
    this.#waiting += chunk.length;
    if (this.#waiting >= MOST_WAITING_BYTES) this.#connection?.stream.pause();
    this.#tell();
  }

  handleError(error: unknown): void {
    this.#failure = error;
    this.#end();
  }

  handleReadyForQuery(): void {
    this.#end();
  }

  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyInResponse(): void {}

  #end(): void {
    this.#state = 'ended';
    this.#tell();
  }

  #tell(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  #next(): Buffer | undefined {
    if (this.#chunks.length === 0 && this.#length > 0) this.#close(0);
    const chunk = this.#chunks.shift();
    this.#waiting -= chunk?.length ?? 0;
    return chunk;
  }

  /** Ends the last chunk; the next one has room for so many bytes at least. */
  #close(bytes: number): void {
    if (this.#length > 0) this.#chunks.push(this.#last.subarray(0, this.#length));
    this.#last = Buffer.allocUnsafe(Math.max(CHUNK_BYTES, bytes));
    this.#length = 0;
  }
}
