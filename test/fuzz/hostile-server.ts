/**
 * A server on its own socket that replies to a pull according to its tricks, and otherwise from the
 * recording. Every reply is bounded: an "endless" reply ends after more bytes than any client
 * should accept.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { honestReply, type Manner, type PlainReply, type Recording } from './honest-server.ts';
import type { Deed, Route, Trick } from './hostile-replies.ts';

const ENDLESS_BYTES = 96e6;
const WRITE_BYTES = 64 * 1024;
const SLOW_BYTES = 40;
const SLOW_MS = 10;

export class HostileServer implements AsyncDisposable {
  /** The number of requests of this pull. */
  requests = 0;
  readonly #recording: Recording;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #asked = new Map<Route, number>();
  #manner: Manner = 'original';
  #tricks: readonly Trick[] = [];
  /**
   * After this many requests every path is "not found", so that a pull that would not end does end.
   */
  #mostRequests = 0;

  private constructor(recording: Recording) {
    this.#recording = recording;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async open(recording: Recording): Promise<HostileServer> {
    const server = new HostileServer(recording);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  begin(manner: Manner, tricks: readonly Trick[], mostRequests: number): void {
    this.requests = 0;
    this.#asked.clear();
    this.#manner = manner;
    this.#tricks = tricks;
    this.#mostRequests = mostRequests;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** Serves one request per connection. */
  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket)).on('error', () => socket.destroy());
    let head = '';
    socket.setEncoding('latin1').on('data', (part: string) => {
      head += part;
      if (!head.includes('\r\n\r\n')) return;
      socket.removeAllListeners('data').resume();
      this.#answer(socket, head.split(' ', 2)[1] ?? '/').catch(() => socket.destroy());
      head = '';
    });
  }

  async #answer(socket: Socket, target: string): Promise<void> {
    this.requests += 1;
    const url = new URL(target, this.url);
    const deed = this.requests > this.#mostRequests ? NOT_FOUND : this.#deedFor(url);
    const honest =
      this.#isHostile && url.pathname.endsWith('/points')
        ? this.#anyPoints()
        : honestReply(this.#recording, this.#manner, url);
    if (deed === undefined) send(socket, honest);
    else await perform(socket, deed, honest);
  }

  get #isHostile(): boolean {
    return this.#tricks.length > 0;
  }

  /**
   * The points of any requested board: a path made from a hostile identifier must not end with a
   * refusal.
   */
  #anyPoints(): PlainReply {
    const path = [...this.#recording.bodies.keys()].find((one) => one.endsWith('/points')) ?? '';
    return { status: 200, headers: {}, body: this.#recording.bodies.get(path) ?? '{}' };
  }

  #deedFor({ pathname }: URL): Deed | undefined {
    const route = /\/(users|boards|events|points)$/.exec(pathname)?.[1] as Route | undefined;
    if (route === undefined) return undefined;
    const nth = this.#asked.get(route) ?? 0;
    this.#asked.set(route, nth + 1);
    return this.#tricks.find((trick) => (trick.route ?? route) === route && (trick.nth ?? nth) === nth)?.does;
  }
}

const NOT_FOUND: Deed = { kind: 'reply', status: 404, headers: {}, body: '' };

async function perform(socket: Socket, deed: Deed, honest: PlainReply): Promise<void> {
  switch (deed.kind) {
    case 'reply': {
      const body = deed.body === undefined ? honest.body : Buffer.from(deed.body, 'base64');
      return send(socket, { status: deed.status, headers: { ...honest.headers, ...deed.headers }, body });
    }
    case 'length':
      return send(socket, honest, deed.value);
    case 'cut': {
      const body = Buffer.from(honest.body);
      return send(socket, { ...honest, body: body.subarray(0, body.length * deed.share) }, `${body.length}`);
    }
    case 'unsized':
      return void socket.end(
        Buffer.from(headOf(honest.status, honest.headers) + repeated(honest.body, deed.times)),
      );
    case 'bytes':
      return void socket.end(Buffer.from(deed.bytes, 'base64'));
    case 'endless':
      return await sendEndless(socket, deed);
    case 'slow':
      return await sendSlowly(socket, honest);
  }
}

const MOST_REPEATED_BYTES = 30e6;

/** Repeats the elements of an array, or the lines of a page. */
function repeated(body: string, times: number): string {
  const isArray = body.startsWith('[') && body.length > 2;
  const part = isArray ? `${body.slice(1, -1)},` : body;
  const whole = part.repeat(Math.min(times, Math.ceil(MOST_REPEATED_BYTES / Math.max(1, part.length))));
  return isArray ? `[${whole.slice(0, -1)}]` : whole;
}

interface SentReply extends Omit<PlainReply, 'body'> {
  readonly body: string | Uint8Array;
}

function send(
  socket: Socket,
  { status, headers, body }: SentReply,
  length = `${Buffer.byteLength(body)}`,
): void {
  socket.write(headOf(status, { 'content-length': length, ...headers }), 'latin1');
  socket.end(body);
}

function headOf(status: number, headers: Readonly<Record<string, string>>): string {
  const fields = Object.entries({ connection: 'close', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `HTTP/1.1 ${status} Reply\r\n${fields.join('')}\r\n`;
}

async function sendEndless(
  socket: Socket,
  { beginning, again }: Extract<Deed, { kind: 'endless' }>,
): Promise<void> {
  socket.write(headOf(200, {}));
  socket.write(beginning);
  const piece = again.repeat(Math.ceil(WRITE_BYTES / again.length));
  for (let sent = 0; sent < ENDLESS_BYTES && !socket.destroyed; sent += piece.length) {
    if (!socket.write(piece)) await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
  }
  socket.end();
}

async function sendSlowly(socket: Socket, { status, headers, body }: PlainReply): Promise<void> {
  const length = Buffer.byteLength(body);
  socket.write(headOf(status, { 'content-length': `${length}`, ...headers }), 'latin1');
  for (let at = 0; at < SLOW_BYTES && !socket.destroyed; at++) {
    socket.write(body.slice(at, at + 1));
    await pause(SLOW_MS);
  }
  // No more bytes follow, as if the connection were lost.
  socket.destroy();
}
