/**
 * The next version of an organization in a shared store. Its file is built in the local cache, the
 * new chunks are stored, and one transaction makes the manifest current.
 */
import { open, rm } from 'node:fs/promises';
import type { FilePart } from '../../system/file-part.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { Lease } from '../catalog/lease.ts';
import type { PostgresCatalog, SharedHead, Sharing } from '../catalog/postgres-catalog.ts';
import { digestsIn, digestsWithout, type KnownDigests } from '../chunks/chunk-digests.ts';
import type { ChunkPlace } from '../chunks/chunk-place.ts';
import {
  chunkName,
  decodeManifest,
  digestIn,
  encodeManifest,
  epochIn,
  type Manifest,
} from '../chunks/manifest.ts';
import { type Held, upload } from '../chunks/transfer.ts';
import { isUnknown } from '../organization-name.ts';
import type { Settings } from '../store.ts';
import type { NextVersion, PublishedHead } from '../version/publish/next-version.ts';
import type { VersionFile } from '../version/read/opened-version.ts';
import type { VersionCache } from './cache.ts';

/** The turn to publish one organization. */
export interface Turn {
  readonly lease: Lease;
  readonly entry: CatalogEntry;
  readonly sharing: Sharing;
  readonly place: ChunkPlace;
  /** The file of the next version. */
  readonly building: string;
  readonly erases?: boolean | undefined;
  /** Deletes what an interrupted move of chunks may have left at other places. */
  readonly dropElsewhere: () => Promise<void>;
  /** Number of the version whose file was copied there. */
  readonly copied?: number | undefined;
}

export class SharedNextVersion implements NextVersion {
  readonly entry: CatalogEntry;
  readonly spillFolder: string;
  readonly #catalog: PostgresCatalog;
  readonly #cache: VersionCache;
  readonly #turn: Turn;
  readonly base: NextVersion['base'];
  readonly current: VersionFile | undefined;
  #hasEnded = false;

  /** `current` is released with the turn. */
  constructor(
    catalog: PostgresCatalog,
    cache: VersionCache,
    turn: Turn,
    { base, current }: { base: NextVersion['base']; current: VersionFile | undefined },
  ) {
    this.entry = turn.entry;
    this.base = base;
    this.current = current;
    this.spillFolder = `${turn.building}.tmp`;
    this.#catalog = catalog;
    this.#cache = cache;
    this.#turn = turn;
  }

  get publication(): number | undefined {
    return this.entry.publication;
  }

  get file(): string {
    return this.#turn.building;
  }

  async publish(next: PublishedHead): Promise<void> {
    const { lease, sharing, building } = this.#turn;
    const { publication, forgets } = next;
    const stored = await storedChunks(this.#catalog, this.#turn);
    const known = await knownDigests(this.#catalog, this.#turn, next.written);
    const { head, manifest } = await share(this.#turn, next, building, { stored, known });
    await this.#catalog.publish(lease, this.entry.name, head);
    // The version is current: steps that fail now are repeated by the next publication, or when the
    // version is read.
    await this.#cache
      .take(building, { folder: sharing.folder, publication, manifest })
      .catch(() => undefined);
    if (forgets) {
      // An erasure must not count as done while earlier data exists.
      await tidy(this.#catalog, this.#turn);
      await this.#turn.dropElsewhere();
      await this.#cache.dropBefore(sharing.folder, { oldest: publication, epoch: lease.epoch });
    } else {
      await tidy(this.#catalog, this.#turn).catch(() => undefined);
    }
    await this.#end();
  }

  async configure(settings: Settings): Promise<void> {
    await this.#catalog.configure(this.#turn.lease, this.entry.name, settings);
    if (this.publication !== undefined) {
      await tidy(this.#catalog, this.#turn);
      // Repeats an erasure that was killed.
      if (this.#turn.erases) await this.#turn.dropElsewhere();
    }
    await this.discard();
  }

  async discard(): Promise<void> {
    if (this.#hasEnded) return;
    await rm(this.file, { force: true });
    await rm(`${this.file}.wal`, { force: true });
    await this.#dropRemoved();
    await this.#end();
  }

  /** A command that was stopped for long may have stored chunks after the removal. */
  async #dropRemoved(): Promise<void> {
    const { lease, sharing, place } = this.#turn;
    try {
      await this.#catalog.sharing(lease.organization);
    } catch (error) {
      if (isUnknown(error)) await dropChunks(place, sharing.folder, lease.epoch);
    }
  }

  async #end(): Promise<void> {
    this.#hasEnded = true;
    this.current?.release();
    await this.#turn.lease.release();
  }
}

/**
 * Chunks that need not be stored again. Before the first publication, leftovers of interrupted
 * commands can be reused, because no process can be about to delete them.
 */
async function storedChunks(catalog: PostgresCatalog, turn: Turn): Promise<ReadonlyMap<string, bigint>> {
  const kept = await catalog.kept(turn.sharing.organization);
  if (kept.length === 0) return await leftOvers(turn);
  return new Map(
    kept
      .flatMap(({ manifest }) => decodeManifest(manifest).chunks)
      .map(({ digest, epoch }) => [digest, epoch]),
  );
}

/** The digests of the copied version that still apply. */
async function knownDigests(
  catalog: PostgresCatalog,
  { sharing, copied }: Turn,
  written: readonly FilePart[] | undefined,
): Promise<KnownDigests | undefined> {
  if (copied === undefined) return undefined;
  const [base] = await catalog.kept(sharing.organization, copied);
  return base && digestsWithout(digestsIn(decodeManifest(base.manifest)), written);
}

/**
 * Deletes chunks that no kept version needs. Chunks of a later epoch belong to a process that has
 * the lease now, which this command has lost.
 */
export async function tidy(catalog: PostgresCatalog, { lease, place, sharing }: Turn): Promise<void> {
  const { organization, folder } = sharing;
  const kept = await catalog.kept(organization);
  const needed = new Set(
    kept.flatMap(({ manifest }) => decodeManifest(manifest).chunks.map((chunk) => chunkName(folder, chunk))),
  );
  for await (const names of place.list(`${folder}/`)) {
    const spare = names.filter((name) => !needed.has(name) && epochIn(name) <= lease.epoch);
    if (spare.length > 0) await place.delete(spare);
  }
}

/** Deletes all chunks of an organization that has no version, up to an epoch. */
export async function dropChunks(place: ChunkPlace, folder: string, epoch: bigint): Promise<void> {
  for await (const names of place.list(`${folder}/`)) {
    const spare = names.filter((name) => epochIn(name) <= epoch);
    if (spare.length > 0) await place.delete(spare);
  }
  await place.dropFolder?.(folder);
}

export interface Shared {
  readonly head: SharedHead;
  /** The manifest of the head. */
  readonly manifest: Manifest;
}

/** Stores the chunks of a file that are not stored yet, and returns the head of the version. */
export async function share(
  { lease, sharing, place }: Turn,
  { settings, publication, version, publishedMs, forgets }: PublishedHead,
  path: string,
  held: Held,
  onBytes?: (done: number, total: number) => void,
): Promise<Shared> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    let done = 0;
    const onChunk = (length: number) => {
      done += length;
      onBytes?.(done, size);
    };
    const transfer = { place, folder: sharing.folder, file, fileBytes: size, onChunk };
    const { chunks, bytes: uploadedBytes } = await upload(transfer, held, lease.epoch);
    const manifest = { bytes: size, chunks };
    const about = { settings, publication, version, publishedMs, bytes: size, uploadedBytes };
    const names = [...new Set(chunks.map((chunk) => chunkName(sharing.folder, chunk)))];
    return {
      head: { ...about, isOnly: forgets, manifest: encodeManifest(manifest), chunks: names },
      manifest,
    };
  } finally {
    await file.close();
  }
}

/** Leftover chunks of interrupted commands, before the first publication. */
export async function leftOvers({ place, sharing }: Turn): Promise<ReadonlyMap<string, bigint>> {
  const stored = new Map<string, bigint>();
  for await (const names of place.list(`${sharing.folder}/`)) {
    for (const name of names) stored.set(digestIn(name), epochIn(name));
  }
  return stored;
}
