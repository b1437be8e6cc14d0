/** The port through which a publication builds the next version and makes it current. */
import type { FilePart } from '../../../system/file-part.ts';
import type { OrganizationEntry, Settings } from '../../store.ts';
import type { ExpectedVersion } from './version-identity.ts';

export interface NextVersion {
  /** The entry as of the beginning of the turn; no other publication can change it. */
  readonly entry: OrganizationEntry;
  /** Number of the current version; absent while nothing is published. */
  readonly publication: number | undefined;
  /**
   * The file to change: a copy of the current version, or of the one that is restored. Missing
   * before the first publication.
   */
  readonly file: string;
  /** What the copy must be; absent before the first publication. */
  readonly base: ExpectedVersion | undefined;
  /** The file of the current version; only if an earlier one is restored. */
  readonly current: { readonly path: string; readonly expected: ExpectedVersion } | undefined;
  /** Folder for data that DuckDB spills from memory. */
  readonly spillFolder: string;
  /**
   * Makes the closed file current in one step and ends the turn. If it fails, nothing has changed,
   * except if only `forgets` failed: then the version is current.
   */
  publish(next: PublishedHead): Promise<void>;
  /**
   * Stores settings of an organization that has no published version, and deletes leftovers of
   * earlier publications.
   */
  configure(settings: Settings): Promise<void>;
  /** Ends the turn and deletes the file in any state. Has no effect after `publish`. */
  discard(): Promise<void>;
}

export interface PublishedHead {
  readonly settings: Settings;
  readonly publication: number;
  readonly version: string;
  readonly publishedMs: number;
  /** Whether users were erased: then no earlier version is served or kept (decision 54). */
  readonly forgets: boolean;
  /** The writes to the file since it was a copy; absent if they are not known. */
  readonly written?: readonly FilePart[] | undefined;
}
