/**
 * The versions of a data folder: each organization has a folder of numbered files, of which the
 * last three are kept. One process at a time publishes an organization.
 */
import { copyFile, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { organizationFolder } from '../../system/organization-folders.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { SqliteCatalog } from '../catalog/sqlite-catalog.ts';
import { checkReplaceable } from '../organization-name.ts';
import type { PublicationOptions, Settings } from '../store.ts';
import type { NextVersion, PublishedHead } from '../version/publish/next-version.ts';
import type { VersionFile } from '../version/read/version-dataset.ts';
import { lockFile } from './file-lock.ts';
import type { CopyOptions, Original, VersionFiles } from './version-files.ts';
import { VersionFolder } from './version-folder.ts';

export class LocalFiles implements VersionFiles {
  readonly #dataFolder: string;
  readonly #catalog: SqliteCatalog;

  constructor(dataFolder: string, catalog: SqliteCatalog) {
    this.#dataFolder = dataFolder;
    this.#catalog = catalog;
  }

  async current({ name, publication }: CatalogEntry): Promise<VersionFile | undefined> {
    return publication === undefined ? undefined : fileOf(this.#versions(name), publication);
  }

  async *earlier({ name, publication }: CatalogEntry): AsyncGenerator<VersionFile> {
    if (publication === undefined) return;
    const versions = this.#versions(name);
    for (const earlier of await versions.before(publication)) yield fileOf(versions, earlier);
  }

  async begin(name: string, options: PublicationOptions): Promise<NextVersion> {
    const { name: folder } = await this.#catalog.entry(name);
    const release = await this.#lock(folder, options);
    try {
      // Read again: the current version may have changed while waiting.
      const entry = await this.#catalog.entry(name);
      const versions = this.#versions(entry.name);
      await versions.prepare(entry.publication);
      return new LocalNextVersion(this.#catalog, entry, versions, release);
    } catch (error) {
      release();
      throw error;
    }
  }

  async adopt({ entry, file }: Original, options: CopyOptions): Promise<void> {
    const release = await this.#lock(entry.name, options);
    try {
      checkReplaceable(await this.#catalog.find(entry.name), entry.name);
      if (file === undefined || entry.publication === undefined) {
        return await this.#catalog.adopt(entry, undefined);
      }
      await this.#takeFile(this.#versions(entry.name), entry.publication, file.path, options);
      await this.#catalog.adopt(entry, entry.publication);
    } finally {
      release();
    }
  }

  async close(): Promise<void> {}

  /**
   * The copy is not visible before it is in the catalog; the next publication deletes leftovers of
   * a failed copy.
   */
  async #takeFile(versions: VersionFolder, publication: number, path: string, { onBytes }: CopyOptions) {
    await versions.prepare(undefined);
    try {
      await copyFile(path, versions.building);
      const { size } = await stat(versions.building);
      onBytes(size, size);
      // Files that an earlier organization of this name left here are not versions of this one.
      await versions.keepFrom(publication);
      await versions.settle(publication);
    } catch (error) {
      await versions.discard();
      throw error;
    }
  }

  #versions(name: string): VersionFolder {
    return new VersionFolder(organizationFolder(this.#dataFolder, name));
  }

  async #lock(name: string, options: PublicationOptions): Promise<() => void> {
    const folder = organizationFolder(this.#dataFolder, name);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return await lockFile(join(folder, 'publication.lock'), options);
  }
}

function fileOf(versions: VersionFolder, publication: number): VersionFile {
  return {
    path: versions.file(publication),
    spillFolder: versions.spillFolder('reading'),
    release: () => undefined,
  };
}

class LocalNextVersion implements NextVersion {
  readonly entry: CatalogEntry;
  readonly spillFolder: string;
  readonly #catalog: SqliteCatalog;
  readonly #versions: VersionFolder;
  readonly #release: () => void;
  #hasEnded = false;

  constructor(catalog: SqliteCatalog, entry: CatalogEntry, versions: VersionFolder, release: () => void) {
    this.entry = entry;
    this.spillFolder = versions.spillFolder('building');
    this.#catalog = catalog;
    this.#versions = versions;
    this.#release = release;
  }

  get publication(): number | undefined {
    return this.entry.publication;
  }

  get file(): string {
    return this.#versions.building;
  }

  async publish({ settings, publication, version, forgets }: PublishedHead): Promise<void> {
    // Before the version becomes current: if the process dies after that, the next pruning deletes
    // all earlier versions.
    if (forgets) await this.#versions.keepFrom(publication);
    await this.#versions.settle(publication);
    await this.#catalog.publish(this.entry.name, { settings, publication, version });
    this.#end();
    // The version is current: files that cannot be deleted now are deleted by the next publication.
    // But an erasure must not count as done while earlier files exist; repeating it deletes them.
    const pruning = this.#versions.prune(publication);
    await (forgets ? pruning : pruning.catch(() => undefined));
  }

  async configure(settings: Settings): Promise<void> {
    await this.#catalog.configure(this.entry.name, settings);
    // Deletes leftovers of an interrupted erasure. Under the lock, because a different publication
    // may follow.
    if (this.publication !== undefined) await this.#versions.prune(this.publication);
    await this.discard();
  }

  async discard(): Promise<void> {
    if (this.#hasEnded) return;
    await this.#versions.discard();
    this.#end();
  }

  #end(): void {
    this.#hasEnded = true;
    this.#release();
  }
}
