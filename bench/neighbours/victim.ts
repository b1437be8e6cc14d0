/**
 * The process of the victim. It sends small requests at a steady rate without waiting for earlier
 * ones (an open loop), so that a stalled server affects every request due in that time. Besides, it
 * sends the other requests of a tenant, at a lower rate.
 */
import { connect } from 'node:net';
import { Connection } from '../connection.ts';
import { percentile } from '../statistics.ts';
import { type LoopName, WARM_MS } from './bounds.ts';

export interface VictimOrder {
  readonly port: number;
  readonly key: string;
  /** Paths requested in turn. */
  readonly small: readonly string[];
  /** Path of the events of one board, requested as Parquet. */
  readonly parquet: string;
  readonly export: string;
}

/** The process starts with an order and ends with any other message. */
export type VictimMessage = VictimOrder | { readonly kind: 'end' };

export interface LoopFigures {
  readonly requests: number;
  /** By error message. */
  readonly failures: Readonly<Record<string, number>>;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export type VictimFigures = Readonly<Record<LoopName, LoopFigures>>;

const EVERY_MS: Readonly<Record<LoopName, number>> = {
  small: 20,
  ready: 100,
  stream: 1_000,
  parquet: 1_000,
  export: 4_000,
};
/** A request that takes longer counts as failed. */
const PATIENCE_MS = 10_000;
/** One small request in this number uses a new connection. */
const NEW_CONNECTION_EVERY = 4;

class Loop {
  readonly #everyMs: number;
  readonly #ask: (at: number) => Promise<void>;
  readonly #latenciesMs: number[] = [];
  readonly #failures = new Map<string, number>();
  readonly #pending = new Set<Promise<void>>();
  readonly #startMs = performance.now();
  #next = 0;
  #counted = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(everyMs: number, ask: (at: number) => Promise<void>) {
    this.#everyMs = everyMs;
    this.#ask = ask;
    this.#askDue();
  }

  /** Waits for the requests in progress. */
  async end(): Promise<LoopFigures> {
    clearTimeout(this.#timer);
    await Promise.all(this.#pending);
    const ascending = Float64Array.from(this.#latenciesMs).sort();
    const at = (share: number) => (ascending.length === 0 ? Number.NaN : percentile(ascending, share));
    return {
      requests: this.#counted,
      failures: Object.fromEntries(this.#failures),
      ...{ p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) },
    };
  }

  #askDue(): void {
    for (; this.#dueMs() <= performance.now(); this.#next++) {
      const asked = this.#askOne(this.#next, this.#dueMs()).then(() => void this.#pending.delete(asked));
      this.#pending.add(asked);
    }
    this.#timer = setTimeout(() => this.#askDue(), Math.max(0, this.#dueMs() - performance.now()));
  }

  #dueMs(): number {
    return this.#startMs + this.#next * this.#everyMs;
  }

  /** A failed request counts with its full duration. */
  async #askOne(at: number, dueMs: number): Promise<void> {
    const failure = await this.#ask(at).then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (dueMs < this.#startMs + WARM_MS) return;
    this.#counted += 1;
    this.#latenciesMs.push(performance.now() - dueMs);
    if (failure !== undefined) this.#failures.set(failure, (this.#failures.get(failure) ?? 0) + 1);
  }
}

class Victim {
  readonly #order: VictimOrder;
  readonly #idle: Connection[] = [];
  readonly #loops: Readonly<Record<LoopName, Loop>>;

  constructor(order: VictimOrder) {
    this.#order = order;
    const loop = (name: LoopName, ask: (at: number) => Promise<void>) => new Loop(EVERY_MS[name], ask);
    this.#loops = {
      small: loop('small', (at) =>
        this.#ask(order.small[at % order.small.length] ?? '/', at % NEW_CONNECTION_EVERY === 0),
      ),
      ready: loop('ready', () => this.#ask('/readyz', true)),
      stream: loop('stream', () => this.#beginStream()),
      parquet: loop('parquet', (at) => this.#ask(`${order.parquet}&start=${-at}`, true)),
      export: loop('export', () => this.#ask(order.export, true)),
    };
  }

  async end(): Promise<VictimFigures> {
    const { small, ready, stream, parquet, export: all } = this.#loops;
    const [one, two, three, four, five] = await Promise.all([
      small.end(),
      ready.end(),
      stream.end(),
      parquet.end(),
      all.end(),
    ]);
    for (const connection of this.#idle) connection.close();
    return { small: one, ready: two, stream: three, parquet: four, export: five };
  }

  async #ask(path: string, isNew: boolean): Promise<void> {
    const { port } = this.#order;
    const kept = isNew ? undefined : this.#idle.pop();
    const connection = kept ?? (await inTime(Connection.open(port), () => {}));
    const { status } = await inTime(connection.request(this.#head(path)), () => connection.close());
    if (isNew) connection.close();
    else this.#idle.push(connection);
    if (status !== 200) throw new Error(`${status}`);
  }

  /** Resolves when the head of the response has arrived. */
  async #beginStream(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const socket = connect(this.#order.port, '127.0.0.1');
    socket.once('data', (bytes) => resolve(bytes.toString('latin1', 9, 12)));
    socket.once('error', reject).once('close', () => reject(new Error('closed')));
    socket.write(this.#head('/a/v1/events', 'accept: text/event-stream\r\n'));
    try {
      const status = await inTime(promise, () => {});
      if (status !== '200') throw new Error(status);
    } finally {
      socket.destroy();
    }
  }

  #head(path: string, fields = ''): string {
    return `GET ${path} HTTP/1.1\r\nhost: x\r\napikey: ${this.#order.key}\r\n${fields}\r\n`;
  }
}

async function inTime<T>(work: Promise<T>, giveUp: () => void): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new Error('no response in time'));
    giveUp();
  }, PATIENCE_MS);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

let victim: Victim | undefined;

process.once('disconnect', () => process.exit());
process.on('message', async (message: VictimMessage) => {
  if ('port' in message) {
    victim = new Victim(message);
    process.send?.('begun');
  } else process.send?.(await victim?.end());
});
