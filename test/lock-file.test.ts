/** The digests in the lock file, against which `npm ci` checks every package. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

interface LockedPackage {
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
