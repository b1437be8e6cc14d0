/**
 * Replaced versions that responses still read. Each keeps its memory, so their age, number and
 * memory are limited (decision 60). No version is read after a user in it was forgotten (decision
 * 54).
 */

import type { Dataset } from '../../dataset/dataset.ts';
import { AppError } from '../../domain/app-error.ts';
import { FULL_SCOPE } from '../../domain/scope.ts';
import type { LimitName, Limits } from '../limits/limits.ts';

/** Why a response is cut. */
export type CutReason = 'key-ended' | 'key-changed' | 'person-forgotten' | LimitName;

export interface HeldVersion {
  readonly dataset: Dataset;
  /** Why the responses that read this version must be cut; absent: they may continue. */
  recalledFor: CutReason | undefined;
}

interface Replaced {
  organization: string;
  readonly version: HeldVersion;
  readonly bytes: number;
  readonly sinceMs: number;
}

/** Memory of every open version: its database, with some pages of it. */
const VERSION_BYTES = 16e6;
/** Per event: columns and indexes in memory, with some reserve. */
const EVENT_BYTES = 150;
/** Per user, board or pin: its rendered fragments, and the indexes that find it. */
const RECORD_BYTES = 700;

/** Approximate memory of an open version. */
function versionBytes({ counts: { events, users, boards, pins } }: Dataset): number {
  return VERSION_BYTES + EVENT_BYTES * events + RECORD_BYTES * (users + boards + pins);
}

export class ReplacedVersions {
  readonly #limits: Limits;
  readonly #now: () => number;
  /** In the order in which they were replaced. */
  readonly #held = new Set<Replaced>();

  constructor(limits: Limits, now = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  get count(): number {
    return this.#held.size;
  }

  get bytes(): number {
    return bytesOf([...this.#held]);
  }

  /**
   * Must be called when a version is replaced. Returns the function to call when it has been
   * closed.
   */
  add(organization: string, version: HeldVersion): () => void {
    const replaced = { organization, version, bytes: versionBytes(version.dataset), sinceMs: this.#now() };
    this.#held.add(replaced);
    return () => this.#held.delete(replaced);
  }

  /** Must be called when an organization has been renamed. */
  rename(organization: string, newName: string): void {
    for (const held of this.#held) if (held.organization === organization) held.organization = newName;
  }

  /**
   * Must be called when a version has come into service. Recalls the versions with a user whom it
   * has forgotten. If the store cannot tell, they are recalled as well.
   */
  async recallForgotten(organization: string, inService: Dataset): Promise<void> {
    for (const { version } of this.#read(organization)) {
      const { lastSequence } = version.dataset;
      const forgotten = await inService.forgotten(FULL_SCOPE, lastSequence).catch(() => undefined);
      if (forgotten?.length !== 0) version.recalledFor = 'person-forgotten';
    }
  }

  /**
   * Must be called several times a second. Recalls versions that are too old, and the oldest ones
   * while there are too many or they use too much memory. The version that an organization replaced
   * last is recalled only for its age: otherwise a large organization that publishes often could
   * never be exported.
   */
  recallExcess(): void {
    if (this.#held.size === 0) return;
    const startMs = this.#now() - this.#limits['replaced-age'];
    for (const { version, sinceMs } of this.#read()) {
      if (sinceMs < startMs) version.recalledFor = 'replaced-age';
    }
    for (const organization of new Set(this.#read().map((one) => one.organization))) {
      this.#recallOldest(
        () => this.#read(organization),
        () => organization,
        ['replaced-versions-per-organization', 'replaced-memory-per-organization'],
      );
    }
    this.#recallOldest(
      () => this.#read(),
      () => this.#largest(),
      ['replaced-versions', 'replaced-memory'],
    );
  }

  /**
   * Recalls versions of the organization that `whose` returns, the oldest first, until the versions
   * of `read` fit the limits or only the last one of that organization is left.
   */
  #recallOldest(
    read: () => readonly Replaced[],
    whose: () => string | undefined,
    [count, memory]: readonly [LimitName, LimitName],
  ): void {
    for (;;) {
      const all = read();
      const limit = [count, memory].find(
        (name) => (name === count ? all.length : bytesOf(all)) > this.#limits[name],
      );
      const organization = whose();
      const [oldest, next] = organization === undefined ? [] : this.#read(organization);
      if (limit === undefined || oldest === undefined || next === undefined) return;
      oldest.version.recalledFor = limit;
    }
  }

  /** The organization whose versions use the most memory, among those with more than one. */
  #largest(): string | undefined {
    const byOrganization = Map.groupBy(this.#read(), ({ organization }) => organization);
    const several = [...byOrganization].filter(([, versions]) => versions.length > 1);
    several.sort(([, one], [, other]) => bytesOf(other) - bytesOf(one));
    return several[0]?.[0];
  }

  /** Versions whose responses may continue, the oldest first. */
  #read(organization?: string): readonly Replaced[] {
    return [...this.#held].filter(
      (held) =>
        held.version.recalledFor === undefined &&
        (organization === undefined || held.organization === organization),
    );
  }
}

/**
 * Throws `server-busy` before the first byte is sent from a version that must no longer be read.
 */
export function refuseRecalled({ recalledFor }: HeldVersion): void {
  if (recalledFor === undefined) return;
  throw new AppError(
    'server-busy',
    'The data was replaced while this response was being prepared. Send the request again.',
  );
}

function bytesOf(versions: readonly Replaced[]): number {
  return versions.reduce((sum, { bytes }) => sum + bytes, 0);
}
