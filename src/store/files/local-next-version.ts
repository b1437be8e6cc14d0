/**
 * The next version of an organization in a data folder. Its file is built beside the earlier ones,
 * and one change of the catalog makes it current.
 */
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { SqliteCatalog } from '../catalog/sqlite-catalog.ts';
import type { Settings } from '../store.ts';
import type { NextVersion, PublishedHead } from '../version/publish/next-version.ts';
import type { VersionFolder } from './version-folder.ts';

/** The turn to change one organization. */
export interface LocalTurn<T> {
  readonly entry: T;
  readonly release: () => void;
}

interface LocalBuilding extends LocalTurn<CatalogEntry> {
  readonly versions: VersionFolder;
  readonly base: NextVersion['base'];
  readonly current: NextVersion['current'];
  /** Throws `erasure-refused` if data may be where it cannot be deleted. */
  readonly refuseStrays: () => Promise<void>;
}

export class LocalNextVersion implements NextVersion {
  readonly entry: CatalogEntry;
  readonly spillFolder: string;
  readonly base: NextVersion['base'];
  readonly current: NextVersion['current'];
  readonly #catalog: SqliteCatalog;
  readonly #versions: VersionFolder;
  readonly #release: () => void;
  readonly #refuseStrays: () => Promise<void>;
  #hasEnded = false;

  constructor(
    catalog: SqliteCatalog,
    { entry, versions, release, base, current, refuseStrays }: LocalBuilding,
  ) {
    this.entry = entry;
    this.spillFolder = versions.spillFolder('building');
    this.base = base;
    this.current = current;
    this.#catalog = catalog;
    this.#versions = versions;
    this.#release = release;
    this.#refuseStrays = refuseStrays;
  }

  get publication(): number | undefined {
    return this.entry.publication;
  }

  get file(): string {
    return this.#versions.building;
  }

  async publish({ settings, publication, version, forgets, written }: PublishedHead): Promise<void> {
    if (forgets) await this.#refuseStrays();
    // Before the version becomes current: if the process dies after that, the next pruning deletes
    // all earlier versions.
    if (forgets) await this.#versions.keepFrom(publication);
    await this.#versions.expectReaders(publication);
    await this.#versions.settle(publication, written);
    await this.#catalog.publish(this.entry.name, { settings, publication, version });
    try {
      // The version is current: files that cannot be deleted now are deleted by the next
      // publication. But an erasure must not count as done while earlier files exist; repeating it
      // deletes them.
      const pruning = this.#versions.prune(publication, this.entry.rules);
      await (forgets ? pruning : pruning.catch(() => undefined));
    } finally {
      this.#end();
    }
  }

  async configure(settings: Settings): Promise<void> {
    await this.#catalog.configure(this.entry.name, settings);
    // Deletes leftovers of an interrupted erasure. Under the lock, because a different publication
    // may follow.
    if (this.publication !== undefined) await this.#versions.prune(this.publication, this.entry.rules);
    await this.discard();
  }

  async discard(): Promise<void> {
    if (this.#hasEnded) return;
    try {
      await this.#versions.discard();
    } finally {
      this.#end();
    }
  }

  #end(): void {
    this.#hasEnded = true;
    this.#release();
  }
}
