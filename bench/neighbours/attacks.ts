/** What a neighbour with one key, or with none, can do: each attack is a number of connections and how they behave. */
import { setTimeout as pause } from 'node:timers/promises';
import { Connection } from '../connection.ts';
import { HostileConnection, type HostileRequest, type Manner, type Tally } from './hostile-connection.ts';

export const ATTACK_NAMES = [
  'unread exports',
  'Parquet',
  'insights',
  'live streams',
  'connections without a key',
  'slow readers',
  'replaced versions',
] as const;
export type AttackName = (typeof ATTACK_NAMES)[number];

/** What an attack is made of. */
export interface Field {
  readonly port: number;
  readonly key: string;
  /** Of its numbers of connections. */
  readonly share: number;
  /** When the events of the attacker begin and end, and a board with events, to ask for. */
  readonly startMs: number;
  readonly endMs: number;
  readonly board: number;
  /** Of responses to the key. */
  readonly tally: Tally;
  /** Of connections without one. */
  readonly keyless: Tally;
}

const EVENTS = '/a/v1/events';
const EXPORTS = 500;
const PARQUETS = 40;
const INSIGHT_LOOPS = 8;
const STREAMS = 3_000;
const IDLE = 3_000;
const HALF_HEADS = 1_000;
const SLOW_READERS = 200;
const HELD_MS = 3_000;
/** Before another request after a response or a refusal: floods of cheap requests are another attack. */
const AGAIN_MS = 500;
/**
 * All attacks together open 1,000 connections a second, again after one has ended, too. Opening them
 * faster than a server accepts them is a different attack, which a proxy has to stop (SECURITY.md): all
 * clients wait in one queue of the system.
 */
const HANDFUL = 10;
const HANDFUL_EVERY_MS = 10;

type Wishes = Partial<Pick<HostileRequest, 'onHead' | 'onEnd'>> & { readonly fields?: readonly string[] };

export class Attack {
  readonly #field: Field;
  readonly #connections = new Set<HostileConnection>();
  readonly #keyless = new Set<HostileConnection>();
  /** Responses that are read in loops. */
  #loops = 0;
  #ends = false;
  #ranges = 0;
  /** What is to be opened, by attack; they take turns. */
  readonly #lines = new Map<string, (() => void)[]>();
  readonly #opening: NodeJS.Timeout;

  constructor(field: Field) {
    this.#field = field;
    this.#opening = setInterval(() => this.#openHandful(), HANDFUL_EVERY_MS);
  }

  /** Responses to the key that are under way. */
  get open(): number {
    return this.#connections.size + this.#loops;
  }

  begin(name: AttackName): void {
    const beginnings: Readonly<Record<AttackName, () => void>> = {
      'unread exports': () => this.#openMany(name, EXPORTS, () => this.#open('unread', EVENTS)),
      Parquet: () => this.#openMany(name, PARQUETS, () => this.#holdAgain()),
      insights: () => this.#openMany(name, INSIGHT_LOOPS, (at) => void this.#askInLoop(at)),
      'live streams': () => this.#openMany(name, STREAMS, () => this.#openStream()),
      'connections without a key': () => {
        this.#openMany('idle', IDLE, () => this.#openKeyless('GET /livez HTTP/1.1\r\nhost: x\r\n\r\n'));
        this.#openMany('half a head', HALF_HEADS, () =>
          this.#openKeyless('GET /livez HTTP/1.1\r\nhost: x\r\nx: '),
        );
      },
      'slow readers': () => this.#openMany(name, SLOW_READERS, () => this.#readSlowly()),
      'replaced versions': () => this.pin(),
    };
    beginnings[name]();
  }

  /** One more export that holds the version in force. */
  pin(): void {
    this.#open('slow', `${EVENTS}?${this.#range()}`);
  }

  /** Nothing is asked for any more; what is under way is read as fast as it comes. */
  drain(): void {
    this.#stopOpening();
    for (const connection of this.#keyless) connection.destroy();
    for (const connection of this.#connections) connection.readAll();
  }

  end(): void {
    this.#stopOpening();
    for (const connection of [...this.#keyless, ...this.#connections]) connection.destroy();
  }

  #openMany(name: string, whole: number, open: (at: number) => void): void {
    const count = Math.ceil(whole * this.#field.share);
    for (let at = 0; at < count; at++) this.#queue(name, () => open(at));
  }

  #queue(name: string, open: () => void): void {
    const line = this.#lines.get(name);
    if (line === undefined) this.#lines.set(name, [open]);
    else line.push(open);
  }

  #openHandful(): void {
    for (let nth = 0; nth < HANDFUL; nth++) {
      const [first] = this.#lines;
      if (first === undefined) return;
      const [name, line] = first;
      line.shift()?.();
      this.#lines.delete(name);
      if (line.length > 0) this.#lines.set(name, line);
    }
  }

  #stopOpening(): void {
    this.#ends = true;
    clearInterval(this.#opening);
  }

  #open(manner: Manner, path: string, { onHead, onEnd, fields = [] }: Wishes = {}): HostileConnection {
    const { port, tally } = this.#field;
    const connection = new HostileConnection({
      // The end of the connection is the end of the response.
      ...{ port, text: this.#asked(path, 'connection: close', ...fields), manner, tally, onHead },
      onEnd: () => {
        this.#connections.delete(connection);
        onEnd?.();
      },
    });
    this.#connections.add(connection);
    return connection;
  }

  #openStream(): void {
    this.#open('read', EVENTS, { fields: ['accept: text/event-stream'] });
  }

  /** Another range each time, so that nothing was made before. */
  #readSlowly(): void {
    this.#open('slow', `${EVENTS}?${this.#range()}`, { onEnd: () => this.#later(() => this.#readSlowly()) });
  }

  /** Asks, holds what was made for a while, and asks for another. */
  #holdAgain(): void {
    const connection = this.#open('unread', `${EVENTS}?format=parquet&${this.#range()}`, {
      onHead: () => setTimeout(() => !this.#ends && connection.destroy(), HELD_MS),
      onEnd: () => this.#later(() => this.#holdAgain()),
    });
  }

  #openKeyless(text: string): void {
    const { port, keyless: tally } = this.#field;
    const onEnd = () => {
      this.#keyless.delete(connection);
      this.#later(() => this.#openKeyless(text));
    };
    const connection = new HostileConnection({ port, text, manner: 'read', tally, onEnd });
    this.#keyless.add(connection);
  }

  #later(act: () => void): void {
    setTimeout(() => this.#queue('again', act), AGAIN_MS);
  }

  async #askInLoop(loop: number): Promise<void> {
    const { port, tally } = this.#field;
    this.#loops += 1;
    let connection: Connection | undefined;
    for (let at = loop; !this.#ends; at++) {
      try {
        connection ??= await Connection.open(port);
        const reply = await connection.request(this.#asked(this.#insight(at)));
        tally.count(`${reply.status}`);
        tally.lastByteMs = Date.now();
        if (reply.status !== 200) await pause(AGAIN_MS);
      } catch {
        tally.count('closed');
        connection?.close();
        connection = undefined;
        await pause(AGAIN_MS);
      }
    }
    connection?.close();
    tally.lastEndMs = Date.now();
    this.#loops -= 1;
  }

  /** The most that one request may ask for, and never the same twice. */
  #insight(at: number): string {
    const { board } = this.#field;
    const range = this.#range();
    const paths = [
      `activity?by=board&interval=hour&top=1000&${range}`,
      `activity?by=action&interval=hour&top=1000&${range}`,
      `boards?top=1000&${range}`,
      `users?top=1000&${range}`,
      `returning?interval=hour&${range}`,
      `boards/${board}/interactions?top=1000&${range}`,
    ];
    return `/insights/v1/${paths[at % paths.length]}`;
  }

  /** All events, and a range that was not asked for before. */
  #range(): string {
    const { startMs, endMs } = this.#field;
    this.#ranges += 1;
    return `start=${startMs - this.#ranges}&end=${endMs}`;
  }

  #asked(path: string, ...fields: readonly string[]): string {
    return [`GET ${path} HTTP/1.1`, 'host: x', `apikey: ${this.#field.key}`, ...fields, '', ''].join('\r\n');
  }
}
