/** What the target of a sync can do: it holds the tables of `tables.ts`. */
import type { CopyRow, CopyTable } from './tables.ts';

/** Stored in the transaction of the data, or after the last of the files. */
export interface CopyState {
  /** Base URL of the variant. */
  readonly source: string;
  readonly token: string;
  /** Entity tags of the lists in the copy; absent if the server sent none. */
  readonly usersTag: string | undefined;
  readonly boardsTag: string | undefined;
  readonly pointsTag: string | undefined;
}

export interface CopyTarget {
  /**
   * Runs `change`, while no other process changes the copy, and then makes the changes. `before`
   * is the state of the last completed sync. If `change` throws, nothing has changed.
   */
  transact(change: (copy: CopyWriting, before: CopyState | undefined) => Promise<CopyState>): Promise<void>;
  close(): Promise<void>;
}

export interface CopyWriting {
  /** Deletes all rows. */
  clear(table: CopyTable): Promise<void>;
  /**
   * Adds rows, each with a different key; they replace those with the same keys. A table whose key
   * has several columns must have been cleared before.
   */
  put(table: CopyTable, rows: readonly CopyRow[]): Promise<void>;
  /** Deletes the rows with one of the values in the column. */
  remove(table: CopyTable, column: string, values: readonly string[]): Promise<void>;
}
