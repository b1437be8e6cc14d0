/**
 * The port for moving organizations between stores: what a store keeps of the version in force, row by row, which is
 * the same in every store. Nothing is worked out anew, so every answer of a copy is that of the original, its cursors,
 * entity tags and pseudonyms included, and what is imported later has the same consequences (decision 46).
 */
import type { CopiedRows, CopiedTable } from './copied-tables.ts';
import type { Counts } from './dataset.ts';
import type { OrganizationEntry, PublicationOptions } from './store.ts';

/** What is known of a version beside its settings and its rows. */
export interface VersionFacts {
  readonly version: string;
  /** Its number; the next publication gets the next one. */
  readonly publication: number;
  readonly publishedMs: number;
  /** Of the event published last. */
  readonly lastSequence: number;
  readonly counts: Counts;
}

/** One organization as it was when it was opened, whatever is published meanwhile. */
export interface Original {
  readonly entry: OrganizationEntry;
  /** Absent while nothing is published; then there are no rows to ask for. */
  readonly facts: VersionFacts | undefined;
  /** All rows of a table in the order of `COPIED_TABLES`, in bounded runs. */
  rows(table: CopiedTable): AsyncIterable<CopiedRows>;
  /** The years of UTC between two, both included, in which events lie. */
  eventYears(first: number, last: number): Promise<ReadonlySet<number>>;
  close(): Promise<void>;
}

export interface CopyOptions extends PublicationOptions {
  /** Told whenever rows of a table have been taken over. */
  readonly onRows: (table: CopiedTable, count: number) => void;
}

export interface Copying {
  /** Names of the organizations, ascending. */
  names(): Promise<readonly string[]>;
  /** Throws `organization-unknown`. The caller closes it. */
  open(name: string): Promise<Original>;
  /** Throws `organization-exists` when there is one of this name that cannot be replaced by a copy. */
  checkFree(name: string): Promise<void>;
  /**
   * Makes the copy and puts it in force in one step; when it fails, nothing is in force. An organization of the same
   * name without data is replaced. Throws what `checkFree` throws, and `organization-busy`.
   */
  write(original: Original, options: CopyOptions): Promise<void>;
  close(): Promise<void>;
}
