/**
 * Files found in a folder rather than named by the operator. Other users of the system may be able
 * to write to the folder: a link could lead to files that they cannot read themselves, and a pipe
 * could block indefinitely (decision 61). The file that is opened is therefore the exact file that
 * was checked.
 */
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath, stat } from 'node:fs/promises';
import { AppError } from '../../domain/app-error.ts';
import { hasCode } from '../../system/file-errors.ts';
import { refuseFile } from './refuse-file.ts';

/** Identifies a file in the file system, even if its name is later given to a different file. */
export interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
  /**
   * Its path without links, for a file in a subfolder: a link can also replace the subfolder.
   */
  readonly realPath?: string | undefined;
}

export interface FoundFile {
  readonly size: number;
  readonly modifiedMs: number;
  readonly identity: FileIdentity;
}

/**
 * Returns `folder` for a folder, and `none` if the path does not exist. Throws `file-unreadable`
 * for a symbolic link, unless links are followed, and for anything other than a file or a folder.
 */
export async function lookAt(path: string, followsLinks: boolean): Promise<FoundFile | 'folder' | 'none'> {
  const entry = await (followsLinks ? stat(path) : lstat(path)).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    return refuseFile(path, error);
  });
  if (entry === undefined) return 'none';
  if (entry.isDirectory()) return 'folder';
  if (entry.isSymbolicLink()) throw isLink(path);
  if (!entry.isFile()) throw isNoFile(path);
  const { size, mtimeMs: modifiedMs, dev, ino } = entry;
  return { size, modifiedMs, identity: { dev, ino } };
}

/**
 * The caller closes the file. Throws `file-unreadable`, also when a different file has replaced it.
 */
export async function openFound(path: string, identity: FileIdentity): Promise<FileHandle> {
  // Opened without blocking: a pipe may have replaced the file.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ELOOP') throw isLink(path);
    return refuseFile(path, error);
  });
  const entry = await file.stat();
  // A file that replaces a removed one may get its inode number, so the type is checked as well.
  const isSame = entry.isFile() && entry.dev === identity.dev && entry.ino === identity.ino;
  const { realPath } = identity;
  if (isSame && (realPath === undefined || (await realPathOf(file, path)) === realPath)) return file;
  await file.close();
  throw isReplaced(path);
}

/** On Linux, the path of the open file itself, even if its name now leads to a different one. */
async function realPathOf(file: FileHandle, path: string): Promise<string | undefined> {
  const ofFile = readlink(`/proc/self/fd/${file.fd}`);
  return await ofFile.catch(() => realpath(path)).catch(() => undefined);
}

export function isReplaced(path: string): AppError {
  return new AppError('file-unreadable', `${path} was replaced while the folder was read. Import it again.`);
}

function isLink(path: string): AppError {
  return new AppError(
    'file-unreadable',
    `${path} is a symbolic link. Links inside a folder are followed only with --follow-symlinks.`,
  );
}

function isNoFile(path: string): AppError {
  return new AppError(
    'file-unreadable',
    `${path} is not a regular file. Remove it from the folder, or give its path on the command line.`,
  );
}
