/** Folders that appear when they are complete. */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, realpath, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AppError } from '../domain/app-error.ts';
import { synchronize } from './synchronize.ts';

/**
 * Lets `fill` write a new folder, and renames it to `folder`, durably, when that is done. A process
 * that is killed leaves a folder whose name ends with `.tmp` beside it. Throws `option-malformed`
 * when the folder cannot be created, or exists and is not empty.
 */
export async function writeNewFolder<T>(
  folder: string,
  fill: (unfinished: string) => Promise<T>,
): Promise<T> {
  const place = await placeOf(folder);
  const unfinished = `${place}.${randomBytes(4).toString('hex')}.tmp`;
  await mkdir(unfinished, { mode: 0o700 }).catch((error: unknown) => refuse(folder, error));
  try {
    const result = await fill(unfinished);
    await synchronize(unfinished);
    await rmdir(place).catch(() => undefined);
    await rename(unfinished, place).catch((error: unknown) => refuse(folder, error));
    await synchronize(dirname(place));
    return result;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** The real path of the folder. Throws `option-malformed` when it cannot be created or replaced. */
async function placeOf(folder: string): Promise<string> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    return refuse(folder, error);
  });
  if (names === undefined) return folder;
  if (names.length > 0) {
    throw new AppError(
      'option-malformed',
      `The folder ${folder} is not empty. Use an empty or a new folder.`,
    );
  }
  const place = await realpath(folder);
  const [own, above] = await Promise.all([stat(place), stat(dirname(place))]);
  if (own.dev === above.dev) return place;
  throw new AppError('option-malformed', `${folder} is a mount point. Use a new folder inside it.`);
}

function refuse(folder: string, error: unknown): never {
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
  throw new AppError('option-malformed', `Cannot write to the folder ${folder}${code}.`, { cause: error });
}
