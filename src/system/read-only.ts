/**
 * Data folders that this process can read but not write: their file system is mounted read-only,
 * permissions are missing, or they are backups, which would be damaged by any change (decision 64).
 */
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../domain/app-error.ts';
import { hasCode } from './file-errors.ts';

/** The files that make a data folder a backup: a description, and the digests of all others. */
export const BACKUP_FILES = { description: 'backup.json', digests: 'SHA256SUMS' } as const;

const { description, digests } = BACKUP_FILES;
const REASONS = {
  folder: {
    reason: 'The data folder can only be read',
    remedy:
      'Run the command as the user who owns the folder; if its file system is mounted read-only, check the disk and mount it with write access.',
  },
  backup: {
    reason: 'The folder is a backup',
    remedy: `Restore it into a data folder with "corkboard restore". To make it a data folder itself, delete its files ${description} and ${digests}.`,
  },
} as const;

/** False if the folder does not exist. */
export function isReadOnly(folder: string): boolean {
  if (isBackup(folder)) return true;
  try {
    accessSync(folder, constants.W_OK);
    return false;
  } catch (error) {
    return hasCode(error, 'EROFS', 'EACCES', 'EPERM');
  }
}

/** Throws `settings-refused` if the data folder can only be read. Call it before a change. */
export function refuseReadOnly(dataFolder: string): void {
  if (isReadOnly(dataFolder)) throw readOnlyFolder(dataFolder);
}

export function readOnlyFolder(dataFolder: string, cause?: unknown): AppError {
  const { reason, remedy } = REASONS[isBackup(dataFolder) ? 'backup' : 'folder'];
  return new AppError('settings-refused', `${reason}, so nothing was changed. ${remedy}`, { cause });
}

function isBackup(folder: string): boolean {
  return Object.values(BACKUP_FILES).every((file) => existsSync(join(folder, file)));
}
