/** What `npm ci` installs is checked against the lock file: every package by its digest. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

interface LockedPackage {
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly link?: boolean;
}

/**
 * Optional packages of other platforms whose digests are still missing, because the registry did
 * not serve these versions when the lock file was written. `npm install --package-lock-only` adds
 * them where it does. This list only becomes shorter.
 */
const WITHOUT_DIGEST: ReadonlySet<string> = new Set([
  ...['android-arm64', 'android-x64', 'darwin-arm64', 'darwin-x64', 'linux-arm64-musl', 'linux-x64-musl']
    .concat(['win32-arm64', 'win32-x64'])
    .map((platform) => `node_modules/@biomejs/cli-${platform}`),
  ...['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-arm64-musl', 'win32-arm64', 'win32-x64'].map(
    (platform) => `node_modules/@duckdb/node-bindings-${platform}`,
  ),
  ...['android-arm-eabi', 'android-arm64', 'darwin-arm64', 'darwin-x64', 'freebsd-x64']
    .concat(['linux-arm-gnueabihf', 'linux-arm-musleabihf', 'linux-ppc64-gnu', 'linux-riscv64-gnu'])
    .concat(['linux-riscv64-musl', 'linux-s390x-gnu', 'openharmony-arm64', 'win32-arm64-msvc'])
    .concat(['win32-ia32-msvc', 'win32-x64-msvc'])
    .map((platform) => `node_modules/@oxc-parser/binding-${platform}`),
]);

const LOCK: { readonly packages: Readonly<Record<string, LockedPackage>> } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8'),
);

test('every package of the lock file has a digest, but for the known ones of other platforms', () => {
  const missing = Object.entries(LOCK.packages).filter(
    ([path, { integrity, link }]) => path !== '' && link !== true && !/^sha512-/.test(integrity ?? ''),
  );
  assert.deepEqual(missing.map(([path]) => path).sort(), [...WITHOUT_DIGEST].sort());
  assert.ok(missing.every(([, { optional }]) => optional === true));
});
