/**
 * The `package.json` and the shrinkwrap of the two packages that are published: the server with the
 * command `corkboard`, and the client. Both derive from those of the repository.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { installedPackages, ROOT, readLockFile } from './lock-file.ts';

export const SERVER_NAME = 'corkboard-server';
export const CLIENT_NAME = 'corkboard-client';

interface RootManifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly engines: { readonly node: string };
  readonly bin: Readonly<Record<string, string>>;
  readonly files: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
}

function readRootManifest(): RootManifest {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
}

/** Of the server: what users run, without scripts and development dependencies. */
export function serverManifest() {
  const { version, description, license, engines, bin, files, dependencies } = readRootManifest();
  return {
    ...{ name: SERVER_NAME, version, description, license, type: 'module' },
    keywords: ['analytics', 'education', 'engagement', 'events', 'learning', 'lms', 'server', 'xapi'],
    ...{ engines, bin, files: [...files, 'npm-shrinkwrap.json'] },
    // The package is a program. Programs import the client from a package of its own.
    exports: { './package.json': './package.json' },
    dependencies,
  };
}

/** Of the client, which depends on nothing but `fetch`. */
export function clientManifest() {
  const { version, license } = readRootManifest();
  return {
    ...{ name: CLIENT_NAME, version, license, type: 'module', sideEffects: false },
    description: 'Typed client of Corkboard, the data API of a social-learning community',
    keywords: ['analytics', 'client', 'corkboard', 'education', 'events', 'learning'],
    engines: { node: '>=20' },
    exports: {
      '.': { types: './dist/client.d.ts', default: './dist/client.js' },
      './package.json': './package.json',
    },
    files: ['dist'],
  };
}

/**
 * The exact versions that the server was tested with: the lock file without development
 * dependencies.
 */
export function serverShrinkwrap() {
  const lock = readLockFile();
  const { devDependencies: _, ...product } = lock.packages[''] ?? {};
  return {
    ...lock,
    name: SERVER_NAME,
    packages: { '': { ...product, name: SERVER_NAME }, ...Object.fromEntries(installedPackages(lock)) },
  };
}
