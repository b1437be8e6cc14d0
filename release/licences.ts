/**
 * The licences of all packages that the product installs, from the lock file: `node
 * release/licences.ts` prints them, and ends with exit code 1 if one is not on the list below.
 */
import { installedPackages, type LockFile, readLockFile } from './lock-file.ts';

/** Permissive licences (SPDX) that allow distribution together with Apache-2.0. */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
]);

export interface Licence {
  readonly name: string;
  readonly version: string;
  /** As the package states it; `none` if it does not. */
  readonly licence: string;
  readonly isAllowed: boolean;
}

/** The packages for production, optional ones of other platforms included, in order of name. */
export function licencesOf(lock: LockFile): readonly Licence[] {
  return installedPackages(lock).map(([path, { version = '', license = 'none' }]) => ({
    name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
    version,
    licence: license,
    isAllowed: ALLOWED.has(license),
  }));
}

if (import.meta.main) {
  for (const { name, version, licence, isAllowed } of licencesOf(readLockFile())) {
    process.stdout.write(`${licence}\t${name}@${version}${isAllowed ? '' : '\tNOT ALLOWED'}\n`);
    if (!isAllowed) process.exitCode = 1;
  }
}
