/** One connection of an attacker: sends a request and takes the response whole, slowly, or not at all. A refusal ends it. */
import { connect, type Socket } from 'node:net';

/** `unread`: nothing after the first bytes. `slow`: a kilobyte a second. */
export type Manner = 'read' | 'unread' | 'slow';

const SLOW_BYTES = 1_024;
const SLOW_EVERY_MS = 1_000;
const UNREAD_BYTES = 4_096;
const STATUS = /^HTTP\/1\.1 (\d{3})/;

/** What all connections of an attack have seen. */
export class Tally {
  /** Responses by status; connections that ended without one as `closed`. */
  readonly statuses = new Map<string, number>();
  bytes = 0;
  /** Milliseconds since the epoch. */
  lastByteMs = 0;
  lastEndMs = 0;

  count(status: string): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }
}

/** Taken over by every read: nobody looks at the bytes again. */
const SHARED = Buffer.allocUnsafe(256 * 1024);

function bufferFor(manner: Manner): Buffer {
  return manner === 'read' ? SHARED : Buffer.allocUnsafe(manner === 'slow' ? SLOW_BYTES : UNREAD_BYTES);
}

export interface HostileRequest {
  readonly port: number;
  /** As it goes over the wire. */
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

  /** From here on everything that comes is read. */
  readAll(): void {
    this.#manner = 'read';
    clearTimeout(this.#timer);
    this.#socket.resume();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Whether to go on reading. */
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
