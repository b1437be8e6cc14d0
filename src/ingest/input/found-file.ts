/**
 * Files that were found in a folder rather than named by the operator. Others may write to the
 * folder: a link would lead to what they cannot read themselves, and a pipe would be waited for
 * without an end (decision 61). What is opened is the very file that was looked at.
 */
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, stat } from 'node:fs/promises';
import { AppError } from '../../domain/app-error.ts';
import { refuseFile } from './refuse-file.ts';

/** What the file system knows a file by, whatever its name leads to meanwhile. */
export interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
}

export interface FoundFile {
  readonly size: number;
  readonly modifiedMs: number;
  readonly identity: FileIdentity;
}

/**
 * `folder` for a folder, `none` when it is gone. Throws `file-unreadable` for a symbolic link,
 * unless links are followed, and for what is neither a file nor a folder.
 */
export async function lookAt(path: string, followsLinks: boolean): Promise<FoundFile | 'folder' | 'none'> {
  const entry = await (followsLinks ? stat(path) : lstat(path)).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    return refuseFile(path, error);
  });
  if (entry === undefined) return 'none';
  if (entry.isDirectory()) return 'folder';
  if (entry.isSymbolicLink()) throw isLink(path);
  if (!entry.isFile()) throw isNoFile(path);
  const { size, mtimeMs: modifiedMs, dev, ino } = entry;
  return { size, modifiedMs, identity: { dev, ino } };
}

/** The caller closes it. Throws `file-unreadable`, also when another file has taken the place. */
export async function openFound(path: string, identity: FileIdentity): Promise<FileHandle> {
  // Without blocking: a pipe that has taken the place must not be waited for.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ELOOP') throw isLink(path);
    return refuseFile(path, error);
  });
  const entry = await file.stat();
  // What takes the place of a file that was removed may get its number.
  if (entry.isFile() && entry.dev === identity.dev && entry.ino === identity.ino) return file;
  await file.close();
  throw new AppError('file-unreadable', `${path} was replaced while the folder was read. Import it again.`);
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
