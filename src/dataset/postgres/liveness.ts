/**
 * Whether the database is still there while an answer is waited for. One that vanished without closing its connections,
 * because the network was cut or its machine stands still, would otherwise be waited for as long as TCP tries, which
 * is a quarter of an hour; and a statement that takes long must not be taken for one that nobody works on.
 */
import type { Client, PoolClient } from 'pg';

export interface Limits {
  /** After so long the answer is given up in any case. */
  readonly mostMs: number;
  /** So often in a row the database has to be found away. */
  readonly misses: number;
}

/** For what may take as long as it likes. */
export function endless({ misses }: Limits): Limits {
  return { misses, mostMs: Number.POSITIVE_INFINITY };
}

export class Liveness {
  readonly #newClient: () => Client;
  readonly #patienceMs: number;
  /** What is found out just now; all who wait share it. */
  #asked: Promise<boolean> | undefined;

  /** `patienceMs`: how long nothing has to come before the database is asked whether it is there; and again, each time. */
  constructor(newClient: () => Client, patienceMs: number) {
    this.#newClient = newClient;
    this.#patienceMs = patienceMs;
  }

  /** What is asked of the client, whose connection is cut, so that the asking fails, when a limit is reached. */
  async watch<T>(client: PoolClient, asking: Promise<T>, { mostMs, misses }: Limits): Promise<T> {
    const deadlineMs = performance.now() + mostMs;
    let ended = false;
    let missed = 0;
    const look = async () => {
      missed = (await this.#isThere()) ? 0 : missed + 1;
      if (ended) return;
      // With a question under way the driver closes at once, without a word to the other side.
      if (missed >= misses || performance.now() >= deadlineMs) client.end().catch(() => undefined);
      else timer = setTimeout(look, this.#patienceMs);
    };
    let timer = setTimeout(look, this.#patienceMs);
    try {
      return await asking;
    } finally {
      ended = true;
      clearTimeout(timer);
    }
  }

  /** What comes, each piece waited for as long as the database is there. */
  async *watchEach<T>(client: PoolClient, source: AsyncIterable<T>, limits: Limits): AsyncGenerator<T> {
    const pieces = source[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { done, value } = await this.watch(client, pieces.next(), endless(limits));
        if (done === true) return;
        yield value;
      }
    } finally {
      await pieces.return?.();
    }
  }

  async #isThere(): Promise<boolean> {
    this.#asked ??= letsIn(this.#newClient()).finally(() => {
      this.#asked = undefined;
    });
    return await this.#asked;
  }
}

async function letsIn(client: Client): Promise<boolean> {
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch (error) {
    // Whoever says why not, with a code of five characters, is there.
    return error instanceof Error && 'code' in error && /^[0-9A-Z]{5}$/.test(String(error.code));
  } finally {
    client.end().catch(() => undefined);
  }
}
