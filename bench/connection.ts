/**
 * A keep-alive HTTP/1.1 connection that counts the bytes of a response instead of keeping them, so
 * that the client does not limit the measurement. Accepts only responses with `Content-Length`.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const RECEIVE_BYTES = 256 * 1024;
const LONGEST_HEAD_BYTES = 16 * 1024;
const HEAD_END = Buffer.from('\r\n\r\n');

export interface Reply {
  readonly status: number;
  readonly bodyBytes: number;
  /** From the request to the first and to the last byte of the response, in milliseconds. */
  readonly firstByteMs: number;
  readonly lastByteMs: number;
}

interface Waiting {
  readonly sentMs: number;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

export class Connection {
  readonly #socket: Socket;
  #waiting: Waiting | undefined;
  /** The received part of the head; undefined while the body arrives. */
  #head: Buffer | undefined = Buffer.alloc(0);
  #status = 0;
  #bodyBytes = 0;
  #missingBytes = 0;
  #firstByteMs = 0;

  private constructor(port: number) {
    this.#socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(RECEIVE_BYTES),
        callback: (count, buffer) => {
          this.#receive(Buffer.from(buffer.buffer, buffer.byteOffset, count));
          return true;
        },
      },
    });
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () =>
      this.#fail(new Error('The connection was closed before the answer ended.')),
    );
  }

  static async open(port: number): Promise<Connection> {
    const connection = new Connection(port);
    await once(connection.#socket, 'connect');
    return connection;
  }

  /** One request at a time. Rejects if the connection ends or the response cannot be parsed. */
  request(head: string): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#waiting = { sentMs: performance.now(), resolve, reject };
      this.#socket.write(head);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(part: Buffer): void {
    if (this.#head === undefined) {
      this.#receiveBody(part.length);
      return;
    }
    if (this.#head.length === 0) this.#firstByteMs = performance.now();
    const head = this.#head.length === 0 ? part : Buffer.concat([this.#head, part]);
    const end = head.indexOf(HEAD_END);
    if (end < 0) {
      if (head.length > LONGEST_HEAD_BYTES) this.#fail(new Error('The head of the answer is too long.'));
      // Copied, because the next read overwrites the buffer.
      this.#head = Buffer.from(head);
      return;
    }
    this.#head = undefined;
    this.#readHead(head.toString('latin1', 0, end));
    this.#receiveBody(head.length - end - HEAD_END.length);
  }

  #readHead(text: string): void {
    this.#status = Number(text.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
    if (length === undefined && this.#status !== 304) {
      this.#fail(new Error(`The answer with status ${this.#status} has no Content-Length.`));
    }
    this.#bodyBytes = this.#status === 304 ? 0 : Number(length);
    this.#missingBytes = this.#bodyBytes;
  }

  #receiveBody(count: number): void {
    this.#missingBytes -= count;
    if (this.#missingBytes > 0) return;
    if (this.#missingBytes < 0) {
      this.#fail(new Error('More bytes came than were announced.'));
      return;
    }
    const waiting = this.#waiting;
    this.#waiting = undefined;
    this.#head = Buffer.alloc(0);
    waiting?.resolve({
      status: this.#status,
      bodyBytes: this.#bodyBytes,
      firstByteMs: this.#firstByteMs - waiting.sentMs,
      lastByteMs: performance.now() - waiting.sentMs,
    });
  }

  #fail(error: Error): void {
    this.#waiting?.reject(error);
    this.#waiting = undefined;
    this.#socket.destroy();
  }
}
