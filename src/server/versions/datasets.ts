/**
 * The datasets in service: one per organization. A dataset is opened on first use, replaced when a
 * new version is published, and closed when its last response has ended. No request waits for a new
 * version: it is warmed while the old one is in service.
 */

import type { Dataset } from '../../dataset/dataset.ts';
import { AppError } from '../../domain/app-error.ts';
import type { Redaction } from '../../domain/redaction.ts';
import type { Rendering } from '../../render/rendering.ts';
import { RenderThread } from '../../render/thread/render-thread.ts';
import { EmptyDataset } from '../../store/empty-dataset.ts';
import type { OrganizationEntry, Store } from '../../store/store.ts';
import { BodyCache, type BodySlot, measureBudget } from '../bodies/body-cache.ts';
import { type BodyChunks, type BodyCompression, compress } from '../bodies/compression.ts';
import { type Limits, resolveLimits } from '../limits/limits.ts';
import type { BoundRequests } from '../request/parsed-request.ts';
import { deriveSecrets, type Secrets } from '../request/secrets.ts';
import { failureOf, isUnknown, isUnreadable, notPublished, unreadable } from './failure.ts';
import { Impaired, type Impairment } from './impaired.ts';
import { MemoryLoader } from './memory-loader.ts';
import { OpenedDataset } from './opened-dataset.ts';
import { type HeldVersion, ReplacedVersions } from './replaced-versions.ts';
import { identityOf, isEmpty, isSameName, openByUse, type Served } from './served.ts';

const POLL_MS = 500;
/** Pause after the store could not report the current version. */
const RETRY_MS = 5_000;
/**
 * How long an organization stays in service after the store has ceased to know its name. Requests
 * may still carry the former name: other processes can learn of changed keys a second late.
 */
const FORMER_NAME_MS = 3_000;

/** A hold on one version, from the first to the last byte of a response. */
export interface DatasetLease {
  readonly dataset: Dataset;
  readonly version: HeldVersion;
  readonly secrets: Secrets;
  readonly questions: BoundRequests;
  rendering(redact: Redaction): Rendering;
  /**
   * The bodies of this version under an entity tag, cached while there is room and the version is
   * in service.
   */
  slot(etag: string): BodySlot;
  compress(plain: BodyChunks, compression: BodyCompression): AsyncGenerator<Uint8Array, void>;
  /** Must be called with the error of a failed request. Records that the version is damaged. */
  failed(error: unknown): void;
  /** Must be called once. */
  end(): void;
}

interface UnreadableNews {
  readonly type: 'version-unreadable';
  readonly organization: string;
  /** Absent if the entry of the organization cannot be read either. */
  readonly version: string | undefined;
  readonly impairment: Impairment;
  readonly error: unknown;
  /** False when a further attempt has failed in the same way. */
  readonly isNew: boolean;
}

export type DatasetNews =
  | {
      readonly type: 'dataset-opened';
      readonly organization: string;
      readonly version: string;
      readonly ms: number;
    }
  | { readonly type: 'dataset-closed'; readonly organization: string; readonly version: string }
  | UnreadableNews
  | { readonly type: 'dataset-failed'; readonly organization: string; readonly error: unknown };

export interface DatasetsOptions {
  /** Number of processes that share the machine. */
  readonly processes?: number | undefined;
  readonly pollMs?: number;
  /** Records the organizations whose current version cannot be read. */
  readonly impaired?: Impaired;
  readonly limits?: Limits;
  readonly idleMs?: number | undefined;
  readonly now?: () => number;
}

export class Datasets {
  readonly replaced: ReplacedVersions;
  readonly #store: Store;
  readonly #tell: (news: DatasetNews) => void;
  readonly #mostOpen: number;
  readonly #impaired: Impaired;
  readonly #loader: MemoryLoader;
  readonly #now: () => number;
  readonly #bodies: BodyCache;
  readonly #thread = new RenderThread();
  /** By name in lower case. */
  readonly #served = new Map<string, Promise<Served>>();
  /** The values of `#served` that are fulfilled. */
  readonly #known = new Set<Served>();
  readonly #timer: NodeJS.Timeout;
  readonly #endWatch: (() => void) | undefined;
  readonly #closings = new Set<Promise<void>>();
  readonly #heard = new Set<Promise<void>>();
  #polling: Promise<void> | undefined;

  constructor(
    store: Store,
    tell: (news: DatasetNews) => void,
    {
      processes = 1,
      pollMs = POLL_MS,
      impaired = new Impaired(),
      limits = resolveLimits(),
      idleMs,
      now = Date.now,
    }: DatasetsOptions = {},
  ) {
    this.replaced = new ReplacedVersions(limits);
    this.#bodies = new BodyCache(measureBudget(processes));
    this.#store = store;
    this.#tell = tell;
    this.#mostOpen = limits['open-organizations'];
    this.#impaired = impaired;
    this.#loader = new MemoryLoader({
      ...{ store, all: this.#known, idleMs },
      setAside: (served) => this.#setAside(served),
      replace: (served, isWanted) => this.#loadAgain(served, isWanted),
    });
    this.#now = now;
    this.#timer = setInterval(() => this.#pollUnlessPolling(), pollMs).unref();
    this.#endWatch = store.watch?.((organization) => this.#hear(organization));
  }

  /**
   * Leases the current version; while it cannot be opened, an earlier one; before the first
   * publication, an empty one. Throws `not-published` when the store does not know the
   * organization, and `data-unreadable` when no version can be opened.
   */
  async lease(organization: string): Promise<DatasetLease> {
    const served = await this.#serve(organization);
    if (served.unknownSinceMs !== undefined && (await this.#isReplaced(served))) {
      this.#drop(served);
      return await this.lease(organization);
    }
    // Set first, so that `#makeRoom` does not close this dataset again.
    served.lastLeaseMs = performance.now();
    if (served.current === undefined) await this.#open(served);
    const opened = served.current;
    if (opened === undefined) throw unreadable(served.failure);
    opened.hold();
    this.#loader.loadIfItFits(served, opened);
    return {
      dataset: opened.dataset,
      version: opened,
      secrets: served.secrets,
      questions: opened.questions,
      rendering: (redact) => opened.rendering(redact),
      slot: (etag) => this.#bodies.slot(opened.dataset, etag),
      compress: (plain, compression) => compress(plain, compression, this.#thread),
      failed: (error) => this.#noteDamage(served, opened, error),
      end: () => {
        served.lastLeaseMs = performance.now();
        opened.release();
      },
    };
  }

  /** Ends the service. Every dataset is closed after its last lease. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#endWatch?.();
    await this.#polling;
    await Promise.all(this.#heard);
    for (const entry of this.#served.values()) {
      const served = await entry;
      await served.opening?.catch(() => undefined);
      await served.loading;
      if (served.current !== undefined) void this.#retire(served, served.current);
      served.current = undefined;
    }
    await Promise.all(this.#closings);
    await this.#thread.close();
  }

  #serve(organization: string): Promise<Served> {
    const name = organization.toLowerCase();
    let served = this.#served.get(name);
    if (served === undefined) {
      served = this.#meet(organization);
      this.#served.set(name, served);
      served.catch((error: unknown) => {
        this.#served.delete(name);
        if (!isUnreadable(error)) return;
        const isNew = this.#impaired.get(organization) === undefined;
        this.#report({ organization, version: undefined, impairment: 'unavailable', error, isNew });
      });
    }
    return served;
  }

  async #meet(organization: string): Promise<Served> {
    const { secret } = await this.#entryOf(organization);
    const identity = identityOf(secret);
    const renamed = await this.#findRenamed(organization, identity);
    if (renamed !== undefined) {
      this.#rename(renamed, organization);
      return renamed;
    }
    const served: Served = {
      ...{ organization, identity, secrets: deriveSecrets(secret) },
      current: undefined,
      opening: undefined,
      failure: undefined,
      retryAtMs: 0,
      unknownSinceMs: undefined,
      ...{ lastLeaseMs: 0, loading: undefined, loadAtMs: 0 },
    };
    this.#known.add(served);
    return served;
  }

  /** Throws `not-published` if there is no such organization. */
  async #entryOf(organization: string): Promise<OrganizationEntry> {
    try {
      return await this.#store.organization(organization);
    } catch (error) {
      // A key can outlive its organization when data is restored only in part.
      throw isUnknown(error) ? notPublished(error) : error;
    }
  }

  /** The organization in service that has been renamed to `organization`, if any. */
  async #findRenamed(organization: string, identity: string): Promise<Served | undefined> {
    for (const served of this.#known) {
      const former = served.organization;
      if (served.identity !== identity || isSameName(former, organization)) continue;
      const entry = await this.#store.organization(former).catch(() => undefined);
      if (entry === undefined || !isSameName(entry.name, former)) return served;
    }
    return undefined;
  }

  /** What is in memory stays there, and the response cache with it. */
  #rename(served: Served, organization: string): void {
    const { organization: former, current } = served;
    this.#served.delete(former.toLowerCase());
    served.organization = organization;
    served.unknownSinceMs = undefined;
    this.replaced.rename(former, organization);
    const impairment = this.#impaired.get(former);
    this.#impaired.clear(former);
    if (impairment !== undefined) this.#impaired.note(organization, impairment);
    // A version that is read from its file needs the folder of the file, which has moved.
    if (current === undefined || current.dataset.timeline !== undefined) return;
    served.current = undefined;
    void this.#retire(served, current);
  }

  /** Whether a different organization has the name now. */
  async #isReplaced({ organization, identity }: Served): Promise<boolean> {
    try {
      return identityOf((await this.#store.organization(organization)).secret) !== identity;
    } catch (error) {
      if (isUnknown(error)) return false;
      throw error;
    }
  }

  /** Ends the service of an organization that does not exist under its name. */
  #drop(served: Served): void {
    if (!this.#known.delete(served)) return;
    this.#served.delete(served.organization.toLowerCase());
    this.#impaired.clear(served.organization);
    if (served.current !== undefined) void this.#retire(served, served.current);
    served.current = undefined;
  }

  #open(served: Served): Promise<void> {
    served.opening ??= this.#openCurrent(served).finally(() => {
      served.opening = undefined;
    });
    return served.opening;
  }

  async #openCurrent(served: Served): Promise<void> {
    const { organization, failure } = served;
    if (failure !== undefined && this.#now() < failure.retryAtMs) return await this.#openEarlier(served);
    try {
      await this.#putInService(served, () => this.#openInForce(organization));
      served.failure = undefined;
      this.#impaired.clear(organization);
    } catch (error) {
      if (isUnknown(error)) throw notPublished(error);
      // Other errors, mainly `database-away`, are passed on to the requests.
      if (error instanceof AppError && error.code !== 'data-unreadable') throw error;
      await this.#fail(served, error);
    }
  }

  /** Opens the current version; before the first publication, an empty one (decision 67). */
  async #openInForce(organization: string): Promise<Dataset> {
    const dataset = await this.#store.openDataset(organization);
    return dataset ?? new EmptyDataset(await this.#store.organization(organization));
  }

  async #fail(served: Served, error: unknown): Promise<void> {
    const { organization } = served;
    const version = await this.#store.currentVersion(organization).catch(() => undefined);
    const failure = failureOf(version, error, served.failure, this.#now());
    served.failure = failure;
    if (failure.isNew) this.#impaired.clear(organization);
    await this.#openEarlier(served);
    const impairment = served.current === undefined ? 'unavailable' : 'earlier';
    this.#report({ organization, version, impairment, error, isNew: failure.isNew });
  }

  #report(unreadable: Omit<UnreadableNews, 'type'>): void {
    this.#impaired.note(unreadable.organization, unreadable.impairment);
    this.#tell({ type: 'version-unreadable', ...unreadable });
  }

  /** Does nothing if a version is in service, or if no earlier version was found before. */
  async #openEarlier(served: Served): Promise<void> {
    const { organization } = served;
    if (served.current !== undefined || this.#impaired.get(organization) === 'unavailable') return;
    try {
      await this.#putInService(served, async () => await this.#store.openEarlier?.(organization));
    } catch {
      // The failure of the current version is reported; this one would add nothing.
    }
    if (served.current === undefined) this.#impaired.note(organization, 'unavailable');
  }

  async #loadAgain(served: Served, isWanted: () => boolean): Promise<void> {
    const openInMemory = async () => {
      const dataset = await this.#openInForce(served.organization);
      if (dataset.timeline !== undefined) return dataset;
      await dataset.close();
      return undefined;
    };
    if (isWanted()) await this.#putInService(served, openInMemory, isWanted);
  }

  /** `isWanted`: whether it is still to be put into service when it has been opened. */
  async #putInService(
    served: Served,
    open: () => Promise<Dataset | undefined>,
    isWanted = () => true,
  ): Promise<void> {
    const startMs = performance.now();
    const dataset = await open();
    if (dataset === undefined) return;
    const { current: before, identity } = served;
    await this.#readSecrets(served).catch(async (error: unknown) => {
      await dataset.close();
      throw error;
    });
    const opened = new OpenedDataset(dataset, served.secrets, this.#thread);
    try {
      // Nothing prepared for a different organization may be used.
      if (before !== undefined && identity === served.identity) await opened.warmLike(before);
      if (!this.#known.has(served) || !isWanted()) throw notPublished();
    } catch (error) {
      await opened.retire();
      throw error;
    }
    // Also absent if the previous dataset has been closed to make room for a different
    // organization.
    const replaced = served.current;
    served.current = opened;
    if (replaced !== undefined) void this.#retire(served, replaced);
    else this.#makeRoom();
    const ms = performance.now() - startMs;
    this.#tell({ type: 'dataset-opened', organization: served.organization, version: dataset.version, ms });
    opened.hold();
    await this.replaced.recallForgotten(served.organization, dataset);
    opened.release();
  }

  /**
   * The organization may have been replaced by a copy, which has the secret of its original, or by
   * a new one of its name.
   */
  async #readSecrets(served: Served): Promise<void> {
    const { secret } = await this.#entryOf(served.organization);
    const identity = identityOf(secret);
    if (identity === served.identity) return;
    served.identity = identity;
    served.secrets = deriveSecrets(secret);
  }

  /**
   * Closes the least recently used dataset when more organizations are open than the limit allows.
   */
  #makeRoom(): void {
    const open = openByUse(this.#known);
    if (open.length > this.#mostOpen) void this.#setAside(open[0]!);
  }

  /** Closes a dataset that is opened again when it is requested. */
  async #setAside(served: Served): Promise<void> {
    const { current } = served;
    served.current = undefined;
    if (current !== undefined) await this.#retire(served, current, true);
  }

  /** Resolves when the version is closed, after its last lease; failures are reported. */
  #retire({ organization }: Served, opened: OpenedDataset, comesBack = false): Promise<void> {
    this.#bodies.forget(opened.dataset);
    const forget = this.replaced.add(organization, opened);
    const closing = opened
      .retire(comesBack)
      .then(() => this.#tell({ type: 'dataset-closed', organization, version: opened.dataset.version }))
      .catch((error: unknown) => this.#tell({ type: 'dataset-failed', organization, error }))
      .finally(() => {
        forget();
        this.#closings.delete(closing);
      });
    this.#closings.add(closing);
    return closing;
  }

  /**
   * A request has found damage in a version that could be opened. The readable rest stays in
   * service.
   */
  #noteDamage(served: Served, opened: OpenedDataset, error: unknown): void {
    const { organization } = served;
    if (!isUnreadable(error)) return;
    if (served.current !== opened || this.#impaired.get(organization) !== undefined) return;
    const { version } = opened.dataset;
    this.#report({ organization, version, impairment: 'partial', error, isNew: true });
  }

  #pollUnlessPolling(): void {
    this.replaced.recallExcess();
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined;
    });
  }

  /** Handles a notification of the store; polling would find the change a little later. */
  #hear(name: string): void {
    const entry = this.#served.get(name.toLowerCase());
    if (entry === undefined) return;
    const heard = this.#pollOne(entry).finally(() => this.#heard.delete(heard));
    this.#heard.add(heard);
  }

  async #poll(): Promise<void> {
    await Promise.all([...this.#served.values()].map((entry) => this.#pollOne(entry)));
  }

  /** An earlier version in service is the current one again. */
  #noteInForce(served: Served): void {
    if (served.failure === undefined) return;
    served.failure = undefined;
    this.#impaired.clear(served.organization);
  }

  /**
   * Without data, the settings and the secret of an organization can change without a publication.
   * An organization that is removed loses its data first.
   */
  async #pollEmpty(served: Served, asked: OpenedDataset | undefined): Promise<void> {
    if (asked === undefined) return;
    if (!isEmpty(asked)) return await this.#open(served);
    const { version } = new EmptyDataset(await this.#store.organization(served.organization));
    if (version !== asked.dataset.version) await this.#open(served);
  }

  /** If the new version cannot be opened, the previous one stays in service. */
  async #pollOne(entry: Promise<Served>): Promise<void> {
    const served = await entry.catch(() => undefined);
    if (served === undefined || served.retryAtMs > this.#now()) return;
    const asked = served.current;
    // A dataset that is not open is opened by a request, unless one has found that it cannot be
    // opened.
    if (asked === undefined && this.#impaired.get(served.organization) !== 'unavailable') return;
    try {
      const published = await this.#store.currentVersion(served.organization);
      // If a different dataset was opened, or all were closed, in the meantime, the result says
      // nothing about the one in service now.
      if (served.current !== asked) return;
      served.unknownSinceMs = undefined;
      if (published === undefined) return await this.#pollEmpty(served, asked);
      if (published === asked?.dataset.version) return this.#noteInForce(served);
      // A version other than the failed one does not wait for its pause.
      if (served.failure?.version !== published) served.failure = undefined;
      else if (this.#now() < served.failure.retryAtMs) return;
      await this.#open(served);
    } catch (error) {
      if (isUnknown(error)) return this.#noteUnknown(served);
      served.retryAtMs = this.#now() + RETRY_MS;
      this.#tell({ type: 'dataset-failed', organization: served.organization, error });
    }
  }

  /** The organization has been renamed or removed. */
  #noteUnknown(served: Served): void {
    served.unknownSinceMs ??= this.#now();
    if (this.#now() >= served.unknownSinceMs + FORMER_NAME_MS) this.#drop(served);
  }
}
