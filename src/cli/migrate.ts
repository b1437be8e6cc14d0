/** `corkboard migrate`: brings a PostgreSQL database up to the tables of this version. */
import { type Command, Option } from 'commander';
import { AppError } from '../app-error.ts';
import type { Migrated } from '../store/catalog/migrate.ts';
import { openCopyDisplay } from './copy-progress.ts';
import { addExamples } from './examples.ts';
import { readBucket } from './options.ts';
import { type JsonOption, printResult, remark } from './output.ts';
import { type StorageOptions, withCatalog, withDatabase } from './storage.ts';

/** How long it waits for an import to end. */
const WAIT_MS = 600_000;

interface MigrateOptions extends StorageOptions, JsonOption {
  /** Address of the place for chunks; empty: the database. */
  readonly bucket?: string;
  readonly citus?: boolean;
}

export function addMigrateCommand(program: Command): void {
  const migrate = program
    .command('migrate')
    .description(
      'Make the tables of a PostgreSQL database, or bring them up to this version. What is done already is not done again.',
    )
    .option(
      '--bucket <address>',
      'then move the chunks of versions there: s3://bucket/prefix, a folder that all servers and imports share, or "database"',
      readBucket,
    )
    .addOption(new Option('--citus').hideHelp())
    .option('--json', 'print one JSON object')
    .action((_options: unknown, command: Command) => migrateDatabase(command.optsWithGlobals()));
  addExamples(migrate, [
    'corkboard migrate --database postgres://corkboard@db.example.org/corkboard',
    'CORKBOARD_DATABASE=postgres://corkboard@localhost/corkboard corkboard migrate --json',
    'corkboard migrate --database postgres://db/corkboard --bucket s3://corkboard/versions?region=eu-central-1',
  ]);
}

async function migrateDatabase(options: MigrateOptions): Promise<void> {
  if (!options.database) {
    throw new AppError(
      'option-malformed',
      'Name the database with --database or CORKBOARD_DATABASE; a data folder needs no migration.',
    );
  }
  if (options.citus) {
    throw new AppError(
      'option-malformed',
      '--citus is gone: versions lie as chunks in any PostgreSQL, and servers read them from their own cache. Leave the option out.',
    );
  }
  const { migrate } = await import('../store/catalog/migrate.ts');
  const migrated = await withDatabase(options.database, migrate);
  const moved = options.bucket === undefined ? undefined : await moveBucket(options.database, options.bucket);
  const result = { ...migrated, ...(moved && { moved }) };
  printResult(options, result, () => renderMigrated(result));
}

async function moveBucket(url: string, bucket: string): Promise<readonly string[]> {
  const { moveToPlace } = await import('../store/move-chunks.ts');
  const display = openCopyDisplay('Moving', 'chunks');
  try {
    return await withCatalog(url, (catalog, openPlace) =>
      moveToPlace(catalog, openPlace, bucket, {
        waitMs: WAIT_MS,
        onWait: () => remark('Waiting for an import to end.'),
        onChunks: (organization, done, total) => display.show(done, total, organization),
      }),
    );
  } finally {
    display.end();
  }
}

function renderMigrated({
  steps,
  setAside,
  moved,
}: Migrated & { readonly moved?: readonly string[] }): string {
  return [
    steps.length === 0
      ? 'The database is up to date.'
      : `Done: ${steps.map((step) => `step ${step}`).join(', ')}.`,
    ...(moved === undefined ? [] : [`Chunks moved of: ${moved.join(', ') || 'no organization'}.`]),
    ...(setAside ? [COPY_ROWS] : []),
  ].join('\n');
}

/** What is left to do with a database of version 0.1. */
const COPY_ROWS =
  'The organizations of Corkboard 0.1 were set aside in the schema corkboard_0_1. Copy them with "node upgrade/copy-rows.ts --database <url>".';
