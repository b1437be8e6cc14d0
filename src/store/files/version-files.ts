/** The port for the version files of organizations, and for building the next ones. */

import type { CatalogEntry } from '../catalog/catalog.ts';
import type { PublicationOptions } from '../store.ts';
import type { NextVersion } from '../version/publish/next-version.ts';
import type { VersionFile } from '../version/read/version-dataset.ts';

/** The entry of an organization with the file of its current version, as of one look-up. */
export interface Original {
  readonly entry: CatalogEntry;
  /** Absent while nothing is published. */
  readonly file: VersionFile | undefined;
}

export interface CopyOptions extends PublicationOptions {
  /** Called with the number of bytes of the file that are copied so far. */
  readonly onBytes: (done: number, total: number) => void;
}

export interface VersionFiles {
  /**
   * The file of the current version, or absent before the first. Throws the errors of the storage.
   */
  current(entry: CatalogEntry): Promise<VersionFile | undefined>;
  /** Files of the kept versions before the current one, latest first. Skips unavailable files. */
  earlier(entry: CatalogEntry): AsyncIterable<VersionFile>;
  /**
   * The turn to publish the next version of an organization, one at a time. Throws
   * `organization-unknown`, `organization-busy`.
   */
  begin(name: string, options: PublicationOptions): Promise<NextVersion>;
  /**
   * Makes a copy current in one step, with the version, secret and settings of its original. The
   * organization must exist and have no data. Throws `organization-exists`, `organization-busy`.
   */
  adopt(original: Original, options: CopyOptions): Promise<void>;
  close(): Promise<void>;
}
