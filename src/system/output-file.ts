/** Files that a user names for output, which may be something other than a file. */
import type { Stats } from 'node:fs';
import { lstat, realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { AppError } from '../domain/app-error.ts';

export interface OutputPlace {
  /** Of a link to a file, the path of that file. */
  readonly path: string;
  /** Whether it is a device or a pipe: something to write into, which nothing may replace. */
  readonly isStream: boolean;
}

/**
 * `option`: what the path is for, in the message. Throws `option-malformed` for a folder, a socket
 * or a disk.
 */
export async function outputPlace(option: string, path: string): Promise<OutputPlace> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new AppError('option-malformed', `Cannot write ${option}, ${path} (${error.code}).`, {
      cause: error,
    });
  });
  if (found === undefined) return { path, isStream: false };
  if (found.isCharacterDevice() || found.isFIFO()) return { path, isStream: true };
  refuseOtherThanFile(option, path, found);
  // Another name of an open file, like /dev/stdout: replacing the file would separate the two.
  const isOpenFile = /^\/(?:dev|proc)\//.test(resolve(path)) && (await lstat(path)).isSymbolicLink();
  if (isOpenFile) return { path, isStream: true };
  return { path: await realpath(path), isStream: false };
}

/** Likewise, also for a device or a pipe. Whatever else is wrong, opening the file tells. */
export async function refuseOtherThanFileAt(option: string, path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found !== undefined) refuseOtherThanFile(option, path, found);
}

function refuseOtherThanFile(option: string, path: string, found: Stats): void {
  if (found.isFile()) return;
  const kinds = [
    [found.isDirectory(), 'folder'],
    [found.isSocket(), 'socket'],
    [found.isFIFO(), 'pipe'],
  ] as const;
  const kind = kinds.find(([is]) => is)?.[1] ?? 'device';
  throw new AppError('option-malformed', `Cannot write ${option}, ${path}: it is a ${kind}. Use a file.`);
}
