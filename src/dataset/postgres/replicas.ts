/**
 * Reading from replicas: the primary says which version is in force, and whoever has that version answers about it. A
 * version is on a replica as soon as its row in `versions` is, because one transaction has written it with its data.
 *
 * That is proven on each connection, not for a host: one address may lead to several, and one that has broken down
 * begins again a little in the past.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Columns, ColumnType } from './binary-copy.ts';
import { type Asking, Database, type Lent, type Parameter, type Value, type Waits } from './database.ts';
import type { At } from './schema.ts';

/** A version that has just been published is waited for so long, then read from the primary until a replica has it. */
const WAIT_MS = 500;
const ASK_EVERY_MS = 25;
/** A replica that was away, or had not a version, is asked again after this time. */
const AGAIN_AFTER_MS = 1_000;
/** Shorter than for the primary: there are others to ask. */
const WAITS: Waits = { connectMs: 2_000, patienceMs: 1_000 };
/** Versions that are remembered of a connection. */
const MOST_PROVEN = 256;

/** A version by its place and its name: after a restore another one can have the same place. */
export interface NamedVersion extends At {
  readonly version: string;
}

export class Replicas {
  readonly #primary: Database;
  readonly #replicas: readonly Replica[];
  #turn = 0;

  /** The primary stays the caller's. */
  constructor(primary: Database, urls: readonly string[]) {
    this.#primary = primary;
    this.#replicas = urls.map((url) => new Replica(new Database(url, WAITS)));
  }

  /** Whoever has the version, each question by another one; the primary where nobody else has it. */
  async reading(version: NamedVersion): Promise<Asking> {
    if (this.#replicas.length === 0) return this.#primary;
    const reading = new Reading(this.#primary, () => this.#inTurn(), version);
    const deadlineMs = performance.now() + WAIT_MS;
    const found = Promise.any(this.#replicas.map((replica) => replica.until(version, deadlineMs)));
    await Promise.race([found.catch(() => undefined), delay(WAIT_MS, undefined, { ref: false })]);
    return reading;
  }

  async close(): Promise<void> {
    for (const replica of this.#replicas) await replica.close();
  }

  #inTurn(): readonly Replica[] {
    this.#turn = (this.#turn + 1) % this.#replicas.length;
    return [...this.#replicas.slice(this.#turn), ...this.#replicas.slice(0, this.#turn)];
  }
}

/** Questions about one version. What a replica refuses, for whatever reason, is asked elsewhere, at last the primary. */
class Reading implements Asking {
  readonly #primary: Database;
  readonly #inTurn: () => readonly Replica[];
  readonly #version: NamedVersion;
  /** Until when replicas are not asked that had not the version. */
  readonly #behind = new Map<Replica, number>();

  constructor(primary: Database, inTurn: () => readonly Replica[], version: NamedVersion) {
    this.#primary = primary;
    this.#inTurn = inTurn;
    this.#version = version;
  }

  async rows(sql: string, parameters: readonly Parameter[] = []): Promise<Value[][]> {
    for await (const { replica, lent } of this.#connections()) {
      try {
        const rows = await lent.session.rows(sql, parameters);
        lent.release(false);
        return rows;
      } catch {
        lent.release(true);
        replica.noteFailure();
      }
    }
    return await this.#primary.rows(sql, parameters);
  }

  async *columns<const T extends readonly ColumnType[]>(sql: string, types: T): AsyncGenerator<Columns<T>> {
    for await (const { replica, lent } of this.#connections()) {
      let given = false;
      let drained = false;
      try {
        for await (const columns of lent.session.columns(sql, types)) {
          given = true;
          yield columns;
        }
        drained = true;
        return;
      } catch (error) {
        replica.noteFailure();
        // What was given cannot be taken back, and another one may give an answer in another order.
        if (given) throw error;
      } finally {
        lent.release(!drained);
      }
    }
    yield* this.#primary.columns(sql, types);
  }

  /** A connection of one replica after the other, each with the version; to be released before the next is asked for. */
  async *#connections(): AsyncGenerator<{ readonly replica: Replica; readonly lent: Lent }> {
    for (const replica of this.#inTurn()) {
      if ((this.#behind.get(replica) ?? 0) > performance.now()) continue;
      const lent = await replica.lend(this.#version);
      if (lent === 'behind') this.#behind.set(replica, performance.now() + AGAIN_AFTER_MS);
      else if (lent !== 'away') yield { replica, lent };
    }
  }
}

class Replica {
  readonly #database: Database;
  /** What connections have been seen to have. */
  readonly #proven = new WeakMap<object, Set<string>>();
  #isAway = false;
  #askAgainMs = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  /** A connection that has the version. Never throws; who is known to be away holds nobody up. */
  async lend(version: NamedVersion): Promise<Lent | 'away' | 'behind'> {
    if (this.#isAway) this.#probe();
    if (this.#isAway || this.#database.isBusy) return 'away';
    try {
      const lent = await this.#database.lend();
      let has = false;
      try {
        has = await this.#has(lent, version);
      } catch (error) {
        lent.release(true);
        throw error;
      }
      if (has) return lent;
      lent.release(false);
      return 'behind';
    } catch {
      this.noteFailure();
      return 'away';
    }
  }

  /** Resolves when the replica has the version. Throws when it is away, and after the deadline. */
  async until(version: NamedVersion, deadlineMs: number): Promise<void> {
    for (;;) {
      const lent = await this.lend(version);
      if (typeof lent === 'object') return lent.release(false);
      if (lent === 'away' || performance.now() > deadlineMs) throw new Error('not there');
      await delay(ASK_EVERY_MS);
    }
  }

  noteFailure(): void {
    this.#isAway = true;
  }

  async close(): Promise<void> {
    await this.#database.close();
  }

  async #has({ session, connection }: Lent, version: NamedVersion): Promise<boolean> {
    let proven = this.#proven.get(connection);
    if (proven === undefined || proven.size >= MOST_PROVEN) {
      proven = new Set();
      this.#proven.set(connection, proven);
    }
    if (proven.has(version.version)) return true;
    const rows = await session.rows(
      'SELECT FROM versions WHERE organization = $1 AND publication = $2 AND version = $3',
      [version.organization, version.publication, version.version],
    );
    if (rows.length > 0) proven.add(version.version);
    return rows.length > 0;
  }

  /** Asks beside everything else whether the replica is back, at most once in a while. */
  #probe(): void {
    if (performance.now() < this.#askAgainMs) return;
    this.#askAgainMs = performance.now() + AGAIN_AFTER_MS;
    this.#database.rows('SELECT').then(
      () => {
        this.#isAway = false;
      },
      () => undefined,
    );
  }
}
