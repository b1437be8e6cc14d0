/**
 * The versions of a shared store: cut into chunks that are stored in the database, a bucket or a
 * folder, and assembled in the local cache of each reader. One command at a time publishes an
 * organization. It builds the next version beside the one in the cache, stores the new chunks, and
 * makes the manifest current in one transaction.
 */
import { constants, copyFile } from 'node:fs/promises';
import { AppError } from '../../domain/app-error.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { Lease } from '../catalog/lease.ts';
import {
  type KeptVersion,
  type PostgresCatalog,
  type SharedCopy,
  type Sharing,
  withoutManifest,
} from '../catalog/postgres-catalog.ts';
import type { ChunkPlace } from '../chunks/chunk-place.ts';
import { decodeManifest } from '../chunks/manifest.ts';
import { IN_DATABASE } from '../chunks/places.ts';
import { checkReplaceable, isUnknown } from '../organization-name.ts';
import type { PublicationOptions } from '../store.ts';
import type { NextVersion } from '../version/publish/next-version.ts';
import type { ExpectedVersion } from '../version/publish/version-identity.ts';
import type { VersionFile } from '../version/read/opened-version.ts';
import type { SharedVersion, VersionCache } from './cache.ts';
import type { CheckReport } from './check-report.ts';
import { refuseKeys } from './refused-keys.ts';
import { checkSharedFiles, restoring } from './shared-check.ts';
import { dropChunks, leftOvers, SharedNextVersion, share, type Turn, tidy } from './shared-next-version.ts';
import {
  type Adopted,
  type AdoptOptions,
  type BeginOptions,
  notKept,
  type RemoveOptions,
  type RenameOptions,
  type VersionFiles,
} from './version-files.ts';

/** Opens a place for chunks by its address in the catalog; empty: the database of the catalog. */
export type OpenPlace = (address: string) => Promise<ChunkPlace>;

export class SharedFiles implements VersionFiles {
  readonly #catalog: PostgresCatalog;
  readonly #cache: VersionCache;
  readonly #openPlace: OpenPlace;
  readonly #patienceMs: number;
  readonly #places = new Map<string, Promise<ChunkPlace>>();
  /** Versions that are being fetched into the cache, by file. */
  readonly #fetching = new Map<string, Promise<void>>();

  /**
   * `patienceMs`: longest wait of a caller for a version that is not in the cache. After that the
   * fetch continues, for later callers.
   */
  constructor(
    catalog: PostgresCatalog,
    cache: VersionCache,
    openPlace: OpenPlace,
    patienceMs = Number.POSITIVE_INFINITY,
  ) {
    this.#catalog = catalog;
    this.#cache = cache;
    this.#openPlace = openPlace;
    this.#patienceMs = patienceMs;
    // Versions that must not be kept any more are deleted here as soon as the catalog reports it.
    catalog.tellChanges(
      (folder, keepable) => void cache.dropBefore(folder, keepable).catch(() => undefined),
      () => void this.tidyCache().catch(() => undefined),
    );
  }

  async current(entry: CatalogEntry): Promise<VersionFile | undefined> {
    return entry.publication === undefined ? undefined : await this.file(entry, entry.publication);
  }

  async kept({ name, publication }: CatalogEntry): Promise<readonly number[]> {
    if (publication === undefined) return [];
    const { organization } = await this.#catalog.sharing(name);
    const kept = (await this.#catalog.kept(organization)).map((version) => version.publication);
    return kept.filter((number) => number <= publication);
  }

  async file(entry: CatalogEntry, publication: number): Promise<VersionFile> {
    return await this.#fetch(entry, await this.#catalog.sharing(entry.name), publication);
  }

  async begin(name: string, options: BeginOptions): Promise<NextVersion> {
    const lease = await this.#lease(name, options);
    try {
      // Read again: the current version may have changed while waiting.
      const entry = await this.#catalog.entry(name);
      const { from, erases } = options;
      if (from !== undefined && !(await this.kept(entry)).includes(from)) throw notKept(from);
      const turn = { ...(await this.#turn(lease, entry)), copied: from ?? entry.publication, erases };
      const base = await this.#prepare(turn);
      const current = from === undefined ? undefined : await this.current(entry);
      return new SharedNextVersion(this.#catalog, this.#cache, turn, { base, current });
    } catch (error) {
      await lease.release();
      throw error;
    }
  }

  async adopt(originals: readonly Adopted[], options: AdoptOptions): Promise<void> {
    const staged: UploadedCopy[] = [];
    try {
      for (const original of originals) staged.push(await this.#stage(original, options));
      await options.beforeCurrent?.();
      await this.#catalog.adopt(staged);
      for (const { turn, head } of staged) {
        if (head === undefined) continue;
        // The next publication deletes what cannot be deleted now.
        await tidy(this.#catalog, turn).catch(() => undefined);
        const keepable = { oldest: head.publication, epoch: turn.lease.epoch };
        await this.#cache.dropBefore(turn.sharing.folder, keepable).catch(() => undefined);
      }
    } finally {
      for (const { lease } of staged) await lease.release();
    }
  }

  /** Versions and chunks stay where they are: none of them is named after the organization. */
  async rename(name: string, newName: string, options: RenameOptions): Promise<void> {
    const lease = await this.#lease(name, options);
    try {
      await options.beforeRenaming();
      await this.#catalog.rename(lease, newName, options.renameKeys);
      await options.afterRenaming();
    } finally {
      await lease.release();
    }
  }

  async remove(name: string, options: RemoveOptions): Promise<void> {
    const lease = await this.#lease(name, options);
    try {
      const sharing = await this.#catalog.sharing(lease.organization);
      await this.#catalog.beginRemoval(sharing.name);
      await refuseKeys([sharing.name], options);
      await this.#catalog.empty(lease, options.removeKeys);
      await options.removeOther([sharing.name]);
      for (const address of [sharing.place, ...(await this.#otherPlaces(sharing))]) {
        await dropChunks(await this.#place(address), sharing.folder, lease.epoch);
      }
      await this.#catalog.remove(lease, options.removeKeys);
      await this.tidyCache();
    } finally {
      await lease.release();
    }
  }

  /**
   * Deletes what the local cache must not keep: organizations that do not exist any more, versions
   * before an erasure, and what killed commands were building.
   */
  async tidyCache(): Promise<void> {
    await this.#cache.tidy(() => this.#catalog.keepable());
  }

  /** Where a move of chunks that was interrupted may have left some. */
  async #otherPlaces({ place }: Sharing): Promise<readonly string[]> {
    const places = new Set([await this.#catalog.place(), IN_DATABASE]);
    places.delete(place);
    return [...places];
  }

  /** Versions in the cache are compared with their manifests when they are fetched. */
  async verify(): Promise<void> {}

  /** The chunks of an organization are found by its entry only. */
  async strays(): Promise<readonly string[]> {
    return [];
  }

  async check(entry: CatalogEntry, report: CheckReport): Promise<void> {
    const sharing = await this.#catalog.sharing(entry.name);
    const place = await this.#place(sharing.place);
    const fetch = (publication: number) => this.#fetch(entry, sharing, publication);
    await checkSharedFiles({ catalog: this.#catalog, entry, sharing, place, fetch }, report);
  }

  async close(): Promise<void> {
    this.#cache.close();
    for (const place of this.#places.values()) await (await place).close();
  }

  async #fetch(entry: CatalogEntry, sharing: Sharing, publication: number): Promise<VersionFile> {
    try {
      return await this.#fetchFrom(entry, sharing, publication);
    } catch (error) {
      // The chunks may have been moved to a different place in the meantime.
      const { place } = await this.#present(sharing);
      if (place === sharing.place) throw error;
      return await this.#fetchFrom(entry, { ...sharing, place }, publication);
    }
  }

  async #fetchFrom(entry: CatalogEntry, sharing: Sharing, publication: number): Promise<VersionFile> {
    // Commands do not listen for changes, and their machine may have no server that does.
    const { folder, oldest: oldestKept, epoch } = sharing;
    if (oldestKept !== null) await this.#cache.dropBefore(folder, { oldest: oldestKept, epoch });
    const [found] = await this.#catalog.kept(sharing.organization, publication);
    if (found === undefined) throw missing(entry, publication);
    const place = await this.#place(sharing.place);
    const wanted = { folder: sharing.folder, publication, manifest: decodeManifest(found.manifest), place };
    await this.#whenThere(wanted);
    const file = await this.#cache.fetch(wanted);
    const { oldest } = await this.#present(sharing).catch((error: unknown) => {
      file.release();
      throw error;
    });
    if (oldest !== null && publication >= oldest) return { ...file, expected: expectedOf(entry, found) };
    // Somebody was forgotten, or all data removed, while the version was being fetched.
    file.release();
    await this.#cache.dropBefore(folder, { oldest: oldest ?? Number.POSITIVE_INFINITY, epoch });
    throw missing(entry, publication);
  }

  /**
   * The organization as it is now. If it has been removed, what was fetched of it meanwhile is
   * deleted. Throws `organization-unknown`.
   */
  async #present({ organization }: Sharing): Promise<Sharing> {
    try {
      return await this.#catalog.sharing(organization);
    } catch (error) {
      if (isUnknown(error)) await this.tidyCache();
      throw error;
    }
  }

  /** Waits until the version is in the cache. Throws `chunks-away` when that takes too long. */
  async #whenThere(wanted: SharedVersion): Promise<void> {
    const key = `${wanted.folder}/${wanted.publication}`;
    let fetching = this.#fetching.get(key);
    if (fetching === undefined) {
      fetching = this.#cache
        .fetch(wanted)
        .then((file) => file.release())
        .finally(() => this.#fetching.delete(key));
      // When it fails, there may be no caller left that waits for it.
      fetching.catch(() => undefined);
      this.#fetching.set(key, fetching);
    }
    await inTime(fetching, this.#patienceMs);
  }

  /** The turn to publish. Throws `organization-unknown`, `organization-busy`. */
  async #lease(name: string, options: PublicationOptions): Promise<Lease> {
    for (;;) {
      const { organization } = await this.#catalog.sharing(name);
      const lease = await this.#catalog.lease(organization, options);
      try {
        // A different organization may have been given the name while this command waited.
        if ((await this.#catalog.sharing(name)).organization === organization) return lease;
      } catch (error) {
        await lease.release();
        throw error;
      }
      await lease.release();
    }
  }

  #place(address: string): Promise<ChunkPlace> {
    let place = this.#places.get(address);
    if (place === undefined) {
      place = this.#openPlace(address);
      this.#places.set(address, place);
      place.catch(() => this.#places.delete(address));
    }
    return place;
  }

  async #turn(lease: Lease, entry: CatalogEntry): Promise<Turn> {
    const sharing = await this.#catalog.sharing(entry.name);
    const place = await this.#place(sharing.place);
    return {
      lease,
      entry,
      sharing,
      place,
      building: await this.#cache.building(sharing.folder, lease.epoch),
      dropElsewhere: async () => {
        for (const address of await this.#otherPlaces(sharing)) {
          await dropChunks(await this.#place(address), sharing.folder, lease.epoch);
        }
      },
    };
  }

  /**
   * Copies a version to the path where the next one is built, and returns what it must be; absent
   * before the first publication.
   */
  async #prepare({ entry, sharing, building, copied }: Turn): Promise<ExpectedVersion | undefined> {
    if (copied === undefined) return undefined;
    const base = await this.#fetch(entry, sharing, copied);
    try {
      await copyFile(base.path, building, constants.COPYFILE_FICLONE);
      return base.expected;
    } finally {
      base.release();
    }
  }

  /** Stores the chunks of a copy, which is not visible before it is in the catalog. */
  async #stage({ entry, file }: Adopted, options: AdoptOptions): Promise<UploadedCopy> {
    const { name, settings, version } = entry;
    checkReplaceable(await this.#catalog.createFor(entry), options.replace);
    const lease = await this.#lease(name, options);
    const { organization } = lease;
    try {
      const replaced = await this.#catalog.replacedBy(entry);
      checkReplaceable(replaced, options.replace);
      const hasData = replaced?.publication !== undefined;
      const turn = await this.#turn(lease, { ...entry, publication: undefined, version: undefined });
      if (file === undefined || entry.publication === undefined || version === undefined) {
        return { lease, turn, original: entry, head: undefined };
      }
      // The number of a version is never used again.
      const publication = hasData
        ? (await this.#catalog.lastPublication(organization)) + 1
        : entry.publication;
      const next = { settings, publication, version, publishedMs: Date.now(), forgets: true };
      // Chunks of the data that is replaced may be damaged, which may be the reason to replace it.
      const stored = hasData ? new Map<string, bigint>() : await leftOvers(turn);
      const onBytes = (done: number, total: number) => options.onBytes(done, total, name);
      const { head } = await share(turn, next, file.path, { stored }, onBytes);
      return { lease, turn, original: entry, head };
    } catch (error) {
      await lease.release();
      throw error;
    }
  }
}

/** A copy whose chunks are stored and that is not yet current, and the turn to publish. */
interface UploadedCopy extends SharedCopy {
  readonly turn: Turn;
}

/** The catalog names the current version, and the versions that are kept. */
function expectedOf(organization: CatalogEntry, { publication, version }: KeptVersion): ExpectedVersion {
  const { name } = organization;
  const isCurrent = publication === organization.publication;
  return {
    ...{ organization, version: isCurrent ? organization.version : version },
    ...{ name: `The stored version ${publication} of ${name}`, remedy: restoring(name) },
  };
}

/** Why there is no such version: only an earlier one can be too old to be kept. */
function missing({ name, version, publication: current }: CatalogEntry, publication: number): AppError {
  if (publication !== current) return notKept(publication);
  return new AppError('data-unreadable', withoutManifest(name, version));
}

/** Throws `chunks-away` when it takes longer. */
async function inTime(work: Promise<void>, patienceMs: number): Promise<void> {
  if (patienceMs === Number.POSITIVE_INFINITY) return await work;
  const { promise: late, reject } = Promise.withResolvers<never>();
  const message = 'The data of this organization are still being fetched. Try again in a moment.';
  const timer = setTimeout(() => reject(new AppError('chunks-away', message)), patienceMs);
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
