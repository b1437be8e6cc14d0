/** The port for reading a version row by row, for bundles. */

import type { Counts } from '../dataset/dataset.ts';
import type { OrganizationEntry } from './store.ts';
import type { CopiedRows, CopiedTable } from './version-tables.ts';

/** One organization as it was when it was opened. Later publications do not affect it. */
export interface VersionRows {
  readonly entry: OrganizationEntry;
  /** Absent while nothing is published; then `rows` must not be called. */
  readonly counts: Counts | undefined;
  /** Whether any event has a body. */
  readonly hasBodies: boolean;
  /** All rows of a table in the order of `VERSION_TABLES`, in batches of bounded size. */
  rows(table: CopiedTable): AsyncIterable<CopiedRows>;
  close(): Promise<void>;
}
