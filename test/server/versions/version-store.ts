/** A store that holds the current version of each organization, and its datasets in service. */
import type { Dataset } from '../../../src/dataset/dataset.ts';
import type { RecordTable } from '../../../src/dataset/records.ts';
import type { Timeline } from '../../../src/dataset/timeline.ts';
import { AppError } from '../../../src/domain/app-error.ts';
import { type DatasetNews, Datasets, type DatasetsOptions } from '../../../src/server/versions/datasets.ts';
import type { OrganizationEntry, Store } from '../../../src/store/store.ts';
import { PlainDataset } from '../../render/plain-dataset.ts';
import { worldOf } from '../../render/worlds.ts';

export class VersionedDataset extends PlainDataset {
  override readonly version: string;
  /** Present if the dataset is in memory. No test reads it. */
  timeline: Timeline | undefined;
  /** Called before the dataset is closed, if it will be opened again. */
  onSetAside = () => {};
  readonly #onClose: () => void;
  readonly #reading: Promise<void> | undefined;

  constructor(version: string, onClose: () => void, reading: Promise<void> | undefined) {
    super(worldOf(2));
    this.version = version;
    this.#onClose = onClose;
    this.#reading = reading;
  }

  override async *records<T extends RecordTable>(of: T) {
    if (of === 'users') await this.#reading;
    yield* super.records(of);
  }

  async setAside(): Promise<void> {
    this.onSetAside();
  }

  override async close(): Promise<void> {
    this.#onClose();
  }
}

/**
 * The methods of the store that the server uses. A call of any other method is an error of the
 * test.
 */
type Served =
  | 'organization'
  | 'currentVersion'
  | 'openDataset'
  | 'openEarlier'
  | 'missingBytes'
  | 'heldBytes'
  | 'watch';

export class VersionStore implements Pick<Store, Served> {
  /**
   * Current versions by organization. Absent: the organization does not exist; `undefined`: it has
   * no data.
   */
  readonly versions = new Map<string, string | undefined>();
  secret = new Uint8Array(32);
  /** How often the entry of an organization was asked for. */
  asked = 0;
  readonly open: string[] = [];
  /**
   * By organization or version: opening a dataset of the organization, or reading the users of the
   * version, takes until the promise is fulfilled.
   */
  readonly waits = new Map<string, Promise<void>>();
  /** Each delays one of the next results of `currentVersion`, in order. */
  readonly lateAnswers: Promise<void>[] = [];
  /** How often a dataset was opened, and how often one was asked for. */
  openings = 0;
  asksToOpen = 0;
  /** Versions that cannot be opened. */
  readonly damaged = new Set<string>();
  /** The number of datasets that fit into memory; absent: none is loaded into memory. */
  room: number | undefined;
  /** Versions of the datasets in memory, and those that were prepared for their next opening. */
  readonly inMemory = new Set<string>();
  readonly prepared: string[] = [];
  /** By organization: the previous version. */
  readonly earlier = new Map<string, string>();

  /** Current subscribers. */
  readonly watching = new Set<(organization: string) => void>();

  watch(onPublished: (organization: string) => void): () => void {
    this.watching.add(onPublished);
    return () => this.watching.delete(onPublished);
  }

  async organization(name: string): Promise<OrganizationEntry> {
    this.asked += 1;
    if (!this.versions.has(name)) throw new AppError('organization-unknown', 'There is none.');
    const settings = { id: 1n, title: '', domain: '', categoryId: 0n, courseLookup: false };
    return {
      name,
      settings: { ...settings, lmsUserProperties: [], userPointsKey: 'user-id', policy: '' },
      version: this.versions.get(name),
      secret: this.secret,
      derivedIds: 'keyed' as const,
      rules: {},
    };
  }

  async currentVersion(name: string): Promise<string | undefined> {
    const version = (await this.organization(name)).version;
    await this.lateAnswers.shift();
    return version;
  }

  async openDataset(name: string): Promise<Dataset | undefined> {
    this.asksToOpen += 1;
    await this.waits.get(name);
    const dataset = this.#open(this.versions.get(name));
    if (dataset === undefined || this.inMemory.size >= (this.room ?? 0)) return dataset;
    const { version } = dataset;
    this.inMemory.add(version);
    dataset.timeline = {} as Timeline;
    dataset.onSetAside = () => void this.prepared.push(version);
    return dataset;
  }

  /** Each dataset takes one byte. */
  missingBytes(dataset: Dataset): number | undefined {
    if (this.room === undefined || dataset.timeline !== undefined) return undefined;
    return this.inMemory.size + 1 - this.room;
  }

  heldBytes({ timeline }: Dataset): number {
    return timeline === undefined ? 0 : 1;
  }

  async openEarlier(name: string): Promise<Dataset | undefined> {
    return this.#open(this.earlier.get(name));
  }

  #open(version: string | undefined): VersionedDataset | undefined {
    if (version === undefined) return undefined;
    this.openings += 1;
    if (this.damaged.has(version)) throw new Error(`${version} is damaged`);
    this.open.push(version);
    const dataset: VersionedDataset = new VersionedDataset(
      version,
      () => {
        this.open.splice(this.open.indexOf(version), 1);
        if (dataset.timeline !== undefined) this.inMemory.delete(version);
      },
      this.waits.get(version),
    );
    return dataset;
  }
}

export function serveVersions(versions: Record<string, string>, options: DatasetsOptions = {}) {
  const store = new VersionStore();
  for (const [name, version] of Object.entries(versions)) store.versions.set(name, version);
  const waiting: { news: DatasetNews['type']; resolve: () => void }[] = [];
  const told: DatasetNews[] = [];
  const datasets = new Datasets(
    store as Partial<Store> as Store,
    (one) => {
      told.push(one);
      for (const { news, resolve } of waiting) if (news === one.type) resolve();
    },
    options,
  );
  const next = (news: DatasetNews['type']) => new Promise<void>((resolve) => waiting.push({ news, resolve }));
  return { store, datasets, next, told };
}
