/**
 * The datasets in service: one an organization, opened on first use, replaced when a new version is published, and
 * closed when the last answer from it has ended. The new version is opened and warmed beside the old one, so that no
 * request waits for it.
 */
import { AppError } from '../app-error.ts';
import type { Dataset } from '../dataset/dataset.ts';
import type { Store } from '../dataset/store.ts';
import { openRendering, type Rendering } from '../render/rendering.ts';
import { deriveSecrets, type Secrets } from './secrets.ts';

const POLL_MS = 500;
/** After a version could not be opened. */
const RETRY_MS = 5_000;

/** A hold on one version, from the first to the last byte of an answer. */
export interface Lease {
  readonly dataset: Dataset;
  readonly secrets: Secrets;
  rendering(redact: Redact): Rendering;
  /** To be called once. */
  end(): void;
}

interface Redact {
  readonly email: boolean;
  readonly name: boolean;
}

export type DatasetNews =
  | {
      readonly type: 'dataset-opened';
      readonly organization: string;
      readonly version: string;
      readonly ms: number;
    }
  | { readonly type: 'dataset-closed'; readonly organization: string; readonly version: string }
  | { readonly type: 'dataset-failed'; readonly organization: string; readonly error: unknown };

interface Opened {
  readonly dataset: Dataset;
  readonly renderings: Map<string, { readonly redact: Redact; readonly rendering: Rendering }>;
  leases: number;
  /** Set when the version is no longer given out; called when the last lease has ended. */
  close: (() => void) | undefined;
}

interface Served {
  readonly organization: string;
  readonly secrets: Secrets;
  current: Opened | undefined;
  /** One opening at a time; everybody waits for the same one. */
  opening: Promise<void> | undefined;
  retryAtMs: number;
}

export class Datasets {
  readonly #store: Store;
  readonly #tell: (news: DatasetNews) => void;
  readonly #served = new Map<string, Promise<Served>>();
  readonly #timer: NodeJS.Timeout;
  readonly #closings = new Set<Promise<void>>();
  #polling: Promise<void> | undefined;

  constructor(store: Store, tell: (news: DatasetNews) => void) {
    this.#store = store;
    this.#tell = tell;
    this.#timer = setInterval(() => this.#pollUnlessPolling(), POLL_MS).unref();
  }

  /** The version in force. Throws `not-published` while there is none. */
  async lease(organization: string): Promise<Lease> {
    const served = await this.#serve(organization);
    if (served.current === undefined) await this.#open(served);
    const opened = served.current;
    if (opened === undefined) {
      throw new AppError(
        'not-published',
        'The organization has no data yet. Ask again when data has been imported.',
      );
    }
    opened.leases += 1;
    return {
      dataset: opened.dataset,
      secrets: served.secrets,
      rendering: (redact) => renderingOf(opened, redact, served.secrets),
      end: () => endLease(opened),
    };
  }

  /** Ends the service; every dataset is closed after its last lease. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#polling;
    for (const entry of this.#served.values()) {
      const served = await entry;
      await served.opening?.catch(() => undefined);
      if (served.current !== undefined) this.#retire(served, served.current);
      served.current = undefined;
    }
    await Promise.all(this.#closings);
  }

  #serve(organization: string): Promise<Served> {
    let served = this.#served.get(organization);
    if (served === undefined) {
      served = this.#meet(organization);
      this.#served.set(organization, served);
      served.catch(() => this.#served.delete(organization));
    }
    return served;
  }

  async #meet(organization: string): Promise<Served> {
    const { secret } = await this.#store.organization(organization);
    return {
      organization,
      secrets: deriveSecrets(secret),
      current: undefined,
      opening: undefined,
      retryAtMs: 0,
    };
  }

  #open(served: Served): Promise<void> {
    served.opening ??= this.#openCurrent(served).finally(() => {
      served.opening = undefined;
    });
    return served.opening;
  }

  async #openCurrent(served: Served): Promise<void> {
    const startMs = performance.now();
    const dataset = await this.#store.openDataset(served.organization);
    if (dataset === undefined) return;
    const opened: Opened = { dataset, renderings: new Map(), leases: 0, close: undefined };
    const before = served.current;
    try {
      // Whoever has asked will ask again, and then must not wait.
      for (const { redact } of before?.renderings.values() ?? []) {
        await renderingOf(opened, redact, served.secrets).warm();
      }
    } catch (error) {
      await dataset.close();
      throw error;
    }
    served.current = opened;
    if (before !== undefined) this.#retire(served, before);
    const ms = performance.now() - startMs;
    this.#tell({ type: 'dataset-opened', organization: served.organization, version: dataset.version, ms });
  }

  #retire({ organization }: Served, opened: Opened): void {
    const { version } = opened.dataset;
    const closing = new Promise<void>((resolve) => {
      opened.close = resolve;
    })
      .then(() => opened.dataset.close())
      .then(() => this.#tell({ type: 'dataset-closed', organization, version }))
      .catch((error: unknown) => this.#tell({ type: 'dataset-failed', organization, error }))
      .finally(() => this.#closings.delete(closing));
    this.#closings.add(closing);
    if (opened.leases === 0) opened.close?.();
  }

  #pollUnlessPolling(): void {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined;
    });
  }

  async #poll(): Promise<void> {
    for (const entry of this.#served.values()) {
      const served = await entry.catch(() => undefined);
      if (served?.current === undefined || served.retryAtMs > Date.now()) continue;
      await this.#refresh(served, served.current.dataset.version);
    }
  }

  /** A version that cannot be opened leaves the one before in service. */
  async #refresh(served: Served, version: string): Promise<void> {
    try {
      const published = await this.#store.currentVersion(served.organization);
      if (published !== undefined && published !== version) await this.#open(served);
    } catch (error) {
      served.retryAtMs = Date.now() + RETRY_MS;
      this.#tell({ type: 'dataset-failed', organization: served.organization, error });
    }
  }
}

function renderingOf(opened: Opened, redact: Redact, secrets: Secrets): Rendering {
  const { email, name } = redact;
  const kind = `${email} ${name}`;
  let kept = opened.renderings.get(kind);
  if (kept === undefined) {
    kept = { redact, rendering: openRendering(opened.dataset, { email, name, secret: secrets.pseudonym }) };
    opened.renderings.set(kind, kept);
  }
  return kept.rendering;
}

function endLease(opened: Opened): void {
  opened.leases -= 1;
  if (opened.leases === 0) opened.close?.();
}
