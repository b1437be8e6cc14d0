/**
 * One connection of an attacker: it sends a request and reads the response fully, slowly, or not at
 * all. A refusal ends it.
 */
import { connect, type Socket } from 'node:net';

/** `unread`: reads nothing after the first bytes. `slow`: reads one kilobyte per second. */
export type Manner = 'read' | 'unread' | 'slow';

const SLOW_BYTES = 1_024;
const SLOW_EVERY_MS = 1_000;
const UNREAD_BYTES = 4_096;
const STATUS = /^HTTP\/1\.1 (\d{3})/;

/** Counts of all connections of an attack. */
export class Tally {
  /** Responses by status; `closed` counts connections that ended without a response. */
  readonly statuses = new Map<string, number>();
  bytes = 0;
  /** Milliseconds since the epoch. */
  lastByteMs = 0;
  lastEndMs = 0;

  count(status: string): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }
}

/** One buffer for all connections: every read overwrites it, and the bytes are not used. */
const SHARED = Buffer.allocUnsafe(256 * 1024);

function bufferFor(manner: Manner): Buffer {
  return manner === 'read' ? SHARED : Buffer.allocUnsafe(manner === 'slow' ? SLOW_BYTES : UNREAD_BYTES);
}

export interface HostileRequest {
  readonly port: number;
  /** The request as sent. */
  readonly text: string;
  readonly manner: Manner;
  readonly tally: Tally;
  readonly onHead?: (() => void) | undefined;
  readonly onEnd?: (() => void) | undefined;
}

export class HostileConnection {
  readonly #socket: Socket;
  readonly #tally: Tally;
  readonly #onHead: (() => void) | undefined;
  #manner: Manner;
  #status: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor({ port, text, manner, tally, onHead, onEnd }: HostileRequest) {
    this.#tally = tally;
    this.#manner = manner;
    this.#onHead = onHead;
    this.#socket = connect({
      ...{ port, host: '127.0.0.1' },
      onread: { buffer: bufferFor(manner), callback: (count, bytes) => this.#receive(count, bytes) },
    });
    this.#socket.on('error', () => {});
    this.#socket.once('close', () => {
      clearTimeout(this.#timer);
      if (this.#status === undefined) tally.count('closed');
      tally.lastEndMs = Date.now();
      onEnd?.();
    });
    this.#socket.write(text);
  }

  /** From now on, reads everything at full speed. */
  readAll(): void {
    this.#manner = 'read';
    clearTimeout(this.#timer);
    this.#socket.resume();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Returns whether to continue reading. */
  #receive(count: number, bytes: Uint8Array): boolean {
    this.#tally.bytes += count;
    this.#tally.lastByteMs = Date.now();
    if (this.#status === undefined) {
      const head = Buffer.from(bytes.buffer, bytes.byteOffset, count).toString('latin1', 0, 12);
      this.#status = STATUS.exec(head)?.[1] ?? 'closed';
      this.#tally.count(this.#status);
      this.#onHead?.();
      if (this.#status !== '200') this.#socket.destroy();
    }
    if (this.#manner === 'slow') this.#timer = setTimeout(() => this.#socket.resume(), SLOW_EVERY_MS);
    return this.#manner === 'read';
  }
}
