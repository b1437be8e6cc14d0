/** `corkboard migrate`: upgrades the tables of a PostgreSQL database to this version. */
import { type Command, Option } from 'commander';
import { AppError } from '../../domain/app-error.ts';
import type { Migrated } from '../../store/catalog/migrate.ts';
import { recordAct } from '../process/audit.ts';
import { withDatabase } from '../process/database.ts';
import { type StorageOptions, withCatalog } from '../process/storage.ts';
import { openCopyDisplay } from '../terminal/copy-progress.ts';
import { addExamples } from '../terminal/examples.ts';
import { readBucket } from '../terminal/options.ts';
import { type JsonOption, printResult, remark } from '../terminal/output.ts';

/** How long the command waits for an import to end. */
const WAIT_MS = 600_000;

interface MigrateOptions extends StorageOptions, JsonOption {
  /** Address of the place for chunks; empty for the database. */
  readonly bucket?: string;
  readonly citus?: boolean;
}

export function addMigrateCommand(program: Command): void {
  const migrate = program
    .command('migrate')
    .summary('Create or upgrade the tables of a PostgreSQL database.')
    .description(
      'Create the tables of a PostgreSQL database, or upgrade them to this version. Running the command again changes nothing.',
    )
    .option(
      '--bucket <address>',
      'then move the chunks of all versions to s3://bucket/prefix, to a folder that all servers and imports share, or to "database"',
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
      '--citus was removed: versions are stored as chunks in any PostgreSQL database, and servers read them from their own cache. Leave it out.',
    );
  }
  const { migrate } = await import('../../store/catalog/migrate.ts');
  const migrated = await withDatabase(options.database, migrate);
  const moved = options.bucket === undefined ? undefined : await moveBucket(options.database, options.bucket);
  const { bucket } = options;
  if (migrated.steps.length > 0 || (moved?.length ?? 0) > 0) {
    const act = { steps: migrated.steps, moved, bucket: moved && bucket };
    await recordAct(options, { organization: undefined, what: act });
  }
  const result = { ...migrated, ...(moved && { moved }) };
  printResult(options, result, () => renderMigrated(result));
}

async function moveBucket(url: string, bucket: string): Promise<readonly string[]> {
  const { moveToPlace } = await import('../../store/files/move-chunks.ts');
  const display = openCopyDisplay('Moving', 'chunks');
  try {
    return await withCatalog(url, (catalog, openPlace) =>
      moveToPlace(catalog, openPlace, bucket, {
        waitMs: WAIT_MS,
        onWait: () => remark('Waiting for an import to finish.'),
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
    ...(moved === undefined ? [] : [`Moved the chunks of: ${moved.join(', ') || 'no organization'}.`]),
    ...(setAside ? [COPY_ROWS] : []),
  ].join('\n');
}

/** The remaining step for a database of version 0.1. */
const COPY_ROWS =
  'The tables of Corkboard 0.1 are now in the schema corkboard_0_1. Copy their organizations with "node upgrade/copy-rows.ts --database <url>".';
