/**
 * The catalog of a shared store, in PostgreSQL. Any number of processes on any number of machines
 * share it. One transaction makes a version current, and fails if the publisher has lost its lease.
 */
import { AppError } from '../../domain/app-error.ts';
import { existingOrganization, unknownOrganization } from '../organization-name.ts';
import {
  KEPT_VERSIONS,
  type OrganizationEntry,
  type PublicationOptions,
  type Rules,
  type Settings,
} from '../store.ts';
import { bigint, text } from '../stored-values.ts';
import {
  assignments,
  type Catalog,
  type CatalogEntry,
  type CatalogStatements,
  type ColumnValue,
  copiedColumns,
  emptyColumns,
  insertOrganization,
  type NextHead,
  type OrganizationIdentity,
  Organizations,
  type ReplacedOrganization,
  renameOrganization,
  settingsColumns,
} from './catalog.ts';
import { LEASE_MS, Lease, lostLease } from './lease.ts';
import type { PostgresDatabase, Session } from './postgres-database.ts';
import { PUBLISHED_CHANNEL, Watch } from './watch.ts';

/** How an organization shares its versions. */
export interface Sharing {
  readonly organization: number;
  readonly name: string;
  /** The folder of its chunks. */
  readonly folder: string;
  /** Location of its chunks: the address of a bucket or folder; empty: in the database. */
  readonly place: string;
  /** Number of the oldest version that may be kept; null while nothing is published. */
  readonly oldest: number | null;
  /** That of the last lease; 0 before the first. */
  readonly epoch: bigint;
}

/** A version that becomes current, with the location of its file. */
export interface SharedHead extends NextHead {
  readonly publishedMs: number;
  readonly bytes: number;
  readonly uploadedBytes: number;
  readonly manifest: Uint8Array;
  /** Names of the chunks in the manifest, each once. */
  readonly chunks: readonly string[];
  /** Whether no earlier version may be kept. */
  readonly isOnly: boolean;
}

/** A copy of an organization; without data if `head` is absent. */
export interface SharedCopy {
  readonly lease: Lease;
  readonly original: OrganizationEntry;
  readonly head: SharedHead | undefined;
}

/** Changes the keys of the organization with this name, in the transaction. */
export type ChangeKeys = (former: string, transaction: CatalogStatements) => Promise<void>;

export interface KeptVersion {
  readonly publication: number;
  readonly version: string;
  readonly manifest: Uint8Array;
}

/** What caches may keep of an organization. */
export interface Keepable {
  /** Number of the oldest version; infinite if there is none. */
  readonly oldest: number;
  /** That of the last lease. Files that earlier epochs were building are left over. */
  readonly epoch: bigint;
}

/** Called for each organization with data once, and then after each of its changes. */
export type OnChange = (folder: string, keepable: Keepable) => void;

export class PostgresCatalog extends Organizations implements Catalog {
  readonly #database: PostgresDatabase;
  readonly #leaseMs: number;
  readonly #watches = new Set<Watch>();
  /** Current versions as of `#tick`, by name in lower case. */
  readonly #versions = new Map<string, string | undefined>();
  #tick = -1n;
  /**
   * The queries run one after the other, so that an earlier one cannot overwrite the result of a
   * later one.
   */
  #lastLook: Promise<void> = Promise.resolve();
  #nextLook: Promise<void> | undefined;
  #onChange: OnChange | undefined;
  #onRemoved: (() => void) | undefined;

  /** Takes ownership of the database. */
  constructor(database: PostgresDatabase, leaseMs = LEASE_MS) {
    super(database);
    this.#database = database;
    this.#leaseMs = leaseMs;
  }

  async create(name: string, settings: Partial<Settings>): Promise<CatalogEntry> {
    return await this.#database.transact((transaction) => create(transaction, name, settings));
  }

  /**
   * Creates the organization without its data, unless there is one to replace. Returns what a copy
   * of it replaces from then on. Throws the errors of `replacedBy`.
   */
  async createFor(original: OrganizationEntry): Promise<ReplacedOrganization> {
    return await this.#database.transact(async (transaction) => {
      await nextTick(transaction);
      const replaced = await new Organizations(transaction).replacedBy(original);
      if (replaced !== undefined) return replaced;
      const { name } = await create(transaction, original.name, original.settings, original);
      return { name, publication: undefined, isSame: true };
    });
  }

  /** Always empty: one transaction renames an organization and its keys. */
  async formerNames(): Promise<readonly string[]> {
    return [];
  }

  /** One query serves all calls that come before it begins. */
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
    const watch = new Watch(this.#database, (name) => {
      // The organization may have been removed, and no request may ask for it any more.
      void this.currentVersion(name).catch(() => undefined);
      onPublished(name);
    });
    this.#watches.add(watch);
    return () => {
      this.#watches.delete(watch);
      void watch.end();
    };
  }

  /** Sets the only listeners. `onRemoved`: an organization may have been removed. */
  tellChanges(onChange: OnChange, onRemoved: () => void): void {
    this.#onChange = onChange;
    this.#onRemoved = onRemoved;
  }

  /** Random, and constant for this catalog. */
  async id(): Promise<string> {
    return text((await this.#only('SELECT id FROM catalog'))[0]);
  }

  /** By name, or by number, which stays the same. Throws `organization-unknown`. */
  async sharing(wanted: string | number): Promise<Sharing> {
    const columns = `organization, name, folder, place, oldest, ${LAST_EPOCH}`;
    const where = typeof wanted === 'number' ? 'organization = $1' : 'lower(name) = $1';
    const sql = `SELECT ${columns} FROM organizations o WHERE ${where}`;
    const [row] = await this.#database.rows(sql, [
      typeof wanted === 'number' ? wanted : wanted.toLowerCase(),
    ]);
    if (row === undefined) throw unknownOrganization(String(wanted));
    const [organization, exactName, folder, place, oldest, epoch] = row;
    return {
      organization: Number(organization),
      name: text(exactName),
      folder: text(folder),
      place: text(place),
      oldest: oldest === null ? null : Number(oldest),
      epoch: bigint(epoch),
    };
  }

  /** Versions that are kept, latest first. With `publication`: only that one. */
  async kept(organization: number, publication?: number): Promise<readonly KeptVersion[]> {
    const sql = `SELECT publication, version, manifest FROM versions
      WHERE organization = $1 AND manifest IS NOT NULL AND publication = coalesce($2, publication)
      ORDER BY publication DESC`;
    const rows = await this.#database.rows(sql, [organization, publication ?? null]);
    return rows.map(([number, version, manifest]) => ({
      publication: Number(number),
      version: text(version),
      manifest: manifest as Uint8Array,
    }));
  }

  /** The turn to publish. Waits up to `waitMs`, then throws `organization-busy`. */
  async lease(organization: number, options: PublicationOptions): Promise<Lease> {
    return await Lease.acquire(this.#database, organization, options, this.#leaseMs);
  }

  /** Throws `organization-busy` when the lease was lost. */
  async publish(lease: Lease, name: string, head: SharedHead): Promise<void> {
    await this.#change(lease, name, settingsColumns(head.settings), head);
  }

  /**
   * Makes copies current, all at once, each with the whole entry of its original; without data if
   * `head` is absent. Throws `organization-busy` when a lease was lost, and the errors of
   * `replacedBy`.
   */
  async adopt(copies: readonly SharedCopy[]): Promise<void> {
    await this.#database.transact(async (transaction) => {
      await nextTick(transaction);
      const organizations = new Organizations(transaction);
      const all: [SharedCopy, ReplacedOrganization | undefined][] = [];
      for (const copy of copies) all.push([copy, await organizations.replacedBy(copy.original)]);
      for (const [{ lease, original, head }, replaced] of all) {
        const columns = copiedColumns(original, replaced, head?.publication);
        await change(transaction, lease, original.name, columns, head);
      }
    });
  }

  /**
   * Changes the name of an organization, and of its keys with `renameKeys`, in one transaction.
   * Throws `organization-exists`, `organization-malformed`, and `organization-busy` when the lease
   * was lost.
   */
  async rename(lease: Lease, newName: string, renameKeys: ChangeKeys): Promise<void> {
    await this.#database.transact(async (transaction) => {
      await checkLease(transaction, lease);
      const { tick } = await nextTick(transaction);
      const changed = 'UPDATE organizations SET changed = $1 WHERE organization = $2 RETURNING name';
      const [row] = await transaction.rows(changed, [tick, lease.organization]);
      const name = text(row?.[0]);
      if (name === newName) throw existingOrganization(newName);
      await renameOrganization(transaction, name, newName);
      await renameKeys(name, transaction);
      await notify(transaction, name);
    });
  }

  /**
   * Takes its versions, settings, secret and keys from an organization, in one transaction. Throws
   * `organization-busy` when the lease was lost.
   */
  async empty(lease: Lease, removeKeys: ChangeKeys): Promise<void> {
    const { organization } = lease;
    await this.#database.transact(async (transaction) => {
      await checkLease(transaction, lease);
      const { tick } = await nextTick(transaction);
      const select = 'SELECT name FROM organizations WHERE organization = $1';
      const name = text((await transaction.rows(select, [organization]))[0]?.[0]);
      const { sql, parameters } = assignments({ ...emptyColumns(name), oldest: null, changed: tick });
      const update = `UPDATE organizations SET ${sql} WHERE organization = $${parameters.length + 1}`;
      await transaction.rows(update, [...parameters, organization]);
      await transaction.rows('DELETE FROM versions WHERE organization = $1', [organization]);
      await removeKeys(name, transaction);
      await notify(transaction, name);
    });
  }

  /**
   * Deletes an organization without data, and its keys. Throws `organization-busy` when the lease
   * was lost.
   */
  async remove(lease: Lease, removeKeys: ChangeKeys): Promise<void> {
    const { organization } = lease;
    await this.#database.transact(async (transaction) => {
      await checkLease(transaction, lease);
      await transaction.rows('DELETE FROM leases WHERE organization = $1', [organization]);
      const remove = 'DELETE FROM organizations WHERE organization = $1 RETURNING name';
      const name = text((await transaction.rows(remove, [organization]))[0]?.[0]);
      await transaction.rows('DELETE FROM removals WHERE name = $1', [name]);
      await removeKeys(name, transaction);
      await notify(transaction, name);
    });
  }

  /** What may be kept of each organization, by its folder. */
  async keepable(): Promise<ReadonlyMap<string, Keepable>> {
    const rows = await this.#database.rows(`SELECT folder, oldest, ${LAST_EPOCH} FROM organizations o`);
    return new Map(rows.map(([folder, oldest, epoch]) => [text(folder), keepableOf(oldest, epoch)]));
  }

  /** Stores settings of an organization that has no published version. */
  async configure(lease: Lease, name: string, settings: Settings): Promise<void> {
    await this.#change(lease, name, settingsColumns(settings), undefined);
  }

  /** The location of the chunks of new organizations. */
  async place(): Promise<string> {
    return text((await this.#only('SELECT place FROM catalog'))[0]);
  }

  async setPlace(place: string): Promise<void> {
    await this.#database.rows('UPDATE catalog SET place = $1', [place]);
  }

  /**
   * Sets the location of the chunks of an organization. Throws `organization-busy` when the lease
   * was lost.
   */
  async setPlaceOf(lease: Lease, place: string, chunks: readonly string[]): Promise<void> {
    await this.#database.transact(async (transaction) => {
      await checkLease(transaction, lease);
      await checkChunks(transaction, place, chunks);
      const update = 'UPDATE organizations SET place = $1 WHERE organization = $2';
      await transaction.rows(update, [place, lease.organization]);
    });
  }

  /** The database verifies its rows itself; this compares them with each other. */
  async findDamage(): Promise<readonly string[]> {
    const rows = await this.#database.rows(WITHOUT_MANIFEST);
    return rows.map(([name, version]) => withoutManifest(text(name), text(version)));
  }

  /** Whether the database has checksums of its pages. */
  async hasChecksums(): Promise<boolean> {
    return (await this.#only('SHOW data_checksums'))[0] === 'on';
  }

  /** The highest number of a version that was ever published. */
  async lastPublication(organization: number): Promise<number> {
    const sql = 'SELECT coalesce(max(publication), 0) FROM versions WHERE organization = $1';
    const [row] = await this.#database.rows(sql, [organization]);
    return Number(row?.[0]);
  }

  /** The epoch of the last lease, and whether a command has it now. */
  async lastLease(organization: number): Promise<{ readonly epoch: bigint; readonly isHeld: boolean }> {
    const sql = 'SELECT epoch, ends > now() FROM leases WHERE organization = $1';
    const [row] = await this.#database.rows(sql, [organization]);
    return { epoch: (row?.[0] as bigint | undefined) ?? 0n, isHeld: row?.[1] === true };
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#watches, (watch) => watch.end()));
    await this.#database.close();
  }

  async #change(
    lease: Lease,
    name: string,
    columns: Readonly<Record<string, ColumnValue>>,
    head: SharedHead | undefined,
  ): Promise<void> {
    await this.#database.transact((transaction) => change(transaction, lease, name, columns, head));
  }

  /**
   * Reads the changes since the last query, or everything if the database may have been replaced.
   */
  async #look(): Promise<void> {
    try {
      const sql = 'SELECT tick, (SELECT count(*)::int FROM organizations) FROM catalog';
      const [tick, count] = (await this.#only(sql)) as [bigint, number];
      // The database was restored from a backup, or failed over to a lagging standby.
      if (tick < this.#tick) this.#forgetVersions();
      if (tick > this.#tick) await this.#takeChanges();
      // Organizations that have been renamed or removed.
      if (this.#versions.size === count) return;
      this.#onRemoved?.();
      this.#forgetVersions();
      await this.#takeChanges();
    } catch (error) {
      // While it was unreachable it may have been replaced by an earlier state.
      this.#forgetVersions();
      throw error;
    }
  }

  #forgetVersions(): void {
    this.#versions.clear();
    this.#tick = -1n;
  }

  async #takeChanges(): Promise<void> {
    const columns = `name, version, folder, oldest, changed, ${LAST_EPOCH}`;
    const sql = `SELECT ${columns} FROM organizations o WHERE changed > $1 ORDER BY changed`;
    for (const row of await this.#database.rows(sql, [this.#tick])) {
      const [name, version, folder, oldest, changed, epoch] = row as [
        string,
        string | null,
        string,
        number | null,
        bigint,
        bigint,
      ];
      this.#versions.set(name.toLowerCase(), version ?? undefined);
      this.#tick = changed;
      if (oldest !== null) this.#onChange?.(folder, keepableOf(oldest, epoch));
    }
  }

  async #only(sql: string): Promise<readonly ColumnValue[]> {
    const [row] = await this.#database.rows(sql);
    if (row === undefined) throw new Error('the catalog has lost its row');
    return row;
  }
}

/** What is wrong with a current version that cannot be found, and what to do. */
export function withoutManifest(name: string, version: string | undefined): string {
  return `The current version ${version} of ${name} has no manifest. Restore it: corkboard restore BACKUP --replace --organization ${JSON.stringify(name)}`;
}

async function create(
  transaction: Session,
  name: string,
  settings: Partial<Settings>,
  identity?: OrganizationIdentity,
): Promise<CatalogEntry> {
  // First, because two concurrent creations would choose the same id.
  const { tick, place } = await nextTick(transaction);
  const entry = await insertOrganization(transaction, name, settings, identity);
  const update = 'UPDATE organizations SET place = $1, changed = $2 WHERE name = $3';
  await transaction.rows(update, [place, tick, entry.name]);
  return entry;
}

async function change(
  transaction: Session,
  lease: Lease,
  name: string,
  columns: Readonly<Record<string, ColumnValue>>,
  head: SharedHead | undefined,
): Promise<void> {
  const { organization } = lease;
  await checkLease(transaction, lease);
  const { tick } = await nextTick(transaction);
  const oldest = head && (await oldestKept(transaction, organization, head));
  const inForce = head && { generation: head.publication, version: head.version, oldest: oldest! };
  const { sql, parameters } = assignments({ ...columns, ...inForce, changed: tick });
  const where = `organization = $${parameters.length + 1}`;
  const update = `UPDATE organizations SET ${sql} WHERE ${where} RETURNING place`;
  const [row] = await transaction.rows(update, [...parameters, organization]);
  if (head !== undefined) {
    await checkChunks(transaction, text(row?.[0]), head.chunks);
    await recordVersion(transaction, organization, head);
    await transaction.rows(DROP_MANIFESTS, [organization, oldest!]);
  }
  await notify(transaction, name);
}

/** The notification is sent when the transaction commits. */
async function notify(transaction: Session, name: string): Promise<void> {
  await transaction.rows('SELECT pg_notify($1, $2)', [PUBLISHED_CHANNEL, name]);
}

/**
 * Locks the single row, so that changes become visible in the order of their ticks: a reader that
 * sees one tick sees all before it.
 */
async function nextTick(transaction: Session): Promise<{ readonly tick: bigint; readonly place: string }> {
  const [row] = await transaction.rows('UPDATE catalog SET tick = tick + 1 RETURNING tick, place');
  const [tick, place] = row as [bigint, string];
  return { tick, place };
}

async function checkLease(transaction: Session, { organization, epoch }: Lease): Promise<void> {
  const select = 'SELECT epoch FROM leases WHERE organization = $1 FOR UPDATE';
  const [row] = await transaction.rows(select, [organization]);
  if (row?.[0] !== epoch) throw lostLease();
}

/**
 * After a failover to a lagging standby, the database may lack chunks that it had confirmed. A
 * bucket or a folder does not fail over with it.
 */
async function checkChunks(transaction: Session, place: string, names: readonly string[]): Promise<void> {
  if (place !== '') return;
  const [row] = await transaction.rows('SELECT count(*) FROM chunks WHERE name = ANY($1)', [names]);
  if (row?.[0] === BigInt(names.length)) return;
  throw new AppError(
    'database-away',
    'The database has failed over to a server that does not have all data of this command. Nothing was changed; run the command again.',
  );
}

/** A column for a query of `organizations o`. */
const LAST_EPOCH = `
  (SELECT coalesce(max(epoch), 0)::bigint FROM leases WHERE leases.organization = o.organization)`;

function keepableOf(oldest: ColumnValue | undefined, epoch: ColumnValue | undefined): Keepable {
  return { oldest: oldest === null ? Number.POSITIVE_INFINITY : Number(oldest), epoch: bigint(epoch) };
}

const WITHOUT_MANIFEST = `
  SELECT o.name, o.version FROM organizations o
  LEFT JOIN versions v ON v.organization = o.organization AND v.publication = o.generation
    AND v.version = o.version AND v.manifest IS NOT NULL
  WHERE o.generation IS NOT NULL AND v.organization IS NULL ORDER BY lower(o.name)`;

const RECORD = `
  INSERT INTO versions (organization, publication, version, published_ms, bytes, uploaded_bytes, manifest)
  VALUES ($1, $2, $3, $4, $5, $6, $7)`;
const DROP_MANIFESTS = 'UPDATE versions SET manifest = NULL WHERE organization = $1 AND publication < $2';

const RECENT = `
  SELECT min(publication) FROM versions
  WHERE organization = $1 AND manifest IS NOT NULL AND published_ms >= $2`;

async function recordVersion(transaction: Session, organization: number, head: SharedHead): Promise<void> {
  const { publication, version, publishedMs, bytes, uploadedBytes, manifest } = head;
  const numbers = [publishedMs, bytes, uploadedBytes];
  await transaction.rows(RECORD, [organization, publication, version, ...numbers, manifest]);
}

/** The number of the oldest version that the rules of the organization keep beside the next one. */
async function oldestKept(
  transaction: Session,
  organization: number,
  { publication, isOnly }: SharedHead,
): Promise<number> {
  if (isOnly) return publication;
  const [row] = await transaction.rows('SELECT rules FROM organizations WHERE organization = $1', [
    organization,
  ]);
  const { keptVersions = KEPT_VERSIONS, keptVersionsMs }: Rules = JSON.parse(text(row?.[0]));
  const oldest = Math.max(1, publication - keptVersions + 1);
  if (keptVersionsMs === undefined) return oldest;
  const [recent] = await transaction.rows(RECENT, [organization, Date.now() - keptVersionsMs]);
  return Math.min(oldest, Number(recent?.[0] ?? oldest));
}
