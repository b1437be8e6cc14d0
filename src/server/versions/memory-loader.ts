/** Loads datasets that are read from disk into memory, when there is room for them. */
import type { Store } from '../../store/store.ts';
import type { OpenedDataset } from './opened-dataset.ts';
import { idleInMemory, type Served } from './served.ts';

/** A dataset that was used within this time does not leave memory for another one. */
const IDLE_MS = 60_000;
/** Pause before it is looked again whether a dataset that is on disk fits into memory. */
const LOOK_MS = 1_000;

export interface MemoryLoaderOptions {
  readonly store: Pick<Store, 'missingBytes' | 'heldBytes'>;
  /** All organizations in service. */
  readonly all: Iterable<Served>;
  readonly idleMs?: number | undefined;
  /** Closes a dataset that is opened again when it is requested. */
  setAside(served: Served): Promise<void>;
  /** Opens the dataset again and puts it into service, if it is in memory and still wanted. */
  replace(served: Served, isWanted: () => boolean): Promise<void>;
}

export class MemoryLoader {
  readonly #options: MemoryLoaderOptions;
  readonly #idleMs: number;

  constructor(options: MemoryLoaderOptions) {
    this.#options = options;
    this.#idleMs = options.idleMs ?? IDLE_MS;
  }

  /**
   * Opens a dataset that is read from disk again, in memory, if it fits there, or would without
   * others that have not been used for a while. No request waits for that.
   */
  loadIfItFits(served: Served, opened: OpenedDataset): void {
    const { opening, loading, failure, loadAtMs, lastLeaseMs } = served;
    if (lastLeaseMs < loadAtMs || opening !== undefined || loading !== undefined) return;
    served.loadAtMs = lastLeaseMs + LOOK_MS;
    const { store, all } = this.#options;
    const bytes = failure === undefined ? store.missingBytes?.(opened.dataset) : undefined;
    if (bytes === undefined) return;
    const sinceMs = lastLeaseMs - this.#idleMs;
    const idle = idleInMemory(all, { bytes, sinceMs }, (dataset) => store.heldBytes?.(dataset) ?? 0);
    if (idle === undefined) return;
    // Requests that read damaged data report it, so this need not.
    served.loading = this.#load(served, opened, idle)
      .catch(() => undefined)
      .finally(() => {
        served.loading = undefined;
      });
  }

  async #load(served: Served, opened: OpenedDataset, idle: readonly Served[]): Promise<void> {
    await Promise.all(idle.map((one) => this.#options.setAside(one)));
    await this.#options.replace(served, () => served.current === opened && served.opening === undefined);
  }
}
