/** Checks the files of an organization in a data folder. */
import { stat } from 'node:fs/promises';
import { AppError } from '../../domain/app-error.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { FORMAT_OF_DIGESTS } from '../version/publish/schema.ts';
import { type NamedPublication, WrongVersion } from '../version/publish/version-identity.ts';
import type { VersionFile } from '../version/read/opened-version.ts';
import { checkVersion } from '../version/read/version-check.ts';
import { type CheckReport, reasonOf } from './check-report.ts';
import { lockFile } from './file-lock.ts';
import type { VersionFolder } from './version-folder.ts';

export interface LocalCheck {
  readonly versions: VersionFolder;
  readonly entry: CatalogEntry;
  /** The path of the publication lock; absent if the folder can only be read. */
  readonly lock: string | undefined;
  /** Begins to read a version; the caller releases it. */
  readonly read: (publication: number) => Promise<VersionFile>;
}

/** What to do about an earlier version that is damaged. */
export const DELETING = 'It is an earlier version, used only if the current one is damaged: delete the file.';

export async function checkLocalFiles(check: LocalCheck, report: CheckReport): Promise<void> {
  const { versions, entry, lock } = check;
  const { name, publication } = entry;
  try {
    if (lock !== undefined) await reportLeftOvers(versions, publication, lock, report);
    if (publication === undefined) return;
    const earlier = await versions.before(publication);
    const history = await checkFile(check, publication, [], report);
    for (const each of earlier) await checkFile(check, each, history, report);
  } catch (error) {
    report.damage(`The folder of ${name} cannot be read (${reasonOf(error)}). ${restoring(name)}`);
  }
}

/** What to do about the current version of an organization if it is damaged. */
export function restoring(name: string): string {
  return `Restore the file from a backup, or run: corkboard restore BACKUP --replace --organization ${JSON.stringify(name)}`;
}

/** Does nothing while a different command has the lock, because it is using the files. */
async function reportLeftOvers(
  versions: VersionFolder,
  publication: number | undefined,
  lock: string,
  report: CheckReport,
): Promise<void> {
  if ((await stat(lock).catch(() => undefined)) === undefined) return;
  let release: () => void;
  try {
    release = await lockFile(lock, { waitMs: 0 });
  } catch (error) {
    if (error instanceof AppError && error.code === 'organization-busy') return;
    throw error;
  }
  try {
    for (const name of await versions.leftOvers(publication)) {
      report.damage(
        `No version needs ${versions.path(name)}. The next import deletes what a killed one has left, and "organizations remove" what it has left if it was interrupted; delete anything else yourself.`,
      );
    }
  } finally {
    release();
  }
}

function reportUndigested({ path, expected }: VersionFile, format: number, report: CheckReport): void {
  if (format >= FORMAT_OF_DIGESTS) {
    report.damage(`The digests of ${path} are missing. ${expected.remedy}`);
    return;
  }
  report.note(
    `${path} has no recorded digest: an earlier version of Corkboard wrote it. Blocks without data cannot be verified; the next import writes a file with a digest.`,
  );
}

/** Returns the history in the file; none if it cannot be read. */
async function checkFile(
  { versions, read }: LocalCheck,
  publication: number,
  history: readonly NamedPublication[],
  report: CheckReport,
): Promise<readonly NamedPublication[]> {
  const file = await read(publication);
  const { path, expected } = file;
  const { remedy } = expected;
  try {
    const isAsPublished = await versions.isAsPublished(publication, report.onBytes);
    if (isAsPublished === false) report.damage(`${path} is not what was published. ${remedy}`);
    const checked = await checkVersion({ ...file, expected: { ...expected, history } });
    if (isAsPublished === undefined) reportUndigested(file, checked.format, report);
    for (const problem of checked.problems) report.damage(`In ${path} ${problem}. ${remedy}`);
    return checked.history;
  } catch (error) {
    const isWrong = error instanceof WrongVersion;
    report.damage(isWrong ? error.message : `${path} cannot be read (${reasonOf(error)}). ${remedy}`);
    return [];
  } finally {
    file.release();
  }
}
