/**
 * The versions of a data folder: each organization has a folder of numbered files, of which the
 * last three are kept. One process at a time publishes an organization.
 */
import { copyFile, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../domain/app-error.ts';
import { digestFile } from '../../system/file-digest.ts';
import { organizationFolder } from '../../system/organization-folders.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { Copy, SqliteCatalog } from '../catalog/sqlite-catalog.ts';
import { checkReplaceable } from '../organization-name.ts';
import type { PublicationOptions, Settings } from '../store.ts';
import type { NextVersion, PublishedHead } from '../version/publish/next-version.ts';
import { checkVersion } from '../version/read/version-check.ts';
import type { VersionFile } from '../version/read/version-dataset.ts';
import type { CheckReport } from './check-report.ts';
import { lockFile } from './file-lock.ts';
import { checkLocalFiles } from './local-check.ts';
import {
  type AdoptOptions,
  type BeginOptions,
  type CopyOptions,
  notKept,
  type Original,
  type VersionFiles,
} from './version-files.ts';
import { VersionFolder } from './version-folder.ts';

export class LocalFiles implements VersionFiles {
  readonly #dataFolder: string;
  readonly #catalog: SqliteCatalog;

  constructor(dataFolder: string, catalog: SqliteCatalog) {
    this.#dataFolder = dataFolder;
    this.#catalog = catalog;
  }

  async current({ name, publication }: CatalogEntry): Promise<VersionFile | undefined> {
    if (publication === undefined) return undefined;
    const versions = this.#versions(name);
    return { ...fileOf(versions, publication), imagePath: versions.image(publication) };
  }

  async kept({ name, publication }: CatalogEntry): Promise<readonly number[]> {
    if (publication === undefined) return [];
    return [publication, ...(await this.#versions(name).before(publication))];
  }

  async file({ name }: CatalogEntry, publication: number): Promise<VersionFile> {
    return fileOf(this.#versions(name), publication);
  }

  async begin(name: string, options: BeginOptions): Promise<NextVersion> {
    const { name: folder } = await this.#catalog.entry(name);
    const release = await this.#lock(folder, options);
    try {
      // Read again: the current version may have changed while waiting.
      const entry = await this.#catalog.entry(name);
      const versions = this.#versions(entry.name);
      const { from } = options;
      if (from !== undefined && !(await this.kept(entry)).includes(from)) throw notKept(from);
      await versions.prepare(from ?? entry.publication);
      return new LocalNextVersion(this.#catalog, { entry, versions, release, restores: from !== undefined });
    } catch (error) {
      release();
      throw error;
    }
  }

  async adopt(originals: readonly Original[], options: AdoptOptions): Promise<void> {
    const staged: StoredCopy[] = [];
    try {
      for (const original of originals) staged.push(await this.#stage(original, options));
      await options.beforeCurrent?.();
      await this.#catalog.adopt(staged);
    } catch (error) {
      for (const { versions, publication } of staged) {
        if (publication !== undefined) await versions.drop(publication);
      }
      throw error;
    } finally {
      for (const { release } of staged) release();
    }
    for (const { versions, publication, original } of staged) {
      // The next publication deletes what cannot be deleted now.
      if (publication !== undefined) await versions.prune(publication, original.rules).catch(() => undefined);
    }
  }

  async verify({ entry, file }: Original): Promise<void> {
    if (file === undefined || entry.publication === undefined) return;
    const recorded = await this.#versions(entry.name).recordedDigest(entry.publication);
    // Without a digest, at least every block with data is compared with DuckDB's checksums.
    if (recorded === undefined) await checkVersion(file);
    else if ((await digestFile(file.path)).sha256 !== recorded) {
      throw new AppError(
        'data-unreadable',
        `The data of ${entry.name} is damaged: ${file.path} is not what was published. Restore it from a backup.`,
      );
    }
  }

  async strays(names: readonly string[]): Promise<readonly string[]> {
    const folder = join(this.#dataFolder, 'organizations');
    const known = new Set(names);
    const strays: string[] = [];
    for (const name of await readdir(folder).catch(() => [])) {
      if (known.has(name)) continue;
      // A command that creates the organization holds the lock.
      const release = await lockFile(this.#lockPath(name), { waitMs: 0 }).catch(() => undefined);
      release?.();
      if (release === undefined) continue;
      strays.push(
        `${join(folder, name)} belongs to no organization. If no command has just created it, move it elsewhere.`,
      );
    }
    return strays;
  }

  async check(entry: CatalogEntry, report: CheckReport): Promise<void> {
    await checkLocalFiles(this.#versions(entry.name), entry, this.#lockPath(entry.name), report);
  }

  async close(): Promise<void> {}

  /** Copies a file. The copy is not visible before it is in the catalog. */
  async #stage({ entry, file }: Original, options: AdoptOptions): Promise<StoredCopy> {
    const { name } = entry;
    const release = await this.#lock(name, options);
    const versions = this.#versions(name);
    try {
      const known = await this.#known(name, options);
      if (file === undefined || entry.publication === undefined) {
        return { versions, release, original: entry, publication: undefined };
      }
      const publication = known?.publication === undefined ? entry.publication : known.publication + 1;
      await this.#takeFile(versions, publication, file.path, options, name);
      return { versions, release, original: entry, publication };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** The organization that a copy would replace. Throws `organization-exists`. */
  async #known(name: string, { replace }: AdoptOptions) {
    // Its entry may be the damaged one that is to be replaced.
    const known = replace ? await this.#catalog.publicationOf(name) : await this.#catalog.find(name);
    checkReplaceable(known, name, replace);
    return known;
  }

  /** The next publication deletes leftovers of a failed copy. */
  async #takeFile(
    versions: VersionFolder,
    publication: number,
    path: string,
    { onBytes }: CopyOptions,
    name: string,
  ): Promise<void> {
    await versions.prepare(undefined);
    try {
      await copyFile(path, versions.building);
      const { size } = await stat(versions.building);
      onBytes(size, size, name);
      // Earlier files in this folder are not versions of the copy.
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
    return await lockFile(this.#lockPath(name), options);
  }

  #lockPath(name: string): string {
    return join(organizationFolder(this.#dataFolder, name), 'publication.lock');
  }
}

/** A copy that is stored and not yet current, and the turn to publish. */
interface StoredCopy extends Copy {
  readonly versions: VersionFolder;
  readonly release: () => void;
}

function fileOf(versions: VersionFolder, publication: number): VersionFile {
  return {
    path: versions.file(publication),
    spillFolder: versions.spillFolder('reading'),
    release: () => undefined,
  };
}

interface LocalTurn {
  readonly entry: CatalogEntry;
  readonly versions: VersionFolder;
  readonly release: () => void;
  /** Whether an earlier version is restored. */
  readonly restores: boolean;
}

class LocalNextVersion implements NextVersion {
  readonly entry: CatalogEntry;
  readonly spillFolder: string;
  readonly current: string | undefined;
  readonly #catalog: SqliteCatalog;
  readonly #versions: VersionFolder;
  readonly #release: () => void;
  #hasEnded = false;

  constructor(catalog: SqliteCatalog, { entry, versions, release, restores }: LocalTurn) {
    this.entry = entry;
    this.spillFolder = versions.spillFolder('building');
    this.current = restores && entry.publication !== undefined ? versions.file(entry.publication) : undefined;
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
    const pruning = this.#versions.prune(publication, this.entry.rules);
    await (forgets ? pruning : pruning.catch(() => undefined));
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
    await this.#versions.discard();
    this.#end();
  }

  #end(): void {
    this.#hasEnded = true;
    this.#release();
  }
}
