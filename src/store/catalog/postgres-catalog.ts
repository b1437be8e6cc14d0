/**
 * The catalog of a shared store, in PostgreSQL: any number of processes on any number of machines
 * have it in common. What is published is put in force in one transaction, which refuses whoever has
 * lost the turn.
 */
import { type Kysely, sql, type Transaction } from 'kysely';
import { unknownOrganization } from '../../dataset/organization-name.ts';
import type { OrganizationEntry, PublicationOptions, Settings } from '../../dataset/store.ts';
import {
  type Catalog,
  type CatalogEntry,
  type Head,
  identityColumns,
  insertOrganization,
  type OrganizationRow,
  Organizations,
  type OrganizationTables,
  settingsColumns,
} from './catalog.ts';
import { LEASE_MS, Lease, lostLease } from './lease.ts';
import type { PostgresDatabase } from './postgres-database.ts';
import type { CatalogTables } from './postgres-tables.ts';
import { PUBLISHED_CHANNEL, Watch } from './watch.ts';

/** Versions that are kept: for responses in flight, and to look back. */
const KEPT = 3;

/** How an organization shares its versions. */
export interface Sharing {
  readonly organization: number;
  readonly name: string;
  /** The folder of its chunks. */
  readonly folder: string;
  /** Where its chunks lie: the address of a bucket or folder; empty: in the database. */
  readonly place: string;
  /** Number of the oldest version that may be kept; null while nothing is published. */
  readonly oldest: number | null;
}

/** A version that comes into force, with what says where its file is. */
export interface SharedHead extends Head {
  readonly publishedMs: number;
  readonly bytes: number;
  readonly uploadedBytes: number;
  readonly manifest: Uint8Array;
  /** Whether it is the only one that may be kept. */
  readonly isOnly: boolean;
}

export interface KeptVersion {
  readonly publication: number;
  readonly manifest: Uint8Array;
}

/** Told of each organization with data once, and then whenever it has changed. `oldest`: the version that may be kept. */
export type OnChange = (folder: string, oldest: number) => void;

export class PostgresCatalog extends Organizations implements Catalog {
  readonly #database: PostgresDatabase;
  readonly #leaseMs: number;
  readonly #watches = new Set<Watch>();
  /** By name in lower case, as of the tick. */
  readonly #versions = new Map<string, string | undefined>();
  #tick = -1n;
  /** One after the other, so that none overwrites what a later one has found. */
  #lastLook: Promise<void> = Promise.resolve();
  #nextLook: Promise<void> | undefined;
  #onChange: OnChange | undefined;

  /** Takes over the database. */
  constructor(database: PostgresDatabase, leaseMs = LEASE_MS) {
    super(sharedColumns(database.kysely));
    this.#database = database;
    this.#leaseMs = leaseMs;
  }

  async create(name: string, settings: Partial<Settings>): Promise<CatalogEntry> {
    return await this.#transact(async (transaction) => {
      // First: two that are made at the same time would get the same id.
      const { tick, place } = await nextTick(transaction);
      const entry = await insertOrganization(sharedColumns(transaction), name, settings);
      await transaction
        .updateTable('organizations')
        .set({ place, changed: tick })
        .where('name', '=', entry.name)
        .execute();
      return entry;
    });
  }

  /** One query for all who ask before it begins. */
  async currentVersion(name: string): Promise<string | undefined> {
    this.#nextLook ??= this.#lastLook
      .catch(() => undefined)
      .then(() => {
        this.#lastLook = this.#look();
        this.#nextLook = undefined;
        return this.#lastLook;
      });
    await this.#nextLook;
    const key = name.toLowerCase();
    if (!this.#versions.has(key)) throw unknownOrganization(name);
    return this.#versions.get(key);
  }

  watch(onPublished: (organization: string) => void): () => void {
    const watch = new Watch(this.#database, onPublished);
    this.#watches.add(watch);
    return () => {
      this.#watches.delete(watch);
      void watch.end();
    };
  }

  /** At most one. */
  tellChanges(onChange: OnChange): void {
    this.#onChange = onChange;
  }

  /** Random, and always the same for this catalog. */
  async id(): Promise<string> {
    return (await this.#database.kysely.selectFrom('catalog').select('id').executeTakeFirstOrThrow()).id;
  }

  /** Throws `organization-unknown`. */
  async sharing(name: string): Promise<Sharing> {
    const row = await this.#database.kysely
      .selectFrom('organizations')
      .select(['organization', 'name', 'folder', 'place', 'oldest'])
      .where(sql<string>`lower(name)`, '=', name.toLowerCase())
      .executeTakeFirst();
    if (row === undefined) throw unknownOrganization(name);
    return row;
  }

  /** Versions that are kept, latest first; with `publication` that one alone. */
  async kept(organization: number, publication?: number): Promise<readonly KeptVersion[]> {
    const rows = await this.#database.kysely
      .selectFrom('versions')
      .select(['publication', 'manifest'])
      .where('organization', '=', organization)
      .where('manifest', 'is not', null)
      .$if(publication !== undefined, (query) => query.where('publication', '=', publication!))
      .orderBy('publication', 'desc')
      .execute();
    return rows.map(({ publication, manifest }) => ({ publication, manifest: manifest! }));
  }

  /** The turn to publish. Waits up to `waitMs`, then throws `organization-busy`. */
  async lease(organization: number, options: PublicationOptions): Promise<Lease> {
    return await Lease.acquire(this.#database, organization, options, this.#leaseMs);
  }

  /** Throws `organization-busy` when the lease was lost. */
  async publish(lease: Lease, name: string, head: SharedHead): Promise<void> {
    await this.#change(lease, name, settingsColumns(head.settings), head);
  }

  /** Puts a copy in force with all of its original's entry; without data where `head` is absent. */
  async adopt(lease: Lease, original: OrganizationEntry, head: SharedHead | undefined): Promise<void> {
    const { name, settings } = original;
    const columns = { ...settingsColumns(settings), ...identityColumns(original, head?.publication) };
    await this.#change(lease, name, columns, head);
  }

  /** Keeps settings of an organization that has nothing published yet. */
  async configure(lease: Lease, name: string, settings: Settings): Promise<void> {
    await this.#change(lease, name, settingsColumns(settings), undefined);
  }

  /** Where the chunks of new organizations lie. */
  async place(): Promise<string> {
    return (await this.#database.kysely.selectFrom('catalog').select('place').executeTakeFirstOrThrow())
      .place;
  }

  async setPlace(place: string): Promise<void> {
    await this.#database.kysely.updateTable('catalog').set({ place }).execute();
  }

  /** Says where the chunks of an organization lie now. Throws `organization-busy` when the lease was lost. */
  async setPlaceOf(lease: Lease, place: string): Promise<void> {
    await this.#transact(async (transaction) => {
      await checkLease(transaction, lease);
      await transaction
        .updateTable('organizations')
        .set({ place })
        .where('organization', '=', lease.organization)
        .execute();
    });
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#watches, (watch) => watch.end()));
    await this.#database.close();
  }

  async #change(
    lease: Lease,
    name: string,
    columns: Partial<OrganizationRow>,
    head: SharedHead | undefined,
  ): Promise<void> {
    const { organization } = lease;
    await this.#transact(async (transaction) => {
      await checkLease(transaction, lease);
      const { tick } = await nextTick(transaction);
      const inForce = head && { generation: head.publication, version: head.version, oldest: oldestOf(head) };
      await transaction
        .updateTable('organizations')
        .set({ ...columns, ...inForce, changed: tick })
        .where('organization', '=', organization)
        .execute();
      if (head !== undefined) await recordVersion(transaction, organization, head);
      // Sent when the transaction ends.
      await sql`SELECT pg_notify(${PUBLISHED_CHANNEL}, ${name})`.execute(transaction);
    });
  }

  /** Takes over what has changed since the last look, or everything where the database may be another one. */
  async #look(): Promise<void> {
    try {
      const { tick } = await this.#database.kysely
        .selectFrom('catalog')
        .select('tick')
        .executeTakeFirstOrThrow();
      // Restored from a backup, or failed over to a standby that lagged.
      if (tick < this.#tick) this.#forgetVersions();
      if (tick > this.#tick) await this.#takeChanges();
    } catch (error) {
      // While it was away it may have been exchanged for one of an earlier time.
      this.#forgetVersions();
      throw error;
    }
  }

  #forgetVersions(): void {
    this.#versions.clear();
    this.#tick = -1n;
  }

  async #takeChanges(): Promise<void> {
    const rows = await this.#database.kysely
      .selectFrom('organizations')
      .select(['name', 'version', 'folder', 'oldest', 'changed'])
      .where('changed', '>', this.#tick)
      .orderBy('changed')
      .execute();
    for (const { name, version, folder, oldest, changed } of rows) {
      this.#versions.set(name.toLowerCase(), version ?? undefined);
      this.#tick = changed;
      if (oldest !== null) this.#onChange?.(folder, oldest);
    }
  }

  async #transact<T>(change: (transaction: Transaction<CatalogTables>) => Promise<T>): Promise<T> {
    return await this.#database.kysely.transaction().setIsolationLevel('read committed').execute(change);
  }
}

/** The same tables, with the columns that both catalogs have; the others have defaults. */
function sharedColumns(database: Kysely<CatalogTables>): Kysely<OrganizationTables> {
  return database as unknown as Kysely<OrganizationTables>;
}

/**
 * Locks the one row, so that changes come into force in the order of their ticks: who has seen one
 * has seen all before it.
 */
async function nextTick(transaction: Transaction<CatalogTables>) {
  return await transaction
    .updateTable('catalog')
    .set(({ eb }) => ({ tick: eb('tick', '+', 1n) }))
    .returning(['tick', 'place'])
    .executeTakeFirstOrThrow();
}

async function checkLease(
  transaction: Transaction<CatalogTables>,
  { organization, epoch }: Lease,
): Promise<void> {
  const row = await transaction
    .selectFrom('leases')
    .select('epoch')
    .where('organization', '=', organization)
    .forUpdate()
    .executeTakeFirst();
  if (row?.epoch !== epoch) throw lostLease();
}

async function recordVersion(
  transaction: Transaction<CatalogTables>,
  organization: number,
  head: SharedHead,
): Promise<void> {
  const { publication, version, manifest } = head;
  await transaction
    .insertInto('versions')
    .values({
      ...{ organization, publication, version, manifest },
      published_ms: BigInt(head.publishedMs),
      bytes: BigInt(head.bytes),
      uploaded_bytes: BigInt(head.uploadedBytes),
    })
    .execute();
  await transaction
    .updateTable('versions')
    .set({ manifest: null })
    .where('organization', '=', organization)
    .where('publication', '<', oldestOf(head))
    .execute();
}

function oldestOf({ publication, isOnly }: SharedHead): number {
  return isOnly ? publication : Math.max(1, publication - KEPT + 1);
}
