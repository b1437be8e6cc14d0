/**
 * The attacks of a neighbour with one key or without a key. Each consists of a number of
 * connections and their behavior.
 */
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

/** The target and the parameters of an attack. */
export interface Field {
  readonly port: number;
  readonly key: string;
  /** The share of the full number of connections to open, up to 1. */
  readonly share: number;
  /** The time span of the attacker's events, and a board with events. */
  readonly startMs: number;
  readonly endMs: number;
  readonly board: number;
  /** Counts responses to the key. */
  readonly tally: Tally;
  /** Counts responses on connections without a key. */
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
/**
 * Pause before the next request after a response or a refusal, because a flood of cheap requests is
 * a different attack.
 */
const AGAIN_MS = 500;
/**
 * All attacks together open at most 1,000 connections per second, including replacements of ended
 * ones. Opening connections faster than the server accepts them is a different attack, which a
 * proxy must stop (SECURITY.md): all clients wait in one queue of the system.
 */
const HANDFUL = 10;
const HANDFUL_EVERY_MS = 10;

type Wishes = Partial<Pick<HostileRequest, 'onHead' | 'onEnd'>> & { readonly fields?: readonly string[] };

export class Attack {
  readonly #field: Field;
  readonly #connections = new Set<HostileConnection>();
  readonly #keyless = new Set<HostileConnection>();
  /** Loops that send requests and read the responses. */
  #loops = 0;
  #ends = false;
  #ranges = 0;
  /** Connections to open, by attack; the attacks take turns. */
  readonly #lines = new Map<string, (() => void)[]>();
  readonly #opening: NodeJS.Timeout;

  constructor(field: Field) {
    this.#field = field;
    this.#opening = setInterval(() => this.#openHandful(), HANDFUL_EVERY_MS);
  }

  /** Responses to the key that are in progress. */
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

  /** Starts one more export, which keeps the current version open. */
  pin(): void {
    this.#open('slow', `${EVENTS}?${this.#range()}`);
  }

  /** Sends no more requests, and reads the responses in progress at full speed. */
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
      // The connection ends with the response.
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

  /** Uses a new range each time, so that no response is in a cache. */
  #readSlowly(): void {
    this.#open('slow', `${EVENTS}?${this.#range()}`, { onEnd: () => this.#later(() => this.#readSlowly()) });
  }

  /** Sends a request, leaves the response unread for a while, and sends the next one. */
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

  /** A request for the largest permitted response; never the same one twice. */
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

  /** A range with all events that was not requested before. */
  #range(): string {
    const { startMs, endMs } = this.#field;
    this.#ranges += 1;
    return `start=${startMs - this.#ranges}&end=${endMs}`;
  }

  #asked(path: string, ...fields: readonly string[]): string {
    return [`GET ${path} HTTP/1.1`, 'host: x', `apikey: ${this.#field.key}`, ...fields, '', ''].join('\r\n');
  }
}
