/** Where the versions of organizations lie as files, and where the next ones are made. */

import type { CatalogEntry } from '../catalog/catalog.ts';
import type { PublicationOptions } from '../store.ts';
import type { NextVersion } from '../version/publish/next-version.ts';
import type { VersionFile } from '../version/read/generation.ts';

/** An organization as it was when it was looked up, with the file of its version in force. */
export interface Original {
  readonly entry: CatalogEntry;
  /** Absent while nothing is published. */
  readonly file: VersionFile | undefined;
}

export interface CopyOptions extends PublicationOptions {
  /** Told how many bytes of the file have been taken over so far. */
  readonly onBytes: (done: number, total: number) => void;
}

export interface VersionFiles {
  /**
   * The file of the version in force; absent while nothing is published. Throws what the place of
   * the files throws.
   */
  current(entry: CatalogEntry): Promise<VersionFile | undefined>;
  /**
   * Files of versions before the one in force that are kept, latest first. One that cannot be had
   * is passed over.
   */
  earlier(entry: CatalogEntry): AsyncIterable<VersionFile>;
  /**
   * The turn to publish the next version of an organization, one at a time. Throws
   * `organization-unknown`, `organization-busy`.
   */
  begin(name: string, options: PublicationOptions): Promise<NextVersion>;
  /**
   * Puts a copy in force in one step, with the version, secret and settings of its original; the
   * organization is there and has no data. Throws `organization-exists`, `organization-busy`.
   */
  adopt(original: Original, options: CopyOptions): Promise<void>;
  close(): Promise<void>;
}
