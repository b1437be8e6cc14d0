/** The port of a store: its organizations, their published datasets, and new publications. */
import type { Counts, Dataset, UserPointsKey } from '../dataset/dataset.ts';
import { areSameOrganization } from '../dataset/records.ts';
import type { Offsets } from '../domain/zone.ts';
import type {
  DeletionOf,
  EventColumns,
  NameRecord,
  RecordKind,
  RecordOf,
  ReplaceableKind,
  Staged,
  StagedProblem,
} from './staging.ts';

/**
 * The settings of an organization. They are part of every version: changing them publishes a
 * version (decisions 11, 23, 33).
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

/** Whether both settings show the same organization in events; every event contains it. */
export function isSameOrganization(one: Settings, other: Settings): boolean {
  return areSameOrganization(one, other);
}

/**
 * How an import derives ids and names for records that other software identifies by texts (decision
 * 62): `keyed` by the secret of the organization, or `plain` by digests without a key.
 * Organizations that had data before keyed ids existed are plain, so that known users are not
 * imported a second time.
 */
export type DerivedIds = 'keyed' | 'plain';

/** How many versions are kept by default, for responses in flight and as a history. */
export const KEPT_VERSIONS = 3;

/**
 * How an organization is run: rules for its keys, versions and events. Unlike settings, they say
 * nothing about the data, so they are not part of versions.
 */
export interface Rules {
  /** The longest life of keys, in milliseconds; absent: no limit. */
  readonly longestKeyLifeMs?: number;
  /** How many versions are kept; `KEPT_VERSIONS` by default. */
  readonly keptVersions?: number;
  /** Versions that were published within this time are kept as well. In milliseconds. */
  readonly keptVersionsMs?: number;
  /** Events that are older are deleted by publications; absent: none are (decision 85). */
  readonly keptEvents?: Period;
}

/** A period of the calendar, in UTC. */
export type Period = { readonly months: number } | { readonly days: number };

export type RuleChanges = { readonly [R in keyof Rules]?: Rules[R] | undefined };

export interface OrganizationEntry {
  /** The name on the command line; unique in a store, ignoring case. */
  readonly name: string;
  readonly settings: Settings;
  /** Absent while nothing is published. */
  readonly version: string | undefined;
  /**
   * Random bytes for the pseudonyms, derived ids, cursors and entity tags of the organization.
   * Secret: they are never shown.
   */
  readonly secret: Uint8Array;
  readonly derivedIds: DerivedIds;
  readonly rules: Rules;
  /** Whether its removal has begun: until it has finished, nothing can be added to it. */
  readonly isBeingRemoved?: boolean;
}

export interface Store {
  /** Ascending by name. */
  organizations(): Promise<readonly OrganizationEntry[]>;
  /** The number of organizations with data, also if entries are damaged. */
  countPublished(): Promise<number>;
  /** Throws `organization-unknown`. */
  organization(name: string): Promise<OrganizationEntry>;
  /**
   * Unset settings get defaults: the next free id, the name as title. Throws `organization-exists`,
   * `organization-malformed`.
   */
  createOrganization(name: string, settings: Partial<Settings>): Promise<OrganizationEntry>;
  /**
   * Changes rules; `undefined` sets the default. No version is published. Throws
   * `organization-unknown`.
   */
  changeRules(name: string, changes: RuleChanges): Promise<void>;
  /** The current version, or absent before the first. Cheap enough for several calls a second. */
  currentVersion(name: string): Promise<string | undefined>;
  /**
   * Calls `onPublished` shortly after a version of an organization may have been published. Returns
   * a function that ends the subscription. Some publications are not reported, so `currentVersion`
   * must be polled as well. Absent: no publication is reported.
   */
  watch?(onPublished: (organization: string) => void): () => void;
  /**
   * The dataset of the current version; absent while nothing is published. The caller closes it.
   */
  openDataset(name: string): Promise<Dataset | undefined>;
  /**
   * How many bytes must leave memory so that this dataset, which is read from disk, is in memory
   * when it is opened again; 0 or less if it fits. Absent, or undefined: it will not be.
   */
  missingBytes?(dataset: Dataset): number | undefined;
  /** The memory of a dataset in memory, in bytes; 0 for one that is read from disk. */
  heldBytes?(dataset: Dataset): number;
  /**
   * The latest version before the current one that can be opened, for when the current one cannot
   * (decision 65). Absent when none is kept. It never contains users who have been erased since
   * (decision 54). The caller closes it.
   */
  openEarlier?(name: string): Promise<Dataset | undefined>;
  /**
   * Begins the next version beside the current one. Each organization has one publication at a
   * time: waits up to `waitMs` for a different one to end, then throws `organization-busy`.
   * `onWait` is called once if it has to wait.
   */
  beginPublication(name: string, options: PublicationOptions): Promise<Publication>;
  close(): Promise<void>;
}

export interface PublicationOptions {
  readonly waitMs: number;
  readonly onWait?: () => void;
  /** Recorded in the version. */
  readonly cause?: Cause;
  /**
   * Whether users are erased. Then the publication is refused with `erasure-refused` if data of the
   * organization may be where it cannot be deleted. Imports can erase users without saying so.
   */
  readonly erases?: boolean;
  /**
   * What happens if more than a fifth of the events are too old to be kept: they are kept (the
   * default), they are deleted, or `removal-refused` is thrown (decision 85).
   */
  readonly whenOverdue?: 'keep' | 'delete' | 'refuse';
}

/** What made a version. */
export interface Cause {
  /** The command, like `import`. */
  readonly command: string;
  /** Names of the files that were imported, as the user gave them. */
  readonly files?: readonly string[];
  /** Names of the settings that were changed. */
  readonly settings?: readonly string[];
  /** The version that was restored. */
  readonly restored?: string;
  /** Where copied data comes from; not part of the version. */
  readonly source?: string;
}

/** Local times that an import has read, and the rules of their zone. */
export interface LocalTimeSpan {
  readonly zone: string;
  /** The earliest and the latest event, in Unix milliseconds. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Those of the zone between the two. */
  readonly offsets: Offsets;
}

/** A version that was published, as the history of the organization records it. */
export interface PublishedVersion {
  /** Its number; each publication has a larger one. */
  readonly publication: number;
  readonly version: string;
  readonly publishedMs: number;
  /** Absent for versions that were published before these were recorded; so are the others. */
  readonly cause: Cause | undefined;
  readonly changes: Changes | undefined;
  readonly counts: Counts | undefined;
  readonly localTimes: LocalTimeSpan | undefined;
  /** Whether its data is kept, so that it can be compared and restored. */
  readonly isKept: boolean;
}

/** One record that differs between two versions. */
export interface DifferenceSample {
  readonly kind: RecordKind;
  readonly change: 'added' | 'changed' | 'deleted';
  /** What identifies the record for people: ids, and a name or title. */
  readonly record: string;
}

export interface VersionDifference {
  readonly changes: Changes;
  /** The first few of each kind and change. */
  readonly samples: readonly DifferenceSample[];
}

/** A change of a store that has taken effect, for the audit (decision 87). */
export type StoreChange = { readonly organization: string; readonly cause?: Cause | undefined } & (
  | { readonly type: 'created'; readonly settings: Settings }
  | {
      readonly type: 'rules-changed';
      readonly before: Rules;
      readonly after: RuleChanges;
    }
  /** `organization`: the new name. */
  | { readonly type: 'renamed'; readonly before: string }
  | { readonly type: 'removed' }
  | {
      /** A version was published, or the settings of an organization without data have changed. */
      readonly type: 'published';
      readonly before: Settings;
      readonly after: Settings;
      readonly outcome: Outcome;
    }
  | {
      readonly type: 'copied-here';
      readonly version: string | undefined;
      /** The version that was replaced. */
      readonly replaced: string | undefined;
      /** The rules from now on. */
      readonly rules: Rules;
    }
);

export interface Publication {
  /**
   * Adds checked records. The order of the calls is their order of import. Throws `import-refused`
   * if they are more than the memory for building a version suffices for, like the next two.
   */
  stage<K extends RecordKind>(kind: K, records: readonly RecordOf[K][]): Promise<void>;
  /**
   * Like `stage`, for checked events as columns, which may be reused when the promise is fulfilled.
   */
  stageEvents(events: EventColumns): Promise<void>;
  /**
   * Deletes published records, and records that were staged before (decision 82). Records that are
   * staged afterwards are new.
   */
  stageDeletions<K extends RecordKind>(kind: K, deletions: readonly DeletionOf[K][]): Promise<void>;
  /** Settings of the version that differ from the present ones. */
  changeSettings(changes: Partial<Settings>): void;
  /**
   * Checks the staged records against each other and against the published data: references, unique
   * e-mail addresses and names (decisions 9, 11). Invalid records are removed from the staged ones.
   * Before that, records about erased users and events that are too old to be kept are removed
   * without being reported (decisions 54, 85), the latter unless published events are overdue.
   * Throws `removal-refused` if they are and `whenOverdue` refuses that. Deletions are applied
   * before the checks, or reported when records would be left that refer to what they delete.
   */
  check(report: (problem: StagedProblem) => void, options?: CheckingOptions): Promise<LeftOut>;
  /** Counts the changes that `publish` would make. */
  preview(): Promise<Preview>;
  /**
   * What the settings change in the points of the published records; undefined if their policy is
   * the same. Only `discard` can follow.
   */
  previewPoints(): Promise<PointsChanges | undefined>;
  /**
   * Publishes in one step. If nothing would change, no version is made and `published` is false.
   * `localTimes`: recorded in the version.
   */
  publish(localTimes?: LocalTimeSpan): Promise<Outcome>;
  /**
   * Ends a publication in any state and removes what it has stored. Has no effect after `publish`.
   */
  discard(): Promise<void>;
}

/** The numbers of staged records that were removed, or had no effect, without being reported. */
export interface LeftOut {
  /** About erased users. */
  readonly forgotten: number;
  /** Events that are too old to be kept. */
  readonly expired: number;
  /** Deletions by id of events that are neither published nor staged. */
  readonly unmatched: UnmatchedDeletions;
}

export interface UnmatchedDeletions {
  readonly count: number;
  /** The first three. */
  readonly first: readonly Pick<Staged, 'file' | 'line'>[];
}

export interface DeletingOptions {
  /** Also delete records that refer to a deleted user, board or pin. */
  readonly cascades?: boolean;
  /** Delete published records of these kinds that are not staged; those of erased users stay. */
  readonly replaced?: readonly ReplaceableKind[];
  /** Delete published events that are staged, by their id, with a different time. */
  readonly correctsTimes?: boolean;
}

export interface CheckingOptions extends DeletingOptions {
  /** How problems name users, boards and pins; by their ids if absent. */
  readonly nameOf?: NameRecord;
}

export interface Change {
  readonly added: number;
  /** Records of known subjects with different values. */
  readonly changed: number;
  /** Records that were known already with the same values. */
  readonly unchanged: number;
  readonly deleted: number;
}

export type Changes = Readonly<Record<RecordKind, Change>>;

export type Preview = Pick<Outcome, 'changes' | 'erased' | 'overdue'>;

/** How many changes of points are listed. */
export const LISTED_CHANGES = 10;

/** Users on boards whose points are others than before. */
export interface PointsChanges {
  readonly users: number;
  readonly boards: number;
  /** The first `LISTED_CHANGES`, the largest change of the total first. */
  readonly largest: readonly PointsChange[];
}

export interface PointsChange {
  readonly board: bigint;
  readonly title: string;
  readonly user: bigint;
  readonly email: string;
  readonly before: PairPoints;
  readonly after: PairPoints;
}

export interface PairPoints {
  readonly totalPoints: number;
  readonly participationScore: number;
}

export interface Outcome {
  readonly published: boolean;
  readonly version: string | undefined;
  readonly changes: Changes;
  readonly counts: Counts;
  /** Events that were deleted with erased users. */
  readonly erased: number;
  /** Events that stay although they are too old; absent when there are none. */
  readonly overdue: Overdue | undefined;
}

/** Published events that are too old to be kept, but too many to be deleted unconfirmed. */
export interface Overdue {
  readonly events: number;
  /** All published events. */
  readonly of: number;
  /** The instant before which events are too old, and the one that the clock says. */
  readonly before: string;
  readonly now: string;
}
