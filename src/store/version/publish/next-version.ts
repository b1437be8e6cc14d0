/** Where a publication builds the next version of an organization, and what puts it in force. */
import type { OrganizationEntry, Settings } from '../../store.ts';

export interface NextVersion {
  /** As it is while nobody else can publish. */
  readonly entry: OrganizationEntry;
  /** Number of the version in force; absent while nothing is published. */
  readonly publication: number | undefined;
  /** The file to change: a copy of the version in force; not there while nothing is published. */
  readonly file: string;
  /** Where DuckDB may put what does not fit into memory. */
  readonly spillFolder: string;
  /**
   * Puts the file, which is closed, in force in one step and ends the turn. Fails as a whole, or
   * with the version in force where only `forgets` could not be carried out.
   */
  publish(next: PublishedHead): Promise<void>;
  /** Keeps settings of an organization that has nothing published yet, and removes what earlier publications left. */
  configure(settings: Settings): Promise<void>;
  /** Ends the turn without a trace, whatever state the file is in. Harmless after `publish`. */
  discard(): Promise<void>;
}

export interface PublishedHead {
  readonly settings: Settings;
  readonly publication: number;
  readonly version: string;
  readonly publishedMs: number;
  /** Whether people were forgotten: then no version before this one is served or kept (decision 54). */
  readonly forgets: boolean;
}
