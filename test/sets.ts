/**
 * Assigns test files to runs. A file in no set is quick: it needs no other server, browser or
 * program, and finishes in a few seconds.
 */
import { globSync } from 'node:fs';
import { join, matchesGlob, sep } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const ALL_TESTS = 'test/**/*.test.ts';

/** Patterns of files, relative to the root of the checkout; a file belongs to at most one set. */
export const SETS = {
  /** Tests that need Chromium. */
  browser: ['test/client/browser.test.ts', 'test/console/in-chromium.test.ts'],
  /** Tests that need PostgreSQL or an S3-compatible server, for any storage. */
  stores: [
    'test/cli/{backup,bucket,check,copy,copying,forget-pulled,postgres,remove,rename,rules}.test.ts',
    'test/dataset/resident.test.ts',
    'test/deploy.test.ts',
    'test/export/export.test.ts',
    'test/keys/{key-rows,postgres-keyring}.test.ts',
    'test/server/{changed-keys,key-changes,notification,operation,sync-servers}.test.ts',
    'test/store/*.test.ts',
    'test/store/files/shared-files.test.ts',
    'test/upgrade/*.test.ts',
  ],
  /** Tests of the built command, of killed processes, and of third-party programs. */
  programs: [
    'test/cli/{admin,full-disk,killed-remove,killed-rename,killed-restore,monitoring,node-version,processes,serve,shared-log,temporary-files,workers}.test.ts',
    'test/client/package.test.ts',
    'test/clients/*.test.ts',
    'test/console/announcement.test.ts',
    'test/import/*.test.ts',
    'test/ingest/expansion.test.ts',
    'test/pull/kill.test.ts',
    'test/recipes/*.test.ts',
    'test/render/large-answers.test.ts',
  ],
  /** Tests with random cases, and with data sets that take long. */
  cases: [
    'test/contract/{long-answers,oulad,same-bytes,stackexchange}.test.ts',
    'test/fuzz/*.test.ts',
    'test/ingest/formats/{derivation,hostile,known,properties}.test.ts',
    'test/properties/*.test.ts',
    'test/pull/{characters,hostile}.test.ts',
    'test/server/fuzz.test.ts',
  ],
  /** Servers under load, and data through many versions: several seconds each. */
  load: [
    'test/cli/{audit,check-damage,versions}.test.ts',
    'test/client/{client,live,sync}.test.ts',
    'test/dataset/{duckdb,increments}.test.ts',
    'test/ingest/deletions.test.ts',
    'test/ingest/formats/{moodle-log,stack-exchange,xapi}.test.ts',
    'test/ingest/records/plain-events.test.ts',
    'test/{layers,organization-folders}.test.ts',
    'test/pull/{kept,pull}.test.ts',
    'test/render/{events,parquet}.test.ts',
    'test/server/{answers,cutting,damaged-versions,excel,kept-bodies}.test.ts',
    'test/server/{parquet,parquet-shares,preconditions,time-slices}.test.ts',
    'test/server/{bodies/body,responses/live,traffic/shares}.test.ts',
    'test/store/version/{earlier-format,publish/layout}.test.ts',
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

/** The files in no set. */
export function quickFiles(): readonly string[] {
  return testFiles().filter((file) => setsOf(file).length === 0);
}
