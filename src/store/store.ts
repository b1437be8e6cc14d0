/**
 * The port of a store: the organizations it keeps, their published datasets, and the way to publish the next one.
 */
import type { Counts, Dataset, UserPointsKey } from '../dataset/dataset.ts';
import type { EventColumns, RecordKind, RecordOf, StagedProblem } from './staging.ts';

/**
 * An organization's settings. They are part of every version: changing them publishes one
 * (decisions 11, 23, 33).
 */
export interface Settings {
  readonly id: bigint;
  readonly title: string;
  readonly domain: string;
  readonly categoryId: bigint;
  readonly courseLookup: boolean;
  readonly lmsUserProperties: readonly string[];
  readonly userPointsKey: UserPointsKey;
  /** The points policy as JSON text, checked by `points/policy`; empty: the default policy. */
  readonly policy: string;
}

/** Whether both show the same organization, which stands in every event. */
export function isSameOrganization(one: Settings, other: Settings): boolean {
  return (
    one.id === other.id &&
    one.title === other.title &&
    one.domain === other.domain &&
    one.categoryId === other.categoryId
  );
}

/**
 * How an import numbers and names what other software identifies by texts (decision 62): `keyed` by
 * the secret of the organization, `plain` by digests that anybody can compute. Plain are
 * organizations that had data before there were keyed ids, so that people known already are not
 * imported a second time.
 */
export type DerivedIds = 'keyed' | 'plain';

export interface OrganizationEntry {
  /** The name on the command line; unique in a store, ignoring case. */
  readonly name: string;
  readonly settings: Settings;
  /** Absent while nothing is published. */
  readonly version: string | undefined;
  /**
   * Random bytes of the organization, for pseudonyms, derived ids, cursors and entity tags. Never
   * shown.
   */
  readonly secret: Uint8Array;
  readonly derivedIds: DerivedIds;
}

export interface Store {
  /** Ascending by name. */
  organizations(): Promise<readonly OrganizationEntry[]>;
  /** Throws `organization-unknown`. */
  organization(name: string): Promise<OrganizationEntry>;
  /** Unset settings get defaults: the next free id, the name as title. Throws `organization-exists`, `-malformed`. */
  createOrganization(name: string, settings: Partial<Settings>): Promise<OrganizationEntry>;
  /** Version in force, cheap enough to ask several times a second. Absent while nothing is published. */
  currentVersion(name: string): Promise<string | undefined>;
  /**
   * Calls back when a version of an organization may have been published, a moment ago at most; answers how to end that.
   * Some publications are never told, so `currentVersion` has to be asked all the same. Absent: none is.
   */
  watch?(onPublished: (organization: string) => void): () => void;
  /** The dataset in force; absent while nothing is published. The caller closes it. */
  openDataset(name: string): Promise<Dataset | undefined>;
  /**
   * The latest version before the one in force that can be opened, for when that one cannot
   * (decision 65); absent when none is kept. Never one that contains people who have been forgotten
   * since (decision 54). The caller closes it.
   */
  openEarlier?(name: string): Promise<Dataset | undefined>;
  /**
   * Begins the next version beside the current one. One publication at a time and organization: waits for another
   * one to end, up to `waitMs`, then throws `organization-busy`. `onWait` is called once when it has to wait.
   */
  beginPublication(name: string, options: PublicationOptions): Promise<Publication>;
  close(): Promise<void>;
}

export interface PublicationOptions {
  readonly waitMs: number;
  readonly onWait?: () => void;
}

export interface Publication {
  /** Adds checked records. They are taken in the order of the calls, which is their order of import. */
  stage<K extends RecordKind>(kind: K, records: readonly RecordOf[K][]): Promise<void>;
  /** Adds checked events that come as columns, like `stage`. They may be reused when the promise is fulfilled. */
  stageEvents(events: EventColumns): Promise<void>;
  /** Settings that the version shall have instead of the present ones. */
  changeSettings(changes: Partial<Settings>): void;
  /**
   * Checks the staged records against each other and against what is published: references, unique e-mail
   * addresses and names (decisions 9, 11). Bad records are taken out of the staging. So is, before that and without
   * being a problem, what is said of people who were forgotten (decision 54): answers how many records that are.
   */
  check(report: (problem: StagedProblem) => void): Promise<number>;
  /** Counts what `publish` would change. */
  preview(): Promise<Pick<Outcome, 'changes' | 'erased'>>;
  /** Publishes in one step; when nothing would change, no version is made and `published` is false. */
  publish(): Promise<Outcome>;
  /** Ends a publication without a trace, whatever state it is in. Harmless after `publish`. */
  discard(): Promise<void>;
}

export interface Change {
  readonly added: number;
  /** Records of known things with other values. */
  readonly changed: number;
  /** Records that were known already, value for value. */
  readonly unchanged: number;
}

export type Changes = Readonly<Record<RecordKind, Change>>;

export interface Outcome {
  readonly published: boolean;
  readonly version: string | undefined;
  readonly changes: Changes;
  readonly counts: Counts;
  /** Events that went with people who were forgotten. */
  readonly erased: number;
}
