/** The port for taking a version out row by row, as a bundle needs it. */

import type { Counts } from '../dataset/dataset.ts';
import type { OrganizationEntry } from './store.ts';
import type { CopiedRows, CopiedTable } from './version-tables.ts';

/** One organization as it was when it was opened, whatever is published meanwhile. */
export interface VersionRows {
  readonly entry: OrganizationEntry;
  /** Absent while nothing is published; then there are no rows to ask for. */
  readonly counts: Counts | undefined;
  /** All rows of a table in the order of `VERSION_TABLES`, in bounded runs. */
  rows(table: CopiedTable): AsyncIterable<CopiedRows>;
  close(): Promise<void>;
}
