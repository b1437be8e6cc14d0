/** Opens a version file for reading, if it is the version that the catalog names. */
import { Database, type DatabaseOptions } from '../database.ts';
import { type ExpectedVersion, type VerifiedVersion, verifyVersion } from '../publish/version-identity.ts';

/** The file of a version, which never changes. */
export interface VersionFile {
  readonly path: string;
  /** Folder for data that DuckDB spills from memory; used by this opening only. */
  readonly spillFolder: string;
  /** Path for the memory image of the version; absent if it has none. */
  readonly imagePath?: string;
  readonly expected: ExpectedVersion;
  /** Call it once, when the file is no longer read. */
  release(): void;
}

export interface OpenedVersion extends VerifiedVersion {
  readonly database: Database;
}

/**
 * Does not release the file. `memoryBytes`: for queries, before they spill to disk. `attached`: as
 * for `Database.open`; these files are not verified. Throws `data-unreadable` when the file is
 * damaged, or a different version.
 */
export async function openVersion(
  file: VersionFile,
  memoryBytes: number,
  attached?: DatabaseOptions['attached'],
): Promise<OpenedVersion> {
  const options = optionsFor(file, memoryBytes);
  const database = await Database.open(file.path, attached ? { ...options, attached } : options);
  try {
    return { database, ...(await verifyVersion((sql) => database.rows(sql), file.expected)) };
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Like `openVersion`, but opens the file at the first query, which fails if that is impossible. See
 * `Database.openLater`.
 */
export function openVersionLater(file: VersionFile, memoryBytes: number): Database | undefined {
  return Database.openLater(file.path, optionsFor(file, memoryBytes), (ask) =>
    verifyVersion(ask, file.expected),
  );
}

function optionsFor({ spillFolder }: VersionFile, memoryBytes: number): DatabaseOptions {
  return { readOnly: true, memoryBytes, spillFolder };
}
