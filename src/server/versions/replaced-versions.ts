/**
 * Versions that have been replaced and are still read by responses. Each keeps its memory, so their
 * age, number and memory are bounded (decision 60). None is read after somebody it holds was
 * forgotten (decision 54).
 */

import type { Dataset } from '../../dataset/dataset.ts';
import { AppError } from '../../domain/app-error.ts';
import { FULL_SCOPE } from '../../domain/scope.ts';
import type { LimitName, Limits } from '../limits/limits.ts';

/** Why a response is cut. */
export type CutReason = 'key-ended' | 'key-changed' | 'person-forgotten' | LimitName;

export interface HeldVersion {
  readonly dataset: Dataset;
  /** Why the responses that read this version are to be cut; absent: they are not. */
  recalledFor: CutReason | undefined;
}

interface Replaced {
  readonly organization: string;
  readonly version: HeldVersion;
  readonly bytes: number;
  readonly sinceMs: number;
}

/** Of any open version: its database, with some pages of it. */
const VERSION_BYTES = 16e6;
/** Columns and indexes in memory, with room to spare. */
const EVENT_BYTES = 150;
/** What is rendered of a user, a board or a pin, and what finds it. */
const RECORD_BYTES = 700;

/** About what an open version takes. */
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
   * To be called when a version is replaced; returns the function to call when it has been closed.
   */
  add(organization: string, version: HeldVersion): () => void {
    const replaced = { organization, version, bytes: versionBytes(version.dataset), sinceMs: this.#now() };
    this.#held.add(replaced);
    return () => this.#held.delete(replaced);
  }

  /**
   * To be called when a version has come into service: recalls those that hold a person whom it has
   * forgotten. When the store cannot say, they are recalled as well.
   */
  async recallForgotten(organization: string, inService: Dataset): Promise<void> {
    for (const { version } of this.#read(organization)) {
      const { lastSequence } = version.dataset;
      const forgotten = await inService.forgotten(FULL_SCOPE, lastSequence).catch(() => undefined);
      if (forgotten?.length !== 0) version.recalledFor = 'person-forgotten';
    }
  }

  /**
   * To be called several times a second: recalls versions that are too old, and the oldest ones
   * while there are too many or they take too much. The version that an organization replaced last
   * is recalled only for its age: otherwise a large organization that publishes often could never
   * be exported.
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
   * Of the organization that `whose` names, until all that are read fit, or only its last one is
   * left.
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

  /** The organization whose versions take most, of those that have more than one. */
  #largest(): string | undefined {
    const byOrganization = Map.groupBy(this.#read(), ({ organization }) => organization);
    const several = [...byOrganization].filter(([, versions]) => versions.length > 1);
    several.sort(([, one], [, other]) => bytesOf(other) - bytesOf(one));
    return several[0]?.[0];
  }

  /** Those whose responses go on, the oldest first. */
  #read(organization?: string): readonly Replaced[] {
    return [...this.#held].filter(
      (held) =>
        held.version.recalledFor === undefined &&
        (organization === undefined || held.organization === organization),
    );
  }
}

/** Throws `server-busy` before anything is sent from a version that must not be read any more. */
export function refuseRecalled({ recalledFor }: HeldVersion): void {
  if (recalledFor === undefined) return;
  throw new AppError('server-busy', 'The data were replaced while this response was made. Ask again.');
}

function bytesOf(versions: readonly Replaced[]): number {
  return versions.reduce((sum, { bytes }) => sum + bytes, 0);
}
