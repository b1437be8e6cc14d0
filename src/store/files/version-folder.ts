/**
 * The version files of an organization: their names, building the next one, making it durable,
 * deleting old ones.
 */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** How many versions stay on disk, for responses in flight and as a history. */
const KEPT = 3;

/** Contains the number of the oldest version that may be kept. */
const OLDEST = 'oldest';

const PUBLISHED = /^(\d+)\.duckdb$/;

export class VersionFolder {
  readonly #folder: string;

  constructor(organizationFolder: string) {
    this.#folder = join(organizationFolder, 'generations');
  }

  file(generation: number): string {
    return join(this.#folder, `${generation}.duckdb`);
  }

  /**
   * Folder for data that DuckDB spills from memory. Each opening has its own, because two would mix
   * their files.
   */
  spillFolder(purpose: string): string {
    return join(this.#folder, `${purpose}-${randomUUID()}.tmp`);
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
    if (current !== undefined) {
      await copyFile(this.file(current), this.building, constants.COPYFILE_FICLONE);
    }
  }

  /** Renames the finished file, durably. The catalog makes it current later. */
  async settle(generation: number): Promise<void> {
    await synchronize(this.building);
    await rename(this.building, this.file(generation));
    await synchronize(this.#folder);
  }

  /** Deletes leftovers of a publication that did not end. Requires the publication lock. */
  async discard(): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      if (name.startsWith('next.building') || name.startsWith('building-')) await this.#remove(name);
    }
  }

  /**
   * From now on, versions before `generation` are not served, and the next `prune` deletes them
   * (decision 54).
   */
  async keepFrom(generation: number): Promise<void> {
    const file = join(this.#folder, OLDEST);
    await writeFile(`${file}.tmp`, String(generation));
    await synchronize(`${file}.tmp`);
    await rename(`${file}.tmp`, file);
    await synchronize(this.#folder);
  }

  /** Deletes versions that are too old to be kept, or never became current. */
  async prune(current: number): Promise<void> {
    const oldest = Math.max(current - KEPT + 1, await this.#oldest());
    for (const name of await readdir(this.#folder)) {
      const generation = Number(PUBLISHED.exec(name)?.[1] ?? current);
      if (generation > current || (generation < oldest && generation !== current)) await this.#remove(name);
    }
  }

  /** Versions before the current one that may still be served, latest first (decision 54). */
  async before(current: number): Promise<readonly number[]> {
    const oldest = await this.#oldest();
    const published = (await readdir(this.#folder)).map((name) => Number(PUBLISHED.exec(name)?.[1]));
    return published
      .filter((generation) => generation >= oldest && generation < current)
      .sort((one, other) => other - one);
  }

  async #oldest(): Promise<number> {
    try {
      return Number(await readFile(join(this.#folder, OLDEST), 'utf8'));
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 0;
      throw error;
    }
  }

  async #remove(name: string): Promise<void> {
    await rm(join(this.#folder, name), { recursive: true, force: true });
  }
}

async function synchronize(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
