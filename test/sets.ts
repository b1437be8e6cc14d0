/**
 * Which test files belong to which run. A file that no set names is a quick one: it needs neither
 * another server nor a browser nor other programs, and is done in a few seconds.
 */
import { globSync } from 'node:fs';
import { join, matchesGlob, sep } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
export const ALL_TESTS = 'test/**/*.test.ts';

/** Patterns of files, relative to the root of the checkout; a file belongs to at most one set. */
export const SETS = {
  /** Chromium. */
  browser: ['test/client/browser.test.ts', 'test/console/in-chromium.test.ts'],
  /** PostgreSQL or an S3-compatible server, whatever the storage. */
  stores: [
    'test/cli/{bucket,copy,copying,forget-pulled,postgres}.test.ts',
    'test/dataset/resident.test.ts',
    'test/deploy.test.ts',
    'test/export/export.test.ts',
    'test/keys/{key-rows,postgres-keyring}.test.ts',
    'test/server/{changed-keys,notification,operation,sync-servers}.test.ts',
    'test/store/*.test.ts',
    'test/store/files/shared-files.test.ts',
    'test/upgrade/*.test.ts',
  ],
  /** The built command, processes that are killed, and programs of others. */
  programs: [
    'test/cli/{full-disk,node-version,processes,serve,shared-log,temporary-files,workers}.test.ts',
    'test/client/package.test.ts',
    'test/clients/*.test.ts',
    'test/console/announcement.test.ts',
    'test/import/*.test.ts',
    'test/ingest/expansion.test.ts',
    'test/pull/kill.test.ts',
    'test/recipes/*.test.ts',
    'test/render/large-answers.test.ts',
  ],
  /** Random cases, and data sets that take long. */
  cases: [
    'test/contract/{long-answers,oulad,same-bytes,stackexchange}.test.ts',
    'test/fuzz/*.test.ts',
    'test/ingest/formats/{derivation,hostile,known,properties}.test.ts',
    'test/properties/*.test.ts',
    'test/pull/{characters,hostile}.test.ts',
    'test/server/fuzz.test.ts',
  ],
} as const;

export type SetName = keyof typeof SETS;

/** Every test file, relative to the root, with `/`. */
export function testFiles(): readonly string[] {
  return globSync(ALL_TESTS, { cwd: ROOT }).map((path) => path.replaceAll(sep, '/'));
}

/** The sets that name a file. */
export function setsOf(file: string): readonly SetName[] {
  const names = Object.keys(SETS) as SetName[];
  return names.filter((name) => SETS[name].some((pattern) => matchesGlob(file, pattern)));
}
