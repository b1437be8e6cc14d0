/**
 * A limited amount of memory or disk, and the bodies that use it, by version and entity tag. When
 * it is full, the version that uses most gives up its least recently used body. So no organization
 * evicts bodies of others while it uses more itself.
 */
import type { Dataset } from '../../dataset/dataset.ts';

export interface Kept {
  /** Whether it has no readers and can be evicted at once. */
  readonly isIdle: boolean;
  /** Must be called when it can no longer be found. Gives its bytes back when it has no readers. */
  release(): void;
}

interface OfVersion<Entry> {
  bytes: number;
  /** By entity tag, the least recently used first. */
  readonly entries: Map<string, Entry>;
}

export class BodyRoom<Entry extends Kept> {
  readonly mostBytes: number;
  readonly #mostEntries: number;
  readonly #versions = new Map<Dataset, OfVersion<Entry>>();
  #usedBytes = 0;
  #entries = 0;

  constructor(mostBytes: number, mostEntries = Number.POSITIVE_INFINITY) {
    this.mostBytes = mostBytes;
    this.#mostEntries = mostEntries;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Whether the bytes fit without an eviction. */
  hasFree(bytes: number): boolean {
    return this.#usedBytes + bytes <= this.mostBytes;
  }

  find(dataset: Dataset, tag: string): Entry | undefined {
    const entries = this.#versions.get(dataset)?.entries;
    const entry = entries?.get(tag);
    if (entries === undefined || entry === undefined) return undefined;
    entries.delete(tag);
    entries.set(tag, entry);
    return entry;
  }

  /** Does not count the bytes of the entry; that is done by `take`. */
  add(dataset: Dataset, tag: string, entry: Entry): void {
    while (this.#entries >= this.#mostEntries && this.#evict());
    this.#of(dataset).entries.set(tag, entry);
    this.#entries += 1;
  }

  /** Does nothing if there is no such entry. */
  remove(dataset: Dataset, tag: string): void {
    const version = this.#versions.get(dataset);
    if (version?.entries.delete(tag) !== true) return;
    this.#entries -= 1;
    this.#tidy(dataset, version);
  }

  /** Reserves more bytes, and evicts idle bodies to make room. False when there is no room. */
  take(dataset: Dataset, bytes: number): boolean {
    if (bytes > this.mostBytes) return false;
    while (!this.hasFree(bytes)) if (!this.#evict()) return false;
    this.#change(dataset, bytes);
    return true;
  }

  giveBack(dataset: Dataset, bytes: number): void {
    this.#change(dataset, -bytes);
  }

  /** Removes all bodies of a version. */
  forget(dataset: Dataset): void {
    const version = this.#versions.get(dataset);
    if (version === undefined) return;
    const entries = [...version.entries.values()];
    version.entries.clear();
    this.#entries -= entries.length;
    for (const entry of entries) entry.release();
    this.#tidy(dataset, version);
  }

  /** Evicts one body. False when all bodies have readers. */
  #evict(): boolean {
    let most: { readonly bytes: number; readonly dataset: Dataset; readonly tag: string } | undefined;
    for (const [dataset, { bytes, entries }] of this.#versions) {
      if (most !== undefined && bytes <= most.bytes) continue;
      const tag = firstIdle(entries);
      if (tag !== undefined) most = { bytes, dataset, tag };
    }
    if (most === undefined) return false;
    const entry = this.#versions.get(most.dataset)?.entries.get(most.tag);
    this.remove(most.dataset, most.tag);
    entry?.release();
    return true;
  }

  #change(dataset: Dataset, bytes: number): void {
    const version = this.#of(dataset);
    version.bytes += bytes;
    this.#usedBytes += bytes;
    this.#tidy(dataset, version);
  }

  #of(dataset: Dataset): OfVersion<Entry> {
    const present = this.#versions.get(dataset);
    if (present !== undefined) return present;
    const version = { bytes: 0, entries: new Map<string, Entry>() };
    this.#versions.set(dataset, version);
    return version;
  }

  #tidy(dataset: Dataset, { bytes, entries }: OfVersion<Entry>): void {
    if (bytes === 0 && entries.size === 0) this.#versions.delete(dataset);
  }
}

/** The tag of the least recently used entry without readers. */
function firstIdle(entries: ReadonlyMap<string, Kept>): string | undefined {
  for (const [tag, { isIdle }] of entries) if (isIdle) return tag;
  return undefined;
}
