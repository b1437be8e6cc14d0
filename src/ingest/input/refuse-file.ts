/** Reports errors of the file system in words. */
import { AppError } from '../../domain/app-error.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission to read it is denied',
  EISDIR: 'it is a folder',
  ELOOP: 'it is a symbolic link',
  EFTYPE: 'it is not a regular file',
};

/** Throws `file-unreadable` for an error of the file system. */
export function refuseFile(name: string, error: unknown): never {
  // An `AppError` from a network source is already more precise.
  if (error instanceof AppError) throw error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'an unknown error';
  const reason = REASONS[code] ?? `the system reports ${code}`;
  throw new AppError('file-unreadable', `Cannot read ${name}: ${reason}.`, { cause: error });
}
