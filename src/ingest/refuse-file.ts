/** What the file system refuses, in words. */
import { AppError } from '../app-error.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'There is no such file',
  EACCES: 'The permission to read it is missing',
  EISDIR: 'It is a folder',
  ELOOP: 'It is a symbolic link',
  EFTYPE: 'It is not a regular file',
};

/** Throws `file-unreadable` for an error of the file system. */
export function refuseFile(name: string, error: unknown): never {
  // What is read over a network says more.
  if (error instanceof AppError) throw error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown trouble';
  const reason = REASONS[code] ?? `The system reports ${code}`;
  throw new AppError('file-unreadable', `${name} cannot be read. ${reason}.`, { cause: error });
}
