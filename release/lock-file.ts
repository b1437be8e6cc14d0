/** The lock file of the repository: what the product installs, and what only development needs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..');

/** One package, or, with an empty path, the product itself. */
export interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly devDependencies?: unknown;
}

export interface LockFile {
  /** By path. */
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

export function readLockFile(): LockFile {
  return JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
}

/** The packages for production by path, optional ones of other platforms included. */
export function installedPackages({ packages }: LockFile): readonly (readonly [string, LockedPackage])[] {
  return Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true);
}
