/**
 * The digests in the lock file, against which `npm ci` checks every package, and the versions whose
 * install scripts it may run.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import packageFile from '../package.json' with { type: 'json' };

interface LockedPackage {
  readonly version?: string;
  readonly hasInstallScript?: boolean;
  readonly integrity?: string;
  readonly link?: boolean;
}

const LOCK: { readonly packages: Readonly<Record<string, LockedPackage>> } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8'),
);

test('every package of the lock file has a digest, including those of other platforms', () => {
  const missing = Object.entries(LOCK.packages).filter(
    ([path, { integrity, link }]) => path !== '' && link !== true && !/^sha512-/.test(integrity ?? ''),
  );
  assert.deepEqual(
    missing.map(([path]) => path),
    [],
  );
});

test('exactly the versions of the lock file that have install scripts are named as read', () => {
  const scripted = Object.entries(LOCK.packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path, { version }]) => {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
      return [`${name}@${version}`, true] as const;
    });
  assert.deepEqual(packageFile.allowScripts, Object.fromEntries(scripted));
});
