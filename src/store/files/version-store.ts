/**
 * The store: a catalog of organizations, and the versions of each as files. What a version is and
 * how the next one is made is the same wherever catalog and files lie.
 */
import { stat } from 'node:fs/promises';
import type { Counts, Dataset } from '../../dataset/dataset.ts';
import { AppError } from '../../domain/app-error.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { checkReplaceable } from '../organization-name.ts';
import type { OrganizationEntry, Publication, PublicationOptions, Settings, Store } from '../store.ts';
import { DuckdbPublication } from '../version/publish/publication.ts';
import { openGeneration, type VersionFile } from '../version/read/generation.ts';
import { openVersionRows } from '../version/read/version-rows.ts';
import type { VersionRows } from '../version-rows.ts';
import type { CopyOptions, Original, VersionFiles } from './version-files.ts';

export interface CopyOutcome {
  readonly entry: OrganizationEntry;
  /** Absent where nothing is published. */
  readonly counts: Counts | undefined;
}

export interface Prefetched {
  readonly organization: string;
  /** Absent where nothing is published. */
  readonly version: string | undefined;
  /** Of its file. */
  readonly bytes: number;
}

export class VersionStore implements Store {
  readonly #catalog: Catalog;
  readonly #files: VersionFiles;

  constructor(catalog: Catalog, files: VersionFiles) {
    this.#catalog = catalog;
    this.#files = files;
  }

  async organizations(): Promise<readonly OrganizationEntry[]> {
    return await this.#catalog.all();
  }

  async organization(name: string): Promise<OrganizationEntry> {
    return await this.#catalog.entry(name);
  }

  async createOrganization(name: string, settings: Partial<Settings>): Promise<OrganizationEntry> {
    return await this.#catalog.create(name, settings);
  }

  async currentVersion(name: string): Promise<string | undefined> {
    return await this.#catalog.currentVersion(name);
  }

  watch(onPublished: (organization: string) => void): () => void {
    return this.#catalog.watch?.(onPublished) ?? (() => undefined);
  }

  async openDataset(name: string): Promise<Dataset | undefined> {
    return await this.#withCurrent(name, async ({ file }) => file && (await openGeneration(file)));
  }

  async openEarlier(name: string): Promise<Dataset | undefined> {
    for await (const file of this.#files.earlier(await this.#catalog.entry(name))) {
      try {
        return await openGeneration(file);
      } catch {
        // Damaged as well, or removed by a publication; the one before it may be there.
      }
    }
    return undefined;
  }

  async beginPublication(name: string, options: PublicationOptions): Promise<Publication> {
    const next = await this.#files.begin(name, options);
    try {
      return await DuckdbPublication.begin(next);
    } catch (error) {
      await next.discard();
      throw error;
    }
  }

  /** The rows of the version in force, for an export. Throws `organization-unknown`. The caller closes them. */
  async openRows(name: string): Promise<VersionRows> {
    return await this.#withCurrent(name, async ({ entry, file }) => await openVersionRows(entry, file));
  }

  /** Has the file of the version in force, whole, where it is read from. Throws `organization-unknown`. */
  async prefetch(name: string): Promise<Prefetched> {
    return await this.#withCurrent(name, async ({ entry, file }) => {
      const size = file === undefined ? 0 : (await stat(file.path)).size;
      file?.release();
      return { organization: entry.name, version: entry.version, bytes: size };
    });
  }

  /**
   * Copies an organization with its version in force into another store. Throws
   * `organization-unknown`, and what `adopt` of the other store throws.
   */
  async copyTo(target: VersionStore, name: string, options: CopyOptions): Promise<CopyOutcome> {
    return await this.#withCurrent(name, async (original) => {
      try {
        const counts = original.file && (await countsOf(original.file));
        await target.adopt(original, options);
        return { entry: original.entry, counts };
      } finally {
        original.file?.release();
      }
    });
  }

  /** Throws `organization-exists` when there is one of this name that cannot be replaced by a copy. */
  async checkFree(name: string): Promise<void> {
    checkReplaceable(await this.#catalog.find(name), name);
  }

  /**
   * Makes the copy and puts it in force in one step; when it fails, nothing is in force. An
   * organization of the same name without data is replaced. Throws what `checkFree` throws, and
   * `organization-busy`.
   */
  async adopt(original: Original, options: CopyOptions): Promise<void> {
    const { name, settings } = original.entry;
    if ((await this.#catalog.find(name)) === undefined) await this.#catalog.create(name, settings);
    await this.#files.adopt(original, options);
  }

  async close(): Promise<void> {
    await this.#files.close();
    await this.#catalog.close();
  }

  /** `use` fails as a whole, also when the file has gone since the catalog was asked: then it is asked again. */
  async #withCurrent<T>(name: string, use: (original: Original) => Promise<T>): Promise<T> {
    for (;;) {
      const entry = await this.#catalog.entry(name);
      try {
        return await use({ entry, file: await this.#files.current(entry) });
      } catch (error) {
        // Who has waited for the database once need not wait for it again.
        if (error instanceof AppError && error.code === 'database-away') throw error;
        // Three publications may have passed since the catalog was asked; only an unchanged one is an error.
        if ((await this.#catalog.currentVersion(name)) === entry.version) throw error;
      }
    }
  }
}

async function countsOf(file: VersionFile): Promise<Counts> {
  const dataset = await openGeneration({ ...file, release: () => undefined });
  await dataset.close();
  return dataset.counts;
}
