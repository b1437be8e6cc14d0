/**
 * Folders that this process can read but not write: their file system is mounted read-only, or
 * permissions are missing (decision 64).
 */
import { accessSync, constants } from 'node:fs';
import { AppError } from '../domain/app-error.ts';
import { hasCode } from './file-errors.ts';

/** False if the folder does not exist. */
export function isReadOnly(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return false;
  } catch (error) {
    return hasCode(error, 'EROFS', 'EACCES', 'EPERM');
  }
}

/** Throws `settings-refused` if the data folder can only be read. Call it before a change. */
export function refuseReadOnly(dataFolder: string): void {
  if (isReadOnly(dataFolder)) throw readOnlyFolder();
}

export function readOnlyFolder(cause?: unknown): AppError {
  return new AppError(
    'settings-refused',
    'The data folder can only be read, so nothing was changed. Run the command as the user who owns the folder; if its file system is mounted read-only, check the disk and mount it with write access.',
    { cause },
  );
}
