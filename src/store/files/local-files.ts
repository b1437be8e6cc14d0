/**
 * The versions of a data folder: each organization has a folder of numbered files; its rules say
 * how many are kept. One process at a time publishes an organization.
 */
import { existsSync, statSync } from 'node:fs';
import { copyFile, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../domain/app-error.ts';
import { organizationFolder } from '../../system/organization-folders.ts';
import { isReadOnly, refuseReadOnly } from '../../system/read-only.ts';
import { openTemporaryFolder, type TemporaryFolder } from '../../system/temporary-folder.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { Copy, SqliteCatalog } from '../catalog/sqlite-catalog.ts';
import {
  checkReplaceable,
  existingOrganization,
  isUnknown,
  unfinishedRenaming,
  unknownOrganization,
} from '../organization-name.ts';
import type { PublicationOptions } from '../store.ts';
import type { NextVersion } from '../version/publish/next-version.ts';
import type { ExpectedVersion } from '../version/publish/version-identity.ts';
import type { VersionFile } from '../version/read/opened-version.ts';
import { checkVersion } from '../version/read/version-check.ts';
import type { CheckReport } from './check-report.ts';
import { LockFileGone, lockFile } from './file-lock.ts';
import { checkLocalFiles, DELETING, restoring } from './local-check.ts';
import { LocalNextVersion, type LocalTurn } from './local-next-version.ts';
import { refuseKeys } from './refused-keys.ts';
import { LEAST_SPARE_BYTES } from './spare-version.ts';
import {
  type Adopted,
  type AdoptOptions,
  type BeginOptions,
  type CopyOptions,
  notKept,
  type Original,
  type RemoveOptions,
  type RenameOptions,
  type VersionFiles,
} from './version-files.ts';
import { VersionFolder } from './version-folder.ts';

const LOCK = 'publication.lock';
/** SQLite has a second file while it is locked. */
const LOCK_FILES: readonly string[] = [LOCK, `${LOCK}-journal`];
const REMOVAL_RETRIES = 5;
const MOVE_STRAY =
  'If "organizations rename", "organizations remove", "restore" or "copy" was interrupted, run it again; if no command has just created the folder, move it elsewhere.';

interface StrayFolder {
  readonly name: string;
  readonly renamed: string | undefined;
}

export class LocalFiles implements VersionFiles {
  readonly #dataFolder: string;
  readonly #catalog: SqliteCatalog;
  readonly #leastSpareBytes: number;
  readonly #isReadOnly: boolean;
  /** For data that DuckDB spills, if the data folder can only be read. */
  #spilling: TemporaryFolder | undefined;

  /** `leastSpareBytes`: size of a version from which on it has a spare. */
  constructor(dataFolder: string, catalog: SqliteCatalog, leastSpareBytes = LEAST_SPARE_BYTES) {
    this.#dataFolder = dataFolder;
    this.#catalog = catalog;
    this.#leastSpareBytes = leastSpareBytes;
    this.#isReadOnly = isReadOnly(dataFolder);
  }

  async current(entry: CatalogEntry): Promise<VersionFile | undefined> {
    const { name, publication } = entry;
    if (publication === undefined) return undefined;
    const file = await this.file(entry, publication);
    return { ...file, imagePath: this.#versions(name).image(publication) };
  }

  async kept({ name, publication }: CatalogEntry): Promise<readonly number[]> {
    if (publication === undefined) return [];
    return [publication, ...(await this.#versions(name).before(publication))];
  }

  async file(entry: CatalogEntry, publication: number): Promise<VersionFile> {
    const expected = await this.#expected(entry, publication);
    return { ...(await this.#versions(entry.name).read(publication)), expected };
  }

  async #expected(entry: CatalogEntry, publication: number): Promise<ExpectedVersion> {
    const versions = this.#versions(entry.name);
    const name = versions.file(publication);
    const isCurrent = publication === entry.publication;
    if (isCurrent)
      return { organization: entry, version: entry.version, name, remedy: restoring(entry.name) };
    // The file of a copy has the number that it had where it comes from.
    const number = publication === (await versions.oldest()) ? undefined : publication;
    return { organization: entry, publication: number, name, remedy: DELETING };
  }

  async begin(name: string, options: BeginOptions): Promise<NextVersion> {
    const { entry, release } = await this.#turn(() => this.#catalog.entry(name), options);
    const refuseStrays = () => this.#refuseStrays();
    try {
      if (options.erases) await refuseStrays();
      const versions = this.#versions(entry.name);
      // A renaming that was killed has left copies of all versions there.
      await this.#dropOtherFolders(entry.name);
      // Without a version, files can only be left by a command that was killed.
      if (entry.publication === undefined) await versions.clear();
      const { from } = options;
      if (from !== undefined && !(await this.kept(entry)).includes(from)) throw notKept(from);
      const { publication } = entry;
      await versions.prepare(from ?? publication);
      const fileOf = async (number: number | undefined) =>
        number === undefined
          ? undefined
          : { path: versions.file(number), expected: await this.#expected(entry, number) };
      return new LocalNextVersion(this.#catalog, {
        ...{ entry, versions, release, refuseStrays },
        base: (await fileOf(from ?? publication))?.expected,
        current: from === undefined ? undefined : await fileOf(publication),
      });
    } catch (error) {
      release();
      throw error;
    }
  }

  async adopt(originals: readonly Adopted[], options: AdoptOptions): Promise<void> {
    const staged: StoredCopy[] = [];
    try {
      for (const original of originals) staged.push(await this.#stage(original, options));
      await options.beforeCurrent?.();
      await this.#catalog.adopt(staged);
      for (const { versions, publication, original } of staged) {
        // The next publication deletes what cannot be deleted now.
        if (publication !== undefined)
          await versions.prune(publication, original.rules).catch(() => undefined);
      }
    } catch (error) {
      for (const { versions, publication } of staged) {
        if (publication !== undefined) await versions.drop(publication);
      }
      throw error;
    } finally {
      for (const { release } of staged) release();
    }
  }

  async rename(name: string, newName: string, options: RenameOptions): Promise<void> {
    const { entry, release } = await this.#turn(() => this.#catalog.entry(name), options);
    try {
      if (entry.name !== newName) await this.#renameTo(entry.name, newName, options);
      else if ((await this.#catalog.formerNames(newName)).length === 0) throw existingOrganization(newName);
      await this.#finishRenaming(newName, options);
    } finally {
      release();
    }
  }

  /**
   * The catalog switches to the new name in one step, when both names have a folder with all
   * versions. A call that is killed before or after it leaves an organization with two names and
   * two folders. The next call finishes the renaming, or undoes it; the next publication deletes
   * the folder of the other name.
   */
  async #renameTo(name: string, newName: string, options: RenameOptions): Promise<void> {
    await this.#catalog.refuseTaken(name, newName);
    await options.beforeRenaming();
    await this.#catalog.beginRenaming(name, newName);
    // The same folder if only the case differs, and the file system ignores it.
    const isSame = this.#isSameFolder(name, newName);
    const release = isSame ? () => undefined : await this.#lock(newName, options);
    try {
      if (!isSame) await this.#versions(newName).linkFrom(this.#versions(name));
      await this.#catalog.rename(name, newName);
    } finally {
      release();
    }
  }

  async #finishRenaming(name: string, { renameKeys, afterRenaming }: RenameOptions): Promise<void> {
    const formerNames = await this.#catalog.formerNames(name);
    for (const former of formerNames) await renameKeys(former);
    await afterRenaming();
    for (const former of formerNames) {
      if (!this.#isSameFolder(former, name)) continue;
      await rename(organizationFolder(this.#dataFolder, former), organizationFolder(this.#dataFolder, name));
    }
    await this.#dropOtherFolders(name);
    await this.#catalog.endRenaming(name);
  }

  /**
   * Deletes the folders that an organization has under other names until its renaming has finished.
   * Requires its lock.
   */
  async #dropOtherFolders(name: string): Promise<void> {
    for (const former of await this.#catalog.formerNames(name)) {
      if (this.#isSameFolder(former, name)) continue;
      await this.#dropData(former);
      await this.#dropFolder(former);
    }
  }

  async remove(wanted: string, options: RemoveOptions): Promise<void> {
    // Its entry may be damaged.
    const find = async () => {
      const known = await this.#catalog.publicationOf((await this.#catalog.renamedTo(wanted)) ?? wanted);
      if (known === undefined) throw unknownOrganization(wanted);
      return known;
    };
    const { entry, release } = await this.#turn(find, options).catch(async (error: unknown) => {
      if (isUnknown(error)) await this.#dropRemovedFolder(wanted);
      throw error;
    });
    try {
      await this.#remove(entry.name, options);
    } finally {
      release();
    }
  }

  /** Deletes the entry last, because the data is found by it. */
  async #remove(name: string, options: RemoveOptions): Promise<void> {
    const names = [name, ...(await this.#catalog.formerNames(name))];
    await this.#catalog.beginRemoval(name);
    await refuseKeys(names, options);
    await this.#catalog.empty(name);
    await options.removeOther(names);
    for (const one of names) await this.#dropData(one);
    if (!(await options.purgeKeys()) || !(await this.#catalog.purge())) throw isBeingRead(name);
    await this.#catalog.remove(name);
    await this.#catalog.purge();
    // Keys that were created meanwhile.
    for (const one of names) await options.removeKeys(one);
    for (const one of names) await this.#dropFolder(one);
  }

  /** Deletes the folder that a removal has left when it was killed at its end. */
  async #dropRemovedFolder(name: string): Promise<void> {
    const isThere = existsSync(organizationFolder(this.#dataFolder, name));
    if (!isThere || !(await this.#isEmpty(name))) return;
    const release = await this.#tryToLock(name, { waitMs: 0 }).catch(() => undefined);
    if (release === undefined) return;
    await this.#dropEmptyFolder(name);
    release();
  }

  async #dropData(name: string): Promise<void> {
    if (existsSync(organizationFolder(this.#dataFolder, name))) await this.#versions(name).clear();
  }

  #isSameFolder(one: string, other: string): boolean {
    const [first, second] = [one, other].map((name) =>
      statSync(organizationFolder(this.#dataFolder, name), { throwIfNoEntry: false }),
    );
    return (
      first !== undefined && second !== undefined && first.ino === second.ino && first.dev === second.dev
    );
  }

  async verify({ entry, file }: Original): Promise<void> {
    if (file === undefined || entry.publication === undefined) return;
    const isAsPublished = await this.#versions(entry.name).isAsPublished(entry.publication);
    // Without digests, at least every block with data is compared with DuckDB's checksums.
    if (isAsPublished === undefined) await checkVersion(file);
    else if (!isAsPublished) {
      throw new AppError(
        'data-unreadable',
        `The data of ${entry.name} is damaged: ${file.path} is not what was published. Restore it from a backup.`,
      );
    }
  }

  async strays(names: readonly string[]): Promise<readonly string[]> {
    const folders = await this.#strayFolders(names);
    const strays = folders.map(({ name, renamed }) => {
      const path = organizationFolder(this.#dataFolder, name);
      return renamed === undefined
        ? `${path} belongs to no organization. ${MOVE_STRAY}`
        : `${path} is left over: ${unfinishedRenaming(name, renamed)}`;
    });
    for (const name of names) {
      for (const former of await this.#catalog.formerNames(name)) {
        if (folders.some((folder) => folder.name === former)) continue;
        strays.push(`A name is left over: ${unfinishedRenaming(former, name)}`);
      }
    }
    return strays;
  }

  /**
   * Folders that have the name of no organization and are not in use. `renamed`: the organization
   * that still has this name beside its own.
   */
  async #strayFolders(names: readonly string[]): Promise<readonly StrayFolder[]> {
    const known = new Set(names);
    const strays: StrayFolder[] = [];
    // Without a lock, the folder of a new organization would be one of them.
    if (this.#isReadOnly) return [];
    for (const name of await readdir(join(this.#dataFolder, 'organizations')).catch(() => [])) {
      if (known.has(name)) continue;
      // A command that creates the organization holds the lock.
      const release = await lockFile(this.#lockPath(name), { waitMs: 0 }).catch(() => undefined);
      release?.();
      if (release !== undefined) strays.push({ name, renamed: await this.#catalog.renamedTo(name) });
    }
    return strays;
  }

  /**
   * Throws `erasure-refused` if a folder of no organization has data, which could be of erased
   * users.
   */
  async #refuseStrays(): Promise<void> {
    for (const { name, renamed } of await this.#strayFolders(await this.#catalog.names())) {
      // The publications of that organization delete it.
      if (renamed !== undefined || (await this.#isEmpty(name))) continue;
      throw new AppError(
        'erasure-refused',
        `${organizationFolder(this.#dataFolder, name)} belongs to no organization and may contain data of the users; no user was erased. ${MOVE_STRAY} Then repeat the command, and erase the users from the folder by deleting it.`,
      );
    }
  }

  async check(entry: CatalogEntry, report: CheckReport): Promise<void> {
    const versions = this.#versions(entry.name);
    const lock = this.#isReadOnly ? undefined : this.#lockPath(entry.name);
    const read = (publication: number) => this.file(entry, publication);
    await checkLocalFiles({ versions, entry, lock, read }, report);
  }

  async close(): Promise<void> {
    this.#spilling?.[Symbol.dispose]();
  }

  /** Copies a file. The copy is not visible before it is in the catalog. */
  async #stage({ entry, file }: Adopted, options: AdoptOptions): Promise<StoredCopy> {
    const { name } = entry;
    // Before a folder is made for it.
    await this.#catalog.replacedBy(entry);
    const release = await this.#lock(name, options);
    const versions = this.#versions(name);
    try {
      const known = await this.#catalog.replacedBy(entry);
      checkReplaceable(known, options.replace);
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

  /** The turn to publish the organization that `find` returns, as it is when the turn begins. */
  async #turn<T extends { readonly name: string }>(
    find: () => Promise<T>,
    options: PublicationOptions,
  ): Promise<LocalTurn<T>> {
    for (;;) {
      const { name: folder } = await find();
      const release = await this.#tryToLock(folder, options);
      // A different command has renamed or removed the organization while this one waited.
      if (release === undefined) continue;
      try {
        // Read again: the current version, or the name, may have changed.
        const entry = await find();
        if (entry.name === folder) return { entry, release };
        await this.#dropEmptyFolder(folder);
        release();
      } catch (error) {
        if (isUnknown(error)) await this.#dropEmptyFolder(folder);
        release();
        throw error;
      }
    }
  }

  /** Deletes a folder that has only a lock. Requires the lock. */
  async #dropEmptyFolder(name: string): Promise<void> {
    if (await this.#isEmpty(name)) await this.#dropFolder(name);
  }

  async #dropFolder(name: string): Promise<void> {
    // A command that waits for the lock can create it again meanwhile.
    const options = { recursive: true, force: true, maxRetries: REMOVAL_RETRIES };
    await rm(organizationFolder(this.#dataFolder, name), options);
  }

  /** Whether a folder has nothing, or only a lock. */
  async #isEmpty(name: string): Promise<boolean> {
    const names = await readdir(organizationFolder(this.#dataFolder, name)).catch(() => []);
    return names.every((one) => LOCK_FILES.includes(one));
  }

  #versions(name: string): VersionFolder {
    if (this.#isReadOnly) this.#spilling ??= openTemporaryFolder();
    const folder = organizationFolder(this.#dataFolder, name);
    return new VersionFolder(folder, this.#leastSpareBytes, this.#spilling?.path);
  }

  async #lock(name: string, options: PublicationOptions): Promise<() => void> {
    for (;;) {
      const release = await this.#tryToLock(name, options);
      if (release !== undefined) return release;
    }
  }

  /** Absent if a different command has deleted the folder while this one waited. */
  async #tryToLock(name: string, options: PublicationOptions): Promise<(() => void) | undefined> {
    refuseReadOnly(this.#dataFolder);
    await mkdir(organizationFolder(this.#dataFolder, name), { recursive: true, mode: 0o700 });
    try {
      return await lockFile(this.#lockPath(name), options);
    } catch (error) {
      if (error instanceof LockFileGone) return undefined;
      throw error;
    }
  }

  #lockPath(name: string): string {
    return join(organizationFolder(this.#dataFolder, name), LOCK);
  }
}

function isBeingRead(name: string): AppError {
  return new AppError(
    'organization-busy',
    `The data of ${name} has been deleted, but a different process is reading the catalog or the keys at the moment. Run the command again to finish it.`,
  );
}

/** A copy that is stored and not yet current, and the turn to publish. */
interface StoredCopy extends Copy {
  readonly versions: VersionFolder;
  readonly release: () => void;
}
