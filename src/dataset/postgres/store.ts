/**
 * The store in PostgreSQL: any number of processes on any number of machines write to and read from one database, and
 * keep nothing of their own. What the tables mean stands in `schema.ts`.
 */
import type { Dataset } from '../dataset.ts';
import type { OrganizationEntry, Publication, PublicationOptions, Settings, Store } from '../store.ts';
import { Catalog } from './catalog.ts';
import { Database } from './database.ts';
import { checkMigrations } from './migrate.ts';
import { PostgresPublication } from './publication.ts';
import { Replicas } from './replicas.ts';
import { openVersion } from './version.ts';
import { Watch } from './watch.ts';

/**
 * `readUrls`: of replicas, which answer about versions as long as they are there. Throws `database-away`, and what
 * `checkMigrations` throws when the database has not the tables that it needs.
 */
export async function openPostgresStore(url: string, readUrls: readonly string[] = []): Promise<Store> {
  const database = new Database(url);
  try {
    await checkMigrations(database);
  } catch (error) {
    await database.close();
    throw error;
  }
  return new PostgresStore(database, new Replicas(database, readUrls));
}

class PostgresStore implements Store {
  readonly #database: Database;
  readonly #replicas: Replicas;
  readonly #catalog: Catalog;
  readonly #watches = new Set<Watch>();

  constructor(database: Database, replicas: Replicas) {
    this.#database = database;
    this.#replicas = replicas;
    this.#catalog = new Catalog(database);
  }

  async organizations(): Promise<readonly OrganizationEntry[]> {
    return await this.#catalog.all();
  }

  async organization(name: string): Promise<OrganizationEntry> {
    return await this.#catalog.entry(name);
  }

  async createOrganization(name: string, settings: Partial<Settings>): Promise<OrganizationEntry> {
    return await Catalog.create(this.#database, name, settings);
  }

  async currentVersion(name: string): Promise<string | undefined> {
    return await this.#catalog.currentVersion(name);
  }

  async openDataset(name: string): Promise<Dataset | undefined> {
    // What was in force a moment ago is kept for an hour, so that nothing can be pruned in between.
    const { organization, publication, version } = await this.#catalog.entry(name);
    if (publication === undefined || version === undefined) return undefined;
    const at = { organization, publication, version };
    return await openVersion(await this.#replicas.reading(at), at);
  }

  watch(onPublished: (organization: string) => void): () => void {
    const watch = new Watch(this.#database, onPublished);
    this.#watches.add(watch);
    return () => {
      this.#watches.delete(watch);
      void watch.end();
    };
  }

  async beginPublication(name: string, options: PublicationOptions): Promise<Publication> {
    return await PostgresPublication.begin(this.#database, name, options);
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#watches, (watch) => watch.end()));
    await this.#replicas.close();
    await this.#database.close();
  }
}
