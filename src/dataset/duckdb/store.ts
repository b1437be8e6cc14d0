/**
 * The embedded store: a data directory with a catalog, and for every organization a folder of generations. A
 * generation is a DuckDB file that never changes once it is published; the last three are kept.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { organizationFolder } from '../../organization-folders.ts';
import type { Dataset } from '../dataset.ts';
import type { OrganizationEntry, Publication, PublicationOptions, Settings, Store } from '../store.ts';
import { Catalog } from './catalog.ts';
import { openGeneration } from './generation.ts';
import { Generations } from './generations.ts';
import { DuckdbPublication } from './publication.ts';
import { acquirePublicationLock } from './publication-lock.ts';

/** Opens the data folder, making it when there is none. Throws `data-unreadable`. */
export async function openDuckdbStore(dataFolder: string): Promise<Store> {
  return new DuckdbStore(dataFolder, new Catalog(dataFolder));
}

class DuckdbStore implements Store {
  readonly #dataFolder: string;
  readonly #catalog: Catalog;

  constructor(dataFolder: string, catalog: Catalog) {
    this.#dataFolder = dataFolder;
    this.#catalog = catalog;
  }

  async organizations(): Promise<readonly OrganizationEntry[]> {
    return this.#catalog.all();
  }

  async organization(name: string): Promise<OrganizationEntry> {
    return this.#catalog.entry(name);
  }

  async createOrganization(name: string, settings: Partial<Settings>): Promise<OrganizationEntry> {
    return this.#catalog.create(name, settings);
  }

  async currentVersion(name: string): Promise<string | undefined> {
    return this.#catalog.currentVersion(name);
  }

  async openDataset(name: string): Promise<Dataset | undefined> {
    for (;;) {
      const { name: folder, generation, version } = this.#catalog.entry(name);
      if (generation === undefined) return undefined;
      const generations = new Generations(organizationFolder(this.#dataFolder, folder));
      try {
        return await openGeneration(generations.file(generation), generations.spillFolder('reading'));
      } catch (error) {
        // Three publications may have passed since the catalog was asked; only an unchanged one is an error.
        if (this.#catalog.currentVersion(name) === version) throw error;
      }
    }
  }

  async openEarlier(name: string): Promise<Dataset | undefined> {
    const { name: folder, generation } = this.#catalog.entry(name);
    if (generation === undefined) return undefined;
    const generations = new Generations(organizationFolder(this.#dataFolder, folder));
    for (const earlier of await generations.before(generation)) {
      try {
        return await openGeneration(generations.file(earlier), generations.spillFolder('reading'));
      } catch {
        // Damaged as well, or removed by a publication; the one before it may be there.
      }
    }
    return undefined;
  }

  async beginPublication(name: string, options: PublicationOptions): Promise<Publication> {
    const folder = organizationFolder(this.#dataFolder, this.#catalog.entry(name).name);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const release = await acquirePublicationLock(join(folder, 'publication.lock'), options);
    try {
      // Read again: what is in force may have changed while waiting.
      const entry = this.#catalog.entry(name);
      return await DuckdbPublication.begin(this.#catalog, entry, new Generations(folder), release);
    } catch (error) {
      release();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#catalog.close();
  }
}
