/**
 * Receives notifications of publications. Some are missed: those sent during a reconnection, and
 * all of them behind a pooler. So callers must poll as well.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { PostgresDatabase } from './postgres-database.ts';

/** The channel that carries the names of organizations with a new version. */
export const PUBLISHED_CHANNEL = 'corkboard';

const RECONNECT_MS = 1_000;

export class Watch {
  readonly #database: PostgresDatabase;
  readonly #onPublished: (organization: string) => void;
  readonly #ending = new AbortController();
  readonly #listening: Promise<void>;

  /** Starts at once. Connection errors are handled here and not reported. */
  constructor(database: PostgresDatabase, onPublished: (organization: string) => void) {
    this.#database = database;
    this.#onPublished = onPublished;
    this.#listening = this.#listen();
  }

  /** Fulfilled when no more notifications are passed on and the connection is closed. */
  async end(): Promise<void> {
    this.#ending.abort();
    await this.#listening;
  }

  async #listen(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await this.#listenOnce().catch(() => undefined);
      await delay(RECONNECT_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Listens until the connection breaks or the watch ends. */
  async #listenOnce(): Promise<void> {
    const { signal } = this.#ending;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const end = () => resolve();
    const tell = (organization: string) => {
      if (!signal.aborted) this.#onPublished(organization);
    };
    const connection = await this.#database.listen(PUBLISHED_CHANNEL, tell, end);
    if (connection === undefined) return this.#ending.abort();
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    await ended;
    signal.removeEventListener('abort', end);
    await connection.close();
  }
}
