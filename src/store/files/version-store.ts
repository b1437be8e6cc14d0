/**
 * The store: a catalog of organizations, and their versions as files. Versions and their creation
 * are the same for every kind of catalog and file storage.
 */
import { stat } from 'node:fs/promises';
import type { Counts, Dataset } from '../../dataset/dataset.ts';
import { AppError } from '../../domain/app-error.ts';
import { type BuildMemory, buildMemory } from '../build-memory.ts';
import type { Catalog, CatalogEntry, ReplacedOrganization } from '../catalog/catalog.ts';
import { checkOrganizationName, refuseRemoved, unfinishedRemoval } from '../organization-name.ts';
import type {
  OrganizationEntry,
  Outcome,
  Publication,
  PublicationOptions,
  PublishedVersion,
  RuleChanges,
  Settings,
  Store,
  StoreChange,
  VersionDifference,
} from '../store.ts';
import { DuckdbPublication } from '../version/publish/publication.ts';
import type { VersionFile } from '../version/read/opened-version.ts';
import { openVersionDataset } from '../version/read/version-dataset.ts';
import { readDifference, readHistory } from '../version/read/version-history.ts';
import { openVersionRows } from '../version/read/version-rows.ts';
import type { VersionRows } from '../version-rows.ts';
import type { CheckFinding, CheckProgress } from './check-report.ts';
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

export interface CopyOutcome {
  readonly entry: OrganizationEntry;
  /** Absent if nothing is published. */
  readonly counts: Counts | undefined;
}

export interface Prefetched {
  readonly organization: string;
  /** Absent if nothing is published. */
  readonly version: string | undefined;
  /** Size of the file. */
  readonly bytes: number;
}

export class VersionStore implements Store {
  readonly #catalog: Catalog;
  readonly #files: VersionFiles;
  readonly #buildMemory: BuildMemory;
  #onChange: (change: StoreChange) => Promise<void> = async () => undefined;

  constructor(catalog: Catalog, files: VersionFiles, memory = buildMemory()) {
    this.#buildMemory = memory;
    this.#catalog = catalog;
    this.#files = files;
  }

  /**
   * `onChange` is called after every change of this store, when it has taken effect; the method
   * that made the change waits for it.
   */
  observe(onChange: (change: StoreChange) => Promise<void>): void {
    this.#onChange = onChange;
  }

  async organizations(): Promise<readonly OrganizationEntry[]> {
    return await this.#catalog.all();
  }

  async countPublished(): Promise<number> {
    return await this.#catalog.countPublished();
  }

  async organization(name: string): Promise<OrganizationEntry> {
    return await this.#catalog.entry(name);
  }

  async createOrganization(name: string, settings: Partial<Settings>): Promise<OrganizationEntry> {
    const entry = await this.#catalog.create(name, settings);
    await this.#onChange({ type: 'created', organization: entry.name, settings: entry.settings });
    return entry;
  }

  async changeRules(name: string, changes: RuleChanges): Promise<void> {
    const entry = await this.#catalog.entry(name);
    refuseRemoved(entry);
    const { name: organization, rules: before } = entry;
    await this.#catalog.changeRules(name, changes);
    await this.#onChange({ type: 'rules-changed', organization, before, after: { ...before, ...changes } });
  }

  async currentVersion(name: string): Promise<string | undefined> {
    return await this.#catalog.currentVersion(name);
  }

  watch(onPublished: (organization: string) => void): () => void {
    return this.#catalog.watch?.(onPublished) ?? (() => undefined);
  }

  async openDataset(name: string): Promise<Dataset | undefined> {
    return await this.#withCurrent(name, async ({ file }) => file && (await openVersionDataset(file)));
  }

  async openEarlier(name: string): Promise<Dataset | undefined> {
    const entry = await this.#catalog.entry(name);
    for (const publication of await this.#files.kept(entry)) {
      if (publication === entry.publication) continue;
      try {
        return await openVersionDataset(await this.#files.file(entry, publication));
      } catch {
        // Damaged as well, or deleted by a publication. An earlier version may be readable.
      }
    }
    return undefined;
  }

  async beginPublication(name: string, options: PublicationOptions): Promise<Publication> {
    return await this.#begin(name, options);
  }

  /** All publications that are known, latest first. Throws `organization-unknown`. */
  async versions(name: string): Promise<readonly PublishedVersion[]> {
    return await this.#withCurrent(name, async ({ entry, file }) => {
      const kept = await this.#files.kept(entry);
      const known = new Map<string, Omit<PublishedVersion, 'isKept'>>();
      const keptVersions = new Set<string>();
      for (const publication of kept) {
        const recorded = [...known.values()].find((one) => one.publication === publication);
        if (recorded !== undefined) {
          keptVersions.add(recorded.version);
          continue;
        }
        const isCurrent = file !== undefined && publication === entry.publication;
        const history = isCurrent
          ? await readHistory(file)
          : await readHistory(await this.#files.file(entry, publication)).catch(() => []);
        for (const one of history) if (!known.has(one.version)) known.set(one.version, one);
        const own = history.toSorted((one, other) => other.publication - one.publication)[0];
        if (own === undefined) continue;
        // A restored version has the number of its original in its history.
        known.set(own.version, { ...own, publication });
        keptVersions.add(own.version);
      }
      return [...known.values()]
        .map((one) => ({ ...one, isKept: keptVersions.has(one.version) }))
        .sort((one, other) => other.publication - one.publication);
    });
  }

  /** The differences from one kept version to another one. Throws `version-unknown`. */
  async difference(name: string, from: number, to: number): Promise<VersionDifference> {
    const entry = await this.#catalog.entry(name);
    return await readDifference(await this.#keptFile(entry, from), await this.#keptFile(entry, to));
  }

  /**
   * Publishes the content and settings of an earlier version as the next one (decision 83), without
   * its events that are too old to be kept. Throws `version-unknown`, `removal-refused` if too many
   * events of the current version are (decision 85), and the errors of a publication.
   */
  async rollBack(name: string, to: number, options: PublicationOptions): Promise<Outcome> {
    const publication = await this.#begin(name, { ...options, from: to, whenOverdue: 'refuse' });
    try {
      await publication.restore();
      return await publication.publish();
    } finally {
      await publication.discard();
    }
  }

  async #begin(name: string, options: BeginOptions): Promise<DuckdbPublication> {
    const next = await this.#files.begin(name, options);
    try {
      refuseRemoved(next.entry);
      const { cause } = options;
      const { name: organization, settings: before } = next.entry;
      return await DuckdbPublication.begin(next, this.#buildMemory, options, (outcome, after) =>
        this.#onChange({ type: 'published', organization, cause, before, after, outcome }),
      );
    } catch (error) {
      await next.discard();
      throw error;
    }
  }

  /**
   * The rows of the current version, for an export. Throws `organization-unknown`. The caller
   * closes them.
   */
  async openRows(name: string): Promise<VersionRows> {
    return await this.#withCurrent(name, async ({ entry, file }) => await openVersionRows(entry, file));
  }

  /**
   * Makes the complete file of the current version available locally. Throws
   * `organization-unknown`, `data-unreadable`.
   */
  async prefetch(name: string): Promise<Prefetched> {
    return await this.#withCurrent(name, async ({ entry, file }) => {
      const rows = await openVersionRows(entry, file);
      const size = file === undefined ? 0 : (await stat(file.path)).size;
      await rows.close();
      return { organization: entry.name, version: entry.version, bytes: size };
    });
  }

  /**
   * Copies an organization with its current version into a different store. Throws
   * `organization-unknown`, and the errors of `adopt` of that store.
   */
  async copyTo(target: VersionStore, name: string, options: CopyOptions): Promise<CopyOutcome> {
    return await this.#withCurrent(name, async (original) => {
      try {
        const counts = await countsOf(original);
        await this.#files.verify(original);
        const replaced = await target.replacedBy(original.entry);
        const entry = { ...original.entry, name: replaced?.name ?? original.entry.name };
        await target.adopt([{ ...original, entry }], options);
        return { entry, counts };
      } finally {
        original.file?.release();
      }
    });
  }

  /**
   * The organization that a copy of `original` replaces; absent if there is none. Throws
   * `organization-exists` if it has a different name, or if a different organization has its name.
   */
  async replacedBy(original: OrganizationEntry): Promise<ReplacedOrganization | undefined> {
    return await this.#catalog.replacedBy(original);
  }

  /**
   * The names that keys of an organization may have: its own, and those before a renaming that has
   * not finished.
   */
  async namesOf(name: string): Promise<readonly string[]> {
    const { name: own } = await this.#catalog.entry(name);
    return [own, ...(await this.#catalog.formerNames(own))];
  }

  /**
   * The entry of an organization with its current file. The caller releases it. Throws
   * `organization-unknown`.
   */
  async original(name: string): Promise<Original> {
    return await this.#withCurrent(name, async (original) => original);
  }

  /**
   * Copies organizations and makes the copies current, all in one step; if that fails, nothing
   * changes. Each has the name of its entry, and replaces the same organization, or one of its name
   * without data; one with data only with `options.replace`. An organization that was here before
   * keeps its rules. Throws the errors of `replacedBy`, `organization-exists` and
   * `organization-busy`.
   */
  async adopt(originals: readonly Adopted[], options: AdoptOptions): Promise<void> {
    const replaced = new Map((await this.#catalog.all()).map(({ name, version }) => [name, version]));
    await this.#files.adopt(originals, options);
    for (const { entry } of originals) {
      const { rules } = await this.#catalog.entry(entry.name);
      await this.#onChange({
        type: 'copied-here',
        organization: entry.name,
        version: entry.version,
        replaced: replaced.get(entry.name),
        rules,
        cause: options.cause,
      });
    }
  }

  /**
   * Changes the name of an organization on the command line. Its data and its secret stay the same.
   * Throws `organization-unknown`, `organization-exists`, `organization-malformed`,
   * `organization-busy`.
   */
  async rename(name: string, newName: string, options: RenameOptions): Promise<OrganizationEntry> {
    checkOrganizationName(newName);
    refuseRemoved(await this.#catalog.entry(name));
    await this.#files.rename(name, newName, options);
    const entry = await this.#catalog.entry(newName);
    await this.#onChange({ type: 'renamed', organization: entry.name, before: name });
    return entry;
  }

  /**
   * Deletes an organization with its data, its secret and its keys. Throws `organization-unknown`,
   * `organization-busy`.
   */
  async remove(name: string, options: RemoveOptions): Promise<void> {
    checkOrganizationName(name);
    await this.#files.remove(name, options);
    await this.#onChange({ type: 'removed', organization: name });
  }

  /** Checks the catalog, and all kept versions of organizations; all of them without `names`. */
  async check(
    names: readonly string[] | undefined,
    onFinding: (finding: CheckFinding) => void,
    { onBytes }: CheckProgress,
  ): Promise<readonly string[]> {
    for (const message of await this.#catalog.findDamage()) {
      onFinding({ level: 'damage', organization: undefined, message });
    }
    const all = await this.#catalog.names();
    for (const message of await this.#files.strays(all)) {
      onFinding({ level: 'damage', organization: undefined, message });
    }
    const checked = names ?? all;
    for (const name of checked) for (const finding of await this.#checkOne(name, onBytes)) onFinding(finding);
    return checked;
  }

  async #keptFile(entry: CatalogEntry, publication: number): Promise<VersionFile> {
    if (!(await this.#files.kept(entry)).includes(publication)) throw notKept(publication);
    return await this.#files.file(entry, publication);
  }

  async #checkOne(name: string, onBytes: CheckProgress['onBytes']): Promise<readonly CheckFinding[]> {
    for (;;) {
      const findings: CheckFinding[] = [];
      const add = (level: CheckFinding['level']) => (message: string) =>
        void findings.push({ level, organization: name, message });
      const report = { damage: add('damage'), note: add('note'), onBytes };
      let version: string | undefined;
      try {
        const entry = await this.#catalog.entry(name);
        version = entry.version;
        if (entry.isBeingRemoved) report.damage(unfinishedRemoval(entry.name));
        await this.#files.check(entry, report);
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'data-unreadable') throw error;
        report.damage(error.message);
        return findings;
      }
      // Files of earlier versions may have been deleted by a publication while they were read.
      if (findings.length === 0 || (await this.#catalog.currentVersion(name)) === version) return findings;
    }
  }

  async close(): Promise<void> {
    await this.#files.close();
    await this.#catalog.close();
  }

  /**
   * Runs `use` with the current version. If it fails and the version has changed in the meantime,
   * runs it again, because the file may have been deleted. A failing `use` must leave nothing
   * behind.
   */
  async #withCurrent<T>(name: string, use: (original: Original) => Promise<T>): Promise<T> {
    for (;;) {
      const entry = await this.#catalog.entry(name);
      try {
        return await use({ entry, file: await this.#files.current(entry) });
      } catch (error) {
        // A caller that has waited for the database once need not wait again.
        if (error instanceof AppError && error.code === 'database-away') throw error;
        // Three publications may have happened since the catalog was read, or the organization may
        // have been renamed; it is an error only if both are unchanged.
        const now = await this.#catalog.entry(name);
        if (now.version === entry.version && now.name === entry.name) throw error;
      }
    }
  }
}

/** Opens the file itself, not its memory image, so that a different version is noticed. */
async function countsOf({ entry, file }: Original): Promise<Counts | undefined> {
  const rows = await openVersionRows(entry, file && { ...file, release: () => undefined });
  await rows.close();
  return rows.counts;
}
