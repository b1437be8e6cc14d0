/** A store whose datasets are loaded into memory when they are opened, as long as they fit. */
import type { Counts, Dataset } from '../dataset/dataset.ts';
import { fitsRows } from '../dataset/event-rows.ts';
import type { ResidentDataset } from '../dataset/resident/dataset.ts';
import { heldBytes } from '../dataset/resident/holdings-image.ts';
import { growDataset, loadDataset } from '../dataset/resident/load.ts';
import { estimateResidentBytes } from './resident-limit.ts';
import type {
  OrganizationEntry,
  Publication,
  PublicationOptions,
  RuleChanges,
  Settings,
  Store,
} from './store.ts';

export interface ResidentOptions {
  /**
   * Limit for the datasets of all organizations together. While it is loaded, a dataset counts by
   * the size of its image, by `estimateResidentBytes`, or by an earlier version from which it is
   * made; then by its arrays. A version and its replacement count as one, the larger, although both
   * are in memory until the last response from the old one has ended.
   */
  readonly limitBytes: number;
}

/** Wraps a store. A dataset that does not fit beside those in memory is returned unchanged. */
export function withResidentDatasets(store: Store, options: ResidentOptions): Store {
  return new ResidentStore(store, options.limitBytes);
}

interface MemoryShare {
  /** Its identity, because its name can change. */
  readonly organization: string;
  bytes: number;
}

class ResidentStore implements Store {
  readonly #store: Store;
  readonly #limitBytes: number;
  readonly #shares = new Set<MemoryShare>();
  /** The share of a dataset in memory, and what one that is read from disk would take. */
  readonly #held = new WeakMap<Dataset, MemoryShare>();
  readonly #wanted = new WeakMap<Dataset, MemoryShare>();
  /** The version of each organization that was loaded last, until it is closed. */
  readonly #latest = new Map<string, ResidentDataset>();

  constructor(store: Store, limitBytes: number) {
    this.#store = store;
    this.#limitBytes = limitBytes;
  }

  async openDataset(name: string): Promise<Dataset | undefined> {
    return await this.#keep(name, await this.#store.openDataset(name));
  }

  missingBytes(dataset: Dataset): number | undefined {
    const share = this.#wanted.get(dataset);
    if (share === undefined || share.bytes > this.#limitBytes) return undefined;
    return share.bytes + this.#bytesBeside(share.organization) - this.#limitBytes;
  }

  heldBytes(dataset: Dataset): number {
    return this.#held.get(dataset)?.bytes ?? 0;
  }

  async openEarlier(name: string): Promise<Dataset | undefined> {
    return await this.#keep(name, await this.#store.openEarlier?.(name));
  }

  /** Loads the dataset into memory, or returns it unchanged if it does not fit. */
  async #keep(name: string, stored: Dataset | undefined): Promise<Dataset | undefined> {
    if (stored === undefined || !fitsRows(stored)) return stored;
    // The length of the texts need not be known.
    if (this.#limitBytes === 0) return stored;
    let share: MemoryShare | undefined;
    try {
      share = { organization: await this.#identity(name), bytes: 0 };
      this.#wanted.set(stored, share);
      return (await this.#grow(stored, share)) ?? (await this.#load(stored, share)) ?? stored;
    } catch (error) {
      if (share !== undefined) this.#shares.delete(share);
      await stored.close();
      throw error;
    }
  }

  /** Undefined if there is no earlier version in memory, or it cannot be told what has changed. */
  async #grow(stored: Dataset, share: MemoryShare): Promise<Dataset | undefined> {
    const latest = this.#latest.get(share.organization);
    if (latest === undefined || !this.#reserve(share, grownBytes(latest, stored))) return undefined;
    const [onClose, admits] = [() => this.#drop(share), (bytes: number) => this.#reserve(share, bytes)];
    // If that fails, reading the whole version tells whether it is damaged.
    const dataset = await growDataset(latest, stored, onClose, admits).catch(() => undefined);
    return dataset && this.#hold(dataset, share);
  }

  async #load(stored: Dataset, share: MemoryShare): Promise<Dataset | undefined> {
    if (!this.#reserve(share, await expectedBytes(stored))) return undefined;
    return this.#hold(await loadDataset(stored, () => this.#drop(share)), share);
  }

  /**
   * Whether the dataset fits. Reserves the memory before it is loaded, so that two concurrent loads
   * do not use the same free memory.
   */
  #reserve(share: MemoryShare, bytes: number): boolean {
    share.bytes = bytes;
    const fits = bytes + this.#bytesBeside(share.organization) <= this.#limitBytes;
    if (fits) this.#shares.add(share);
    else this.#shares.delete(share);
    return fits;
  }

  #hold(dataset: ResidentDataset, share: MemoryShare): Dataset {
    share.bytes = heldBytes(dataset.held);
    this.#held.set(dataset, share);
    this.#latest.set(share.organization, dataset);
    return dataset;
  }

  /** Called when the dataset of the share is closed. */
  #drop(share: MemoryShare): void {
    this.#shares.delete(share);
    const latest = this.#latest.get(share.organization);
    if (latest !== undefined && this.#held.get(latest) === share) this.#latest.delete(share.organization);
  }

  async #identity(name: string): Promise<string> {
    return Buffer.from((await this.#store.organization(name)).secret).toString('base64');
  }

  #bytesBeside(identity: string): number {
    const largest = new Map<string, number>();
    for (const { organization, bytes } of this.#shares) {
      if (organization !== identity)
        largest.set(organization, Math.max(bytes, largest.get(organization) ?? 0));
    }
    return [...largest.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  async organizations(): Promise<readonly OrganizationEntry[]> {
    return await this.#store.organizations();
  }

  async countPublished(): Promise<number> {
    return await this.#store.countPublished();
  }

  async organization(name: string): Promise<OrganizationEntry> {
    return await this.#store.organization(name);
  }

  async createOrganization(name: string, settings: Partial<Settings>): Promise<OrganizationEntry> {
    return await this.#store.createOrganization(name, settings);
  }

  async changeRules(name: string, changes: RuleChanges): Promise<void> {
    await this.#store.changeRules(name, changes);
  }

  async currentVersion(name: string): Promise<string | undefined> {
    return await this.#store.currentVersion(name);
  }

  watch(onPublished: (organization: string) => void): () => void {
    return this.#store.watch?.(onPublished) ?? (() => undefined);
  }

  async beginPublication(name: string, options: PublicationOptions): Promise<Publication> {
    return await this.#store.beginPublication(name, options);
  }

  async close(): Promise<void> {
    await this.#store.close();
  }
}

/**
 * Estimates the memory of a version that is made from an earlier one and its changes. The texts of
 * the changes are left out, because adding up the texts of all records takes half a second with 100
 * million events.
 */
function grownBytes(earlier: ResidentDataset, { counts }: Dataset): number {
  const added = (kind: keyof Counts) => Math.max(0, counts[kind] - earlier.counts[kind]);
  const more = {
    events: added('events'),
    users: added('users'),
    boards: added('boards'),
    pins: added('pins'),
  };
  return heldBytes(earlier.held) + estimateResidentBytes(more, 0);
}

/** The memory that a dataset will take; known without a query if it has an image. */
async function expectedBytes(stored: Dataset): Promise<number> {
  const imageBytes = await stored.image?.size();
  return imageBytes ?? estimateResidentBytes(stored.counts, (await stored.textBytes?.()) ?? 0);
}
