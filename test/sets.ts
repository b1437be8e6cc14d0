/**
 * Assigns test files to runs. A file in no set is quick: it needs no other server, browser or
 * program, and finishes in a few seconds.
 */
import { globSync } from 'node:fs';
import { join, matchesGlob, sep } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const ALL_TESTS = 'test/**/*.test.ts';
/** The other versions of PostgreSQL are installed below `test/`. */
const INSTALLED = '**/node_modules';

/**
 * Patterns of files, relative to the root of the checkout; a file belongs to at most one set.
 * `run.ts` says which command runs which sets.
 */
export const SETS = {
  /** Tests that need Chromium, other languages, or tools of operators. */
  tools: [
    'test/cli/{monitoring,pgbouncer}.test.ts',
    'test/client/browser.test.ts',
    'test/clients/*.test.ts',
    'test/console/in-chromium.test.ts',
    'test/deploy.test.ts',
    'test/python/*.test.ts',
    'test/recipes/*.test.ts',
  ],
  /** Killed processes, several processes at once, and servers that fail. */
  failures: [
    'test/cli/{admin,full-disk,killed-remove,killed-rename,killed-restore,processes}.test.ts',
    'test/cli/{read-only,serve,shared-log,temporary-files,walks,workers}.test.ts',
    'test/import/*.test.ts',
    'test/organization-folders.test.ts',
    'test/{pull,sync}/kill.test.ts',
    'test/sync/{bucket,bucket-replaced,endless,oulad}.test.ts',
    'test/store/{away,bucket-faults,bucket-objects,failover,faulty-place}.test.ts',
  ],
  /** Commands on whole data folders and databases, and copies between them. */
  places: [
    'test/cli/{audit,backup,bucket,check,check-damage,copy,copying,forget-pulled}.test.ts',
    'test/cli/{erased-everywhere,postgres,remove,rename,restored-identity,rules}.test.ts',
    'test/export/{export,other-databases}.test.ts',
    'test/store/{bucket,shared-store}.test.ts',
    'test/store/files/shared-files.test.ts',
    'test/upgrade/*.test.ts',
  ],
  /** Hostile, random, large and real data, large responses, and copies kept up to date. */
  data: [
    'test/client/sync.test.ts',
    'test/contract/{long-answers,oulad,same-bytes,stackexchange}.test.ts',
    'test/dataset/{duckdb,increments}.test.ts',
    'test/export/long-texts.test.ts',
    'test/fuzz/*.test.ts',
    'test/ingest/formats/{derivation,hostile,known,moodle-log,named-problems}.test.ts',
    'test/ingest/formats/{oneroster-changes,properties,shared-addresses}.test.ts',
    'test/ingest/formats/{stack-exchange,xapi}.test.ts',
    'test/ingest/records/plain-events.test.ts',
    'test/layers.test.ts',
    'test/system/all-zones.test.ts',
    'test/properties/{histories,imports,resident,unseen-changes}.test.ts',
    'test/pull/{characters,hostile,kept,pull}.test.ts',
    'test/sync/hostile.test.ts',
    'test/render/{large-answers,parquet}.test.ts',
    'test/server/{cutting,excel,fuzz,parquet-shares,remote-parquet,time-slices,wrong-files}.test.ts',
    'test/server/traffic/shares.test.ts',
    'test/store/version/publish/layout.test.ts',
  ],
  /** The other tests that need PostgreSQL or an S3-compatible server. */
  stores: [
    'test/{cli,sync}/sync.test.ts',
    'test/sync/{batches,bi-tools,points,time-zones,views}.test.ts',
    'test/sync/cells.test.ts',
    'test/dataset/resident.test.ts',
    'test/keys/{key-rows,postgres-keyring}.test.ts',
    'test/properties/{agreement,sync}.test.ts',
    'test/server/{changed-keys,exchanged-versions,key-changes,notification,operation}.test.ts',
    'test/server/sync-servers.test.ts',
    'test/store/{migrate,postgres-table}.test.ts',
  ],
  /** The other tests that take several seconds. */
  longer: [
    'test/cli/{damaged-file,export,forget,import-formats,node-version,organizations,pull,versions}.test.ts',
    'test/client/{client,live,package,page-limits}.test.ts',
    'test/console/announcement.test.ts',
    'test/contract/{parquet-again,redacted-ids}.test.ts',
    'test/dataset/image-keeper.test.ts',
    'test/ingest/{deletions,expansion,records/nested-events}.test.ts',
    'test/properties/{attention,insight-tables,insights,lms-splits,paging,parquet,points,points-rows,pull,ranges,redaction,scope}.test.ts',
    'test/render/events.test.ts',
    'test/server/{access-audit,answers,byte-ranges,bodies/body,bodies/compression,caching}.test.ts',
    'test/server/{damaged-entries,damaged-versions,empty-organization,kept-bodies,parquet}.test.ts',
    'test/server/{preconditions,responses/buffer-pool,responses/live}.test.ts',
    'test/server/routes/{data-dictionary,insights}.test.ts',
    'test/server/{traffic/connection,user-points-key}.test.ts',
    'test/store/{folder,files/expected-version,files/local-files}.test.ts',
    'test/sync/parquet.test.ts',
    'test/store/version/{earlier-format,image-file}.test.ts',
  ],
} as const;

export type SetName = keyof typeof SETS;

/** Every test file, relative to the root, with `/`. */
export function testFiles(): readonly string[] {
  return globSync(ALL_TESTS, { cwd: ROOT, exclude: [INSTALLED] }).map((path) => path.replaceAll(sep, '/'));
}

/** The sets that name a file. */
export function setsOf(file: string): readonly SetName[] {
  const names = Object.keys(SETS) as SetName[];
  return names.filter((name) => SETS[name].some((pattern) => matchesGlob(file, pattern)));
}

/** The files of sets. */
export function filesOf(...sets: readonly SetName[]): readonly string[] {
  return testFiles().filter((file) => setsOf(file).some((set) => sets.includes(set)));
}

/** The files in no set. */
export function quickFiles(): readonly string[] {
  return testFiles().filter((file) => setsOf(file).length === 0);
}
