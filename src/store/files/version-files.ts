/** The port for the version files of organizations, and for building the next ones. */

import { AppError } from '../../domain/app-error.ts';
import type { CatalogEntry, CatalogStatements } from '../catalog/catalog.ts';
import type { PublicationOptions } from '../store.ts';

import type { NextVersion } from '../version/publish/next-version.ts';
import type { VersionFile } from '../version/read/opened-version.ts';
import type { CheckReport } from './check-report.ts';

/** The entry of an organization with the file of its current version, as of one look-up. */
export interface Original {
  readonly entry: CatalogEntry;
  /** Absent while nothing is published. */
  readonly file: VersionFile | undefined;
}

/** An organization to copy, and the file of its version; absent while nothing is published. */
export interface Adopted {
  readonly entry: CatalogEntry;
  readonly file: Pick<VersionFile, 'path'> | undefined;
}

export interface CopyOptions extends PublicationOptions {
  /** Called with the number of bytes of the file of an organization that are copied so far. */
  readonly onBytes: (done: number, total: number, organization: string) => void;
}

export interface BeginOptions extends PublicationOptions {
  /** The earlier version from which the next one is built; absent: the current one. */
  readonly from?: number | undefined;
}

export interface AdoptOptions extends CopyOptions {
  /** Whether organizations with data are replaced; otherwise they are refused. */
  readonly replace?: boolean;
  /** Called when everything is stored, before it becomes current. If it fails, nothing changes. */
  readonly beforeCurrent?: () => Promise<void>;
}

export interface RenameOptions extends PublicationOptions {
  /** Prepares data outside the store. If it fails, nothing changes. */
  readonly beforeRenaming: () => Promise<void>;
  /**
   * Gives the keys of `former` the new name: in the transaction that renames the organization, if
   * the keys are in the same database, otherwise after it. In the latter case the former name is
   * valid until it has succeeded.
   */
  readonly renameKeys: (former: string, transaction?: CatalogStatements) => Promise<void>;
  /** Renames data outside the store, after the organization has its new name. */
  readonly afterRenaming: () => Promise<void>;
}

export interface RemoveOptions extends PublicationOptions {
  /**
   * Deletes the keys of an organization. In the transaction that empties or deletes it, if they are
   * in the same database: keys can be created meanwhile.
   */
  readonly removeKeys: (name: string, transaction?: CatalogStatements) => Promise<void>;
  /** Deletes data outside the store, of an organization that may have had several names. */
  readonly removeOther: (names: readonly string[]) => Promise<void>;
  /** Deletes what deleted keys have left. False if that is impossible at the moment. */
  readonly purgeKeys: () => Promise<boolean>;
}

export interface VersionFiles {
  /**
   * The file of the current version, or absent before the first. Throws the errors of the storage.
   */
  current(entry: CatalogEntry): Promise<VersionFile | undefined>;
  /** Numbers of the kept versions, latest first, the current one included. */
  kept(entry: CatalogEntry): Promise<readonly number[]>;
  /** The file of a kept version. Throws the errors of the storage. */
  file(entry: CatalogEntry, publication: number): Promise<VersionFile>;
  /**
   * The turn to publish the next version of an organization, one at a time. Throws
   * `organization-unknown`, `organization-busy`, and `version-unknown` if `from` is not kept.
   */
  begin(name: string, options: BeginOptions): Promise<NextVersion>;
  /**
   * Makes copies current, all in one step, with the versions, secrets and settings of their
   * originals. Creates organizations that do not exist. Throws `organization-exists`,
   * `organization-busy`.
   */
  adopt(originals: readonly Adopted[], options: AdoptOptions): Promise<void>;
  /**
   * Changes the name of an organization, in its turn to publish. An organization that has the name
   * already must have been renamed by a call that was interrupted, which this one finishes. Throws
   * `organization-unknown`, `organization-exists`, `organization-malformed`, `organization-busy`.
   */
  rename(name: string, newName: string, options: RenameOptions): Promise<void>;
  /**
   * Deletes an organization, in its turn to publish: first its keys, then all of its data, last its
   * entry. If the call is interrupted, an organization without keys remains, whose data is complete
   * or inaccessible, and the next call finishes it. Throws `organization-unknown`,
   * `organization-busy`.
   */
  remove(name: string, options: RemoveOptions): Promise<void>;
  /** Reads the file of an original as a whole. Throws `data-unreadable` if it is damaged. */
  verify(original: Original): Promise<void>;
  /** What is stored for organizations that do not exist, one line each. */
  strays(names: readonly string[]): Promise<readonly string[]>;
  /** Checks all files of an organization. Does not throw for damage. */
  check(entry: CatalogEntry, report: CheckReport): Promise<void>;
  close(): Promise<void>;
}

/** A version that was never published, or is too old. */
export function notKept(version: number | string): AppError {
  return new AppError(
    'version-unknown',
    `There is no version ${version}, or it is no longer kept. "corkboard versions list" lists those that are.`,
  );
}
