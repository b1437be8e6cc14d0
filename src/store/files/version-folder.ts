/**
 * The version files of an organization: their names, building the next one, making it durable,
 * deleting old ones.
 */
import { hash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, link, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isMissing } from '../../system/file-errors.ts';
import type { FilePart } from '../../system/file-part.ts';
import { namesIn, readIfExists } from '../../system/if-exists.ts';
import { synchronize } from '../../system/synchronize.ts';
import { type ChunkDigests, digestsOf, digestsWithout } from '../chunks/chunk-digests.ts';
import { KEPT_VERSIONS, type Rules } from '../store.ts';
import { unreadableVersion } from '../unreadable-version.ts';
import { versionOfImage } from '../version/read/image-file.ts';
import type { VersionFile } from '../version/read/opened-version.ts';
import {
  encodeDigests,
  isAsRecorded,
  isDamaged,
  manifestName,
  readChunkDigests,
} from './recorded-digests.ts';
import { SpareVersion } from './spare-version.ts';
import { registerReader, withoutReaders } from './version-readers.ts';

const REMOVAL_RETRIES = 5;

/**
 * Contains the number of the oldest version that may be kept, and its digest; earlier versions of
 * Corkboard wrote the number alone.
 */
const OLDEST = 'oldest';
const OLDEST_TEXT = /^(\d+)(?: ([0-9a-f]{64})\n)?$/;

const UNFINISHED_DIGESTS = /\.(?:manifest|sha256)\.tmp$/;
const PUBLISHED = /^(\d+)\.duckdb$/;
/** A version, its digests, its memory image, or the list of its readers, which SQLite locks. */
const OF_VERSION = /^(\d+)\.(?:duckdb|manifest|sha256|image|readers(?:-journal)?)$/;
/**
 * DuckDB's temporary files of a process that reads a version. Earlier releases left out its number.
 */
const SPILLED = /^reading-(?:(\d+)-)?.*\.tmp$/;

export class VersionFolder {
  readonly #folder: string;
  readonly #spillingFolder: string;
  readonly #spare: SpareVersion;
  /** The version from which the next one is built. */
  #copied: number | undefined;
  /** Whether the file system clones files; then no spare is needed. */
  #isCloned = false;

  /** `spillingFolder`: where DuckDB can spill data; absent: beside the versions. */
  constructor(organizationFolder: string, leastSpareBytes: number, spillingFolder?: string) {
    this.#folder = join(organizationFolder, 'generations');
    this.#spillingFolder = spillingFolder ?? this.#folder;
    this.#spare = new SpareVersion(this.#folder, leastSpareBytes);
  }

  file(generation: number): string {
    return join(this.#folder, `${generation}.duckdb`);
  }

  image(generation: number): string {
    return join(this.#folder, `${generation}.image`);
  }

  /**
   * Begins to read a version; call it before the file is opened. Deletes what killed processes have
   * spilled while they read it.
   */
  async read(generation: number): Promise<Omit<VersionFile, 'expected'>> {
    // A folder that can only be read is served as well.
    await this.#dropSpilled(generation).catch(() => undefined);
    return {
      path: this.file(generation),
      spillFolder: this.spillFolder(`reading-${generation}`),
      release: registerReader(this.#spare.readers(generation)),
    };
  }

  path(name: string): string {
    return join(this.#folder, name);
  }

  /**
   * Folder for data that DuckDB spills from memory. Each opening has its own, because two would mix
   * their files.
   */
  spillFolder(purpose: string): string {
    return join(this.#spillingFolder, `${purpose}-${randomUUID()}.tmp`);
  }

  get building(): string {
    return join(this.#folder, 'next.building');
  }

  /**
   * Puts a copy of the current version at `building`, or nothing if there is none. Requires the
   * publication lock.
   */
  async prepare(current: number | undefined): Promise<void> {
    const made = await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    if (made !== undefined) {
      // A power failure can remove a folder that was just created, and the first version with it.
      const organization = dirname(this.#folder);
      const organizations = dirname(organization);
      for (const folder of [organization, organizations, dirname(organizations)]) await synchronize(folder);
    }
    await this.discard();
    this.#copied = current;
    if (current === undefined) return;
    this.#isCloned = await clone(this.file(current), this.building);
    if (this.#isCloned || (await this.#spare.take(current, this.building))) return;
    await this.#spare.drop();
    await copyFile(this.file(current), this.building).catch((error: unknown) => {
      throw isMissing(error) ? unreadableVersion(error) : error;
    });
  }

  /**
   * Deletes everything, durably. Requires the publication lock, and that there is no current
   * version.
   */
  async clear(): Promise<void> {
    // A server can add a file meanwhile.
    await rm(this.#folder, { recursive: true, force: true, maxRetries: REMOVAL_RETRIES });
    await synchronize(dirname(this.#folder));
  }

  /**
   * Records the digests of the finished file and renames it, durably. The catalog makes it current
   * later. `written`: the writes to the file since it was a copy.
   */
  async settle(generation: number, written?: readonly FilePart[]): Promise<void> {
    const copied = await this.#digested(this.#copied);
    const known = copied && digestsWithout(copied, written);
    const [digests] = await Promise.all([digestsOf(this.building, { known }), synchronize(this.building)]);
    await this.#write(manifestName(generation), encodeDigests(digests));
    await rename(this.building, this.file(generation));
    await synchronize(this.#folder);
  }

  /**
   * Lets readers of the finished file register, if it is large, so that it can become a spare. Call
   * it before `settle`.
   */
  async expectReaders(generation: number): Promise<void> {
    const { size } = await stat(this.building);
    if (this.#spare.isFor(size)) await writeFile(this.#spare.readers(generation), '');
  }

  /**
   * Puts all versions of `other` into this folder as well, without using disk space if the file
   * system has hard links. Deletes everything else here. Requires both publication locks.
   */
  async linkFrom(other: VersionFolder): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    for (const name of await namesIn(other.#folder)) {
      if (name !== OLDEST && !OF_VERSION.test(name)) continue;
      await linkOrCopy(join(other.#folder, name), join(this.#folder, name));
    }
    const organization = dirname(this.#folder);
    for (const folder of [this.#folder, organization, dirname(organization)]) await synchronize(folder);
  }

  /** Deletes leftovers of a publication that did not end. Requires the publication lock. */
  async discard(): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      if (UNFINISHED_DIGESTS.test(name)) await this.#remove(name);
      if (name.startsWith('next.building') || name.startsWith('building-')) await this.#remove(name);
    }
  }

  /**
   * From now on, versions before `generation` are not served, and the next `prune` deletes them
   * (decision 54).
   */
  async keepFrom(generation: number): Promise<void> {
    await this.#write(OLDEST, `${generation} ${hash('sha256', String(generation))}\n`);
    await synchronize(this.#folder);
  }

  /**
   * Deletes versions that are too old to be kept by the rules, or never became current, with their
   * images. One of these versions may become the spare.
   */
  async prune(current: number, rules: Rules): Promise<void> {
    const oldest = Math.max(await this.#oldestKept(current, rules), await this.oldest());
    await this.#makeSpare(current, oldest);
    for (const name of await readdir(this.#folder)) {
      const generation = versionOf(name) ?? current;
      if (generation > current || (generation < oldest && generation !== current)) {
        await this.#dropSpilled(generation);
        await this.#remove(name);
      }
    }
  }

  /**
   * The latest version that is not kept any longer has the most chunks in common with the current
   * one.
   */
  async #makeSpare(current: number, oldest: number): Promise<void> {
    const retired = (await this.before(current)).find((generation) => generation < oldest);
    // Without a spare the next publication copies the current version.
    if (retired !== undefined && !this.#isCloned) {
      await this.#spare.make(retired, current, `${this.building}.spare`).catch(() => undefined);
    }
    await this.#spare.drop(current);
  }

  /** The number of the oldest version that the rules keep. */
  async #oldestKept(
    current: number,
    { keptVersions = KEPT_VERSIONS, keptVersionsMs }: Rules,
  ): Promise<number> {
    let oldest = current - keptVersions + 1;
    if (keptVersionsMs === undefined) return oldest;
    const sinceMs = Date.now() - keptVersionsMs;
    for (const generation of await this.before(current)) {
      if (generation < oldest && (await stat(this.file(generation))).mtimeMs >= sinceMs) oldest = generation;
    }
    return oldest;
  }

  /** Versions before the current one that may still be served, latest first (decision 54). */
  async before(current: number): Promise<readonly number[]> {
    const oldest = await this.oldest();
    const published = (await readdir(this.#folder)).map((name) => Number(PUBLISHED.exec(name)?.[1]));
    return published
      .filter((generation) => generation >= oldest && generation < current)
      .sort((one, other) => other - one);
  }

  /**
   * Whether the file of a version is what was published; absent if that is not known. Throws
   * `data-unreadable` when the record of its digests is damaged.
   */
  async isAsPublished(generation: number, onBytes?: (bytes: number) => void): Promise<boolean | undefined> {
    return await isAsRecorded(this.#folder, generation, onBytes);
  }

  /** Names of files that no version needs, and no reader has. Requires the publication lock. */
  async leftOvers(current: number | undefined): Promise<readonly string[]> {
    const kept = new Set(current === undefined ? [] : [current, ...(await this.before(current))]);
    const spare = current === undefined ? undefined : await this.#spare.nameFor(current);
    return (await namesIn(this.#folder)).filter((name) => {
      if (name === OLDEST || name === spare || SPILLED.test(name)) return false;
      const generation = versionOf(name);
      return generation === undefined || !kept.has(generation);
    });
  }

  /** Deletes a version that never became current. */
  async drop(generation: number): Promise<void> {
    const names = [`${generation}.duckdb`, manifestName(generation), `${generation}.readers`];
    for (const name of names) await this.#remove(name);
  }

  /** Does nothing if the version is being read, or is so small that its readers do not register. */
  async #dropSpilled(generation: number): Promise<void> {
    const spilled = (await namesIn(this.#folder)).filter(
      (name) => Number(SPILLED.exec(name)?.[1]) === generation,
    );
    if (spilled.length === 0) return;
    const isFree = await withoutReaders(this.#spare.readers(generation), () => Promise.resolve(true));
    if (isFree === true) for (const name of spilled) await this.#remove(name);
  }

  async #digested(generation: number | undefined): Promise<ChunkDigests | undefined> {
    if (generation === undefined) return undefined;
    // If they are damaged, `check` says so. Nothing else depends on them.
    return await readChunkDigests(this.#folder, generation).catch(() => undefined);
  }

  /**
   * The number of the oldest version that may be served: a copy that replaced all versions before
   * it, or the first one after somebody was forgotten. 0: any may. Throws `data-unreadable` when
   * the file is damaged.
   */
  async oldest(): Promise<number> {
    const path = join(this.#folder, OLDEST);
    const text = (await readIfExists(path))?.toString();
    if (text === undefined) return 0;
    const [, number, digest] = OLDEST_TEXT.exec(text) ?? [];
    if (number === undefined || (digest ?? hash('sha256', number)) !== hash('sha256', number)) {
      throw isDamaged(path);
    }
    return Number(number);
  }

  /** Replaces a file durably, once the folder is synchronized. */
  async #write(name: string, content: string | Uint8Array): Promise<void> {
    const file = join(this.#folder, name);
    await writeFile(`${file}.tmp`, content);
    await synchronize(`${file}.tmp`);
    await rename(`${file}.tmp`, file);
  }

  async #remove(name: string): Promise<void> {
    await rm(join(this.#folder, name), { recursive: true, force: true });
  }
}

/** The version to which a file belongs; undefined for files that belong to none. */
function versionOf(name: string): number | undefined {
  const generation = OF_VERSION.exec(name)?.[1];
  return generation === undefined ? versionOfImage(name) : Number(generation);
}

/** Returns whether the file system can make a copy that shares its blocks with the original. */
async function clone(from: string, to: string): Promise<boolean> {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE_FORCE);
    return true;
  } catch {
    // Any other failure happens again when it is copied.
    return false;
  }
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    // A server may have deleted an image that does not match.
    if (isMissing(error)) return;
    await copyFile(from, to, constants.COPYFILE_FICLONE);
    await synchronize(to);
  }
}
