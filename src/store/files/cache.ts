/**
 * The local cache of versions that are shared as chunks. A version is assembled from an earlier
 * one in the cache and the missing chunks. No file is opened before every byte of it has been
 * compared with the digests of its manifest, by this process or by a different one since this
 * process started.
 *
 *     <folder of the organization>/<publication>.duckdb    the version
 *     <folder of the organization>/<publication>.manifest  its manifest; written last
 *     <folder of the organization>/<publication>.image     its memory image (decision 81)
 *     <folder of the organization>/cache.lock              held while a version is assembled
 *
 * Several processes may share the folder. When it exceeds its limit, the least recently used
 * versions are deleted. On the systems that Corkboard runs on, a deleted file stays readable for
 * processes that have it open.
 */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, open, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isMissing } from '../../system/file-errors.ts';
import { namesIn } from '../../system/if-exists.ts';
import { makeFolder } from '../../system/make-folder.ts';
import type { Keepable } from '../catalog/postgres-catalog.ts';
import { differingChunks, digestsOf } from '../chunks/chunk-digests.ts';
import type { ChunkPlace } from '../chunks/chunk-place.ts';
import { decodeManifest, encodeManifest, type Manifest, type NamedChunk } from '../chunks/manifest.ts';
import { download } from '../chunks/transfer.ts';
import type { VersionFile } from '../version/read/opened-version.ts';
import { lockFile } from './file-lock.ts';

/** Longest wait for a different process to assemble a version. */
const LONGEST_FETCH_MS = 3_600_000;
/** A version that was used more recently than this may be in service. */
const IN_SERVICE_MS = 180_000;
/** How often the use of versions in service is recorded. */
const NOTE_MS = 60_000;
/** A different process can add a file to a folder while it is being deleted. */
const REMOVAL_RETRIES = 5;
const VERSION = /^(\d+)\.duckdb$/;
/** A version that is being assembled, or was when its process ended. */
const PARTIAL = /^(\d+)\.duckdb\..*\.partial$/;
/** The file, and the files that DuckDB creates beside it. */
const BUILDING = /^next-(\d+)\.building/;
/** Temporary data that queries spill to the disk. */
const SPILLED = /^reading-.*\.tmp$/;

/** A version, and the place of its chunks. */
export interface SharedVersion {
  /** Of the organization. */
  readonly folder: string;
  readonly publication: number;
  readonly manifest: Manifest;
  readonly place: ChunkPlace;
}

export class VersionCache {
  readonly #root: string;
  readonly #limitBytes: number;
  /** Start of this process: files that were verified since then need no second verification. */
  readonly #startedMs = Date.now();
  /** Files in service in this process, with the number of their uses. */
  readonly #used = new Map<string, number>();
  /** Spill folders of files in service in this process. Those of killed processes are deleted. */
  readonly #spillFolders = new Set<string>();
  readonly #timer: NodeJS.Timeout;

  /** `root`: the folder of one catalog; created when it is needed. */
  constructor(root: string, limitBytes: number) {
    this.#root = root;
    this.#limitBytes = limitBytes;
    this.#timer = setInterval(() => void this.#noteUse(), NOTE_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /**
   * Returns the complete file of a version. The caller releases it. Throws `data-unreadable`,
   * `chunks-away`, `database-away`.
   */
  async fetch(wanted: SharedVersion): Promise<Omit<VersionFile, 'expected'>> {
    const path = this.#path(wanted.folder, wanted.publication);
    const release = this.#hold(path);
    try {
      if (!(await this.#isWhole(path, wanted.manifest))) await this.#putTogether(path, wanted);
      await touch(path);
    } catch (error) {
      release();
      throw error;
    }
    const spillFolder = join(this.#root, wanted.folder, `reading-${randomUUID()}.tmp`);
    this.#spillFolders.add(spillFolder);
    return {
      path,
      imagePath: imagePathOf(path),
      spillFolder,
      release: () => {
        this.#spillFolders.delete(spillFolder);
        release();
      },
    };
  }

  /** The path where the next version of an organization is built. Each epoch has one builder. */
  async building(folder: string, epoch: bigint): Promise<string> {
    await this.#makeFolder(folder);
    await this.#dropBuilding(folder, epoch);
    return join(this.#root, folder, `next-${epoch}.building`);
  }

  /** Moves a file that was built here, and never changes again, into the cache. */
  async take(path: string, { folder, publication, manifest }: Omit<SharedVersion, 'place'>): Promise<void> {
    const target = this.#path(folder, publication);
    await rename(path, target);
    await writeManifest(target, manifest);
    await this.#makeRoom();
  }

  /**
   * Deletes what must not be kept of an organization, even while it is being read: earlier
   * versions, versions that ended publications were building, and spilled data of killed processes.
   */
  async dropBefore(folder: string, { oldest, epoch }: Keepable): Promise<void> {
    // First, so that a version that is complete in the meantime is among those that follow.
    await this.#dropPartial(folder, oldest);
    for (const { publication, path } of await this.#versionsOf(folder)) {
      if (publication < oldest) await remove(path);
    }
    await this.#dropBuilding(folder, epoch);
    await this.#dropSpilled(folder);
  }

  /**
   * Deletes what must not be kept, even while it is being read: everything of organizations that
   * `read` does not return.
   */
  async tidy(read: () => Promise<ReadonlyMap<string, Keepable>>): Promise<void> {
    // Read first: an organization has an entry before it has a folder here.
    const names = await namesIn(this.#root);
    if (names.length === 0) return;
    const present = await read();
    for (const name of names) {
      const keepable = present.get(name);
      if (keepable !== undefined) await this.dropBefore(name, keepable);
      else await rm(join(this.#root, name), { recursive: true, force: true, maxRetries: REMOVAL_RETRIES });
    }
  }

  #path(folder: string, publication: number): string {
    return join(this.#root, folder, `${publication}.duckdb`);
  }

  async #makeFolder(folder: string): Promise<void> {
    makeFolder(join(this.#root, folder));
  }

  #hold(path: string): () => void {
    this.#used.set(path, (this.#used.get(path) ?? 0) + 1);
    return () => {
      const uses = (this.#used.get(path) ?? 1) - 1;
      if (uses > 0) this.#used.set(path, uses);
      else this.#used.delete(path);
    };
  }

  /** Whether the file exists and matches its manifest. */
  async #isWhole(path: string, manifest: Manifest): Promise<boolean> {
    try {
      const noted = await stat(manifestPath(path));
      if (!encodeManifest(manifest).equals(await readFile(manifestPath(path)))) return false;
      if ((await stat(path)).size !== manifest.bytes) return false;
      if (noted.mtimeMs >= this.#startedMs) return true;
      const { digests } = await digestsOf(path);
      return manifest.chunks.every(({ digest }, index) => digest === digests[index]);
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  async #putTogether(path: string, wanted: SharedVersion): Promise<void> {
    await this.#makeFolder(wanted.folder);
    const unlock = await lockFile(join(this.#root, wanted.folder, 'cache.lock'), {
      waitMs: LONGEST_FETCH_MS,
    });
    try {
      if (await this.#isWhole(path, wanted.manifest)) return;
      await remove(path);
      // The processes that created them have ended, because the lock was free.
      await this.#dropPartial(wanted.folder, Number.POSITIVE_INFINITY);
      const partial = `${path}.${randomUUID()}.partial`;
      try {
        await this.#fill(partial, wanted);
        await rename(partial, path);
      } finally {
        await rm(partial, { force: true });
      }
      await writeManifest(path, wanted.manifest);
      await this.#dropSpilled(wanted.folder);
    } finally {
      unlock();
    }
    await this.#makeRoom();
  }

  /**
   * Starts with a copy of the nearest earlier version in the cache and fetches differing chunks.
   */
  async #fill(partial: string, { folder, publication, manifest, place }: SharedVersion): Promise<void> {
    const held = await this.#copyBase(folder, publication, partial);
    const file = await open(partial, held.length === 0 ? 'wx' : 'r+', 0o600);
    try {
      await file.truncate(manifest.bytes);
      const [wanted, known] = [manifest.chunks, held].map((chunks) => chunks.map(({ digest }) => digest));
      const lacking = differingChunks(wanted!, known!).map((index) => ({
        ...manifest.chunks[index]!,
        index,
      }));
      await download(lacking, { place, folder, file, fileBytes: manifest.bytes });
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /**
   * Copies the latest complete version before `publication` to `target`, and returns its chunks;
   * none if there is no such version.
   */
  async #copyBase(folder: string, publication: number, target: string): Promise<readonly NamedChunk[]> {
    const versions = await this.#versionsOf(folder);
    for (const version of versions.sort((one, other) => other.publication - one.publication)) {
      if (version.publication >= publication) continue;
      try {
        const manifest = decodeManifest(await readFile(manifestPath(version.path)));
        if (!(await this.#isWhole(version.path, manifest))) continue;
        await copyFile(version.path, target, constants.COPYFILE_FICLONE);
        return manifest.chunks;
      } catch {
        // Deleted in the meantime, or damaged: without it, more chunks are fetched.
        await rm(target, { force: true });
      }
    }
    return [];
  }

  /** Deletes what was left by commands that were killed, or that have lost their lease. */
  async #dropBuilding(folder: string, epoch: bigint): Promise<void> {
    for (const name of await namesIn(join(this.#root, folder))) {
      const other = BUILDING.exec(name)?.[1];
      if (other !== undefined && BigInt(other) < epoch) {
        await rm(join(this.#root, folder, name), { recursive: true, force: true });
      }
    }
  }

  async #dropPartial(folder: string, before: number): Promise<void> {
    for (const name of await namesIn(join(this.#root, folder))) {
      const publication = PARTIAL.exec(name)?.[1];
      if (publication === undefined || Number(publication) >= before) continue;
      await rm(join(this.#root, folder, name), { force: true });
    }
  }

  /** Deletes spill folders of killed processes; running processes record the use of theirs. */
  async #dropSpilled(folder: string): Promise<void> {
    for (const name of await namesIn(join(this.#root, folder))) {
      if (!SPILLED.test(name)) continue;
      const path = join(this.#root, folder, name);
      const { mtimeMs = Number.POSITIVE_INFINITY } = (await stat(path).catch(() => undefined)) ?? {};
      if (mtimeMs < Date.now() - IN_SERVICE_MS) await rm(path, { recursive: true, force: true });
    }
  }

  async #versionsOf(folder: string) {
    const names = await namesIn(join(this.#root, folder));
    return names.flatMap((name) => {
      const publication = VERSION.exec(name)?.[1];
      if (publication === undefined) return [];
      return [{ publication: Number(publication), path: join(this.#root, folder, name) }];
    });
  }

  /** Deletes the least recently used versions while the cache exceeds its limit. */
  async #makeRoom(): Promise<void> {
    const folders = await namesIn(this.#root);
    const versions = (await Promise.all(folders.map((folder) => this.#versionsOf(folder)))).flat();
    const files = await Promise.all(
      versions.map(async ({ path }) => {
        const { size = 0, atimeMs = 0 } = (await stat(path).catch(() => undefined)) ?? {};
        return { path, size: size + (await bytesOfImages(path)), atimeMs };
      }),
    );
    let bytes = files.reduce((sum, { size }) => sum + size, 0);
    for (const { path, size, atimeMs } of files.sort((one, other) => one.atimeMs - other.atimeMs)) {
      if (bytes <= this.#limitBytes) return;
      if (this.#used.has(path) || atimeMs > Date.now() - IN_SERVICE_MS) continue;
      await remove(path);
      bytes -= size;
    }
  }

  /** Updates access times, by which other processes see which versions are in service. */
  async #noteUse(): Promise<void> {
    for (const path of this.#used.keys()) await touch(path).catch(() => undefined);
    // Most do not exist: DuckDB creates them when it spills.
    for (const path of this.#spillFolders) await utimes(path, new Date(), new Date()).catch(() => undefined);
  }
}

function manifestPath(path: string): string {
  return path.replace(/\.duckdb$/, '.manifest');
}

async function writeManifest(path: string, manifest: Manifest): Promise<void> {
  const temporary = `${manifestPath(path)}.${randomUUID()}`;
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(encodeManifest(manifest));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, manifestPath(path));
}

/** Sets the access time of the file to now and keeps the modification time. */
async function touch(path: string): Promise<void> {
  const { mtime } = await stat(path);
  await utimes(path, new Date(), mtime);
}

function imagePathOf(path: string): string {
  return path.replace(/\.duckdb$/, '.image');
}

/** The image of a version, that of its fragments, and those that are being written. */
async function imagesOf(path: string): Promise<readonly string[]> {
  const image = imagePathOf(path);
  const names = await namesIn(dirname(path));
  return names.map((name) => join(dirname(path), name)).filter((file) => `${file}.`.startsWith(`${image}.`));
}

async function bytesOfImages(path: string): Promise<number> {
  const sizes = (await imagesOf(path)).map(
    async (image) => (await stat(image).catch(() => undefined))?.size ?? 0,
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** The manifest first: without it the file does not count. */
async function remove(path: string): Promise<void> {
  await rm(manifestPath(path), { force: true });
  for (const image of await imagesOf(path)) await rm(image, { force: true });
  await rm(path, { force: true });
}
