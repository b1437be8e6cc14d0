/**
 * The turn to publish an organization in a shared store: a row that its holder renews, with an
 * epoch by which the database refuses former holders. A lease is free if it was not renewed in
 * time, or if its holder has no connection any more. A holder that has lost it without noticing
 * cannot publish: `publish` of the catalog checks the epoch in its transaction.
 */
import { AppError } from '../../domain/app-error.ts';
import { waitForTurn } from '../publication-turn.ts';
import type { PublicationOptions } from '../store.ts';
import type { OwnConnection, PostgresDatabase } from './postgres-database.ts';
import { SCHEMA } from './postgres-tables.ts';

/** A lease that was not renewed for this long is free. */
export const LEASE_MS = 15_000;
/**
 * The first half of Corkboard's advisory locks: "cork" in ASCII. The second is the number of an
 * organization.
 */
const LOCKS = 0x636f726b;

/** Code of PostgreSQL. */
const FOREIGN_KEY_VIOLATION = '23503';

/**
 * Each epoch is higher than the one before. It is derived from the time of day, so that after a
 * failover to a lagging standby, the epoch of a lost lease is not given out a second time.
 */
const TAKE = `
  INSERT INTO ${SCHEMA}.leases (organization, epoch, ends, locked)
  VALUES (
    $1, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, now() + $2 * interval '1 ms', $3
  )
  ON CONFLICT (organization) DO UPDATE
    SET epoch = greatest(leases.epoch + 1, excluded.epoch), ends = excluded.ends, locked = excluded.locked
    WHERE leases.ends < now() OR (leases.locked AND excluded.locked)
  RETURNING epoch`;
const RENEW = `
  UPDATE ${SCHEMA}.leases SET ends = now() + $3 * interval '1 ms', locked = $4
  WHERE organization = $1 AND epoch = $2`;

export class Lease {
  readonly organization: number;
  readonly epoch: bigint;
  readonly #database: PostgresDatabase;
  readonly #leaseMs: number;
  readonly #timer: NodeJS.Timeout;
  #connection: OwnConnection | undefined;
  #hasLock: boolean;
  #renewing: Promise<void> | undefined;

  private constructor(
    database: PostgresDatabase,
    connection: OwnConnection,
    held: Taken & { readonly organization: number; readonly leaseMs: number },
  ) {
    this.organization = held.organization;
    this.epoch = held.epoch;
    this.#database = database;
    this.#connection = connection;
    this.#hasLock = held.hasLock;
    this.#leaseMs = held.leaseMs;
    this.#timer = setInterval(() => this.#renewUnlessRenewing(), held.leaseMs / 5).unref();
  }

  /** Waits up to `waitMs` for a different publication to end, then throws `organization-busy`. */
  static async acquire(
    database: PostgresDatabase,
    organization: number,
    options: PublicationOptions,
    leaseMs: number,
  ): Promise<Lease> {
    const connection = await database.connect();
    let taken: Taken | undefined;
    try {
      await waitForTurn(async () => {
        taken = await tryToTake(connection, organization, leaseMs);
        return taken !== undefined;
      }, options);
      return new Lease(database, connection, { ...taken!, organization, leaseMs });
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewing;
    const connection = this.#connection;
    this.#connection = undefined;
    // If this fails, the lease ends with the connection, or after some seconds.
    await connection?.rows(RENEW, [this.organization, this.epoch, 0, false]).catch(() => undefined);
    await connection?.close();
  }

  #renewUnlessRenewing(): void {
    this.#renewing ??= this.#renew()
      .catch(() => this.#reconnect())
      .catch(() => undefined)
      .finally(() => {
        this.#renewing = undefined;
      });
  }

  async #renew(): Promise<void> {
    const { organization, epoch } = this;
    await this.#connection?.rows(RENEW, [organization, epoch, this.#leaseMs, this.#hasLock]);
  }

  async #reconnect(): Promise<void> {
    await this.#connection?.close();
    this.#connection = await this.#database.connect();
    this.#hasLock = await takeLock(this.#connection, this.organization);
    await this.#renew();
  }
}

interface Taken {
  readonly epoch: bigint;
  /** Whether the advisory lock shows other processes that the holder is connected. */
  readonly hasLock: boolean;
}

/** Absent while a different process holds the lease. */
async function tryToTake(
  connection: OwnConnection,
  organization: number,
  leaseMs: number,
): Promise<Taken | undefined> {
  // If we get the lock, a former holder of it has ended, or will notice that it has lost the lease.
  const hasLock = await takeLock(connection, organization);
  const [row] = await connection.rows(TAKE, [organization, leaseMs, hasLock]).catch((error: unknown) => {
    throw isAboutRemoved(error) ? removedMeanwhile(error) : error;
  });
  return row && { epoch: row[0] as bigint, hasLock };
}

/**
 * The lock lasts as long as the connection. Never taken behind a pooler: a session that several
 * clients share gives the lock to each of them, and may outlive them.
 */
async function takeLock(connection: OwnConnection, organization: number): Promise<boolean> {
  if (!connection.ownsSession) return false;
  const [row] = await connection.rows('SELECT pg_try_advisory_lock($1, $2)', [LOCKS, organization]);
  return row?.[0] === true;
}

/** The reference of the lease to its organization is violated. */
function isAboutRemoved(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === FOREIGN_KEY_VIOLATION;
}

function removedMeanwhile(cause: unknown): AppError {
  return new AppError(
    'organization-unknown',
    'The organization was removed while this command waited for it. List the organizations with "corkboard organizations list".',
    { cause },
  );
}

export function lostLease(): AppError {
  return new AppError(
    'organization-busy',
    'This command was stopped for so long that a different import or configuration of the organization has replaced it. Nothing was changed; run the command again.',
  );
}
