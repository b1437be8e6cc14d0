/** Checks the files of an organization in a data folder. */
import { stat } from 'node:fs/promises';
import { AppError } from '../../domain/app-error.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { checkVersion } from '../version/read/version-check.ts';
import { type CheckReport, reasonOf } from './check-report.ts';
import { lockFile } from './file-lock.ts';
import type { VersionFolder } from './version-folder.ts';

/** `lock`: the path of the publication lock; absent if the folder can only be read. */
export async function checkLocalFiles(
  versions: VersionFolder,
  { name, publication, version }: CatalogEntry,
  lock: string | undefined,
  report: CheckReport,
): Promise<void> {
  try {
    if (lock !== undefined) await reportLeftOvers(versions, publication, lock, report);
    if (publication === undefined) return;
    const earlier = await versions.before(publication);
    await checkFile(versions, publication, { version, remedy: restoring(name) }, report);
    const remedy = 'It is an earlier version, used only if the current one is damaged: delete the file.';
    for (const each of earlier) await checkFile(versions, each, { version: undefined, remedy }, report);
  } catch (error) {
    report.damage(`The folder of ${name} cannot be read (${reasonOf(error)}). ${restoring(name)}`);
  }
}

function restoring(name: string): string {
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

interface Expected {
  /** Absent if it is not known. */
  readonly version: string | undefined;
  readonly remedy: string;
}

async function checkFile(
  versions: VersionFolder,
  publication: number,
  { version, remedy }: Expected,
  report: CheckReport,
): Promise<void> {
  const file = await versions.read(publication);
  const { path } = file;
  try {
    const isAsPublished = await versions.isAsPublished(publication, report.onBytes);
    if (isAsPublished === undefined) {
      report.note(
        `${path} has no recorded digest: an earlier version of Corkboard wrote it. Blocks without data cannot be verified; the next import writes a file with a digest.`,
      );
    } else if (!isAsPublished) {
      report.damage(`${path} is not what was published. ${remedy}`);
    }
    const checked = await checkVersion(file);
    for (const problem of checked.problems) report.damage(`In ${path} ${problem}. ${remedy}`);
    if (version !== undefined && checked.version !== version) {
      report.damage(`${path} is the version ${checked.version} instead of ${version}. ${remedy}`);
    }
  } catch (error) {
    report.damage(`${path} cannot be read (${reasonOf(error)}). ${remedy}`);
  } finally {
    file.release();
  }
}
