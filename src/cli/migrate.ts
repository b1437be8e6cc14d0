/** `corkboard migrate`: brings a PostgreSQL database up to the tables of this version. */
import type { Command } from 'commander';
import { AppError } from '../app-error.ts';
import { addExamples } from './examples.ts';
import { type JsonOption, printResult } from './output.ts';
import { type StorageOptions, withDatabase } from './storage.ts';

interface MigrateOptions extends StorageOptions, JsonOption {
  readonly citus?: boolean;
}

interface Migrated {
  /** Numbers of the steps that were done now. */
  readonly steps: readonly number[];
  /** Tables that were distributed now; absent when that was not asked for. */
  readonly distributed?: readonly string[];
}

export function addMigrateCommand(program: Command): void {
  const migrate = program
    .command('migrate')
    .description(
      'Make the tables of a PostgreSQL database, or bring them up to this version. What is done already is not done again.',
    )
    .option('--citus', 'then distribute the tables over the nodes of Citus, by organization')
    .option('--json', 'print one JSON object')
    .action((_options: unknown, command: Command) => migrateDatabase(command.optsWithGlobals()));
  addExamples(migrate, [
    'corkboard migrate --database postgres://corkboard@db.example.org/corkboard',
    'CORKBOARD_DATABASE=postgres://corkboard@localhost/corkboard corkboard migrate --json',
  ]);
}

async function migrateDatabase(options: MigrateOptions): Promise<void> {
  if (!options.database) {
    throw new AppError(
      'option-malformed',
      'Name the database with --database or CORKBOARD_DATABASE; a data folder needs no migration.',
    );
  }
  const { migrate } = await import('../dataset/postgres/migrate.ts');
  const { distribute } = await import('../dataset/postgres/citus.ts');
  const migrated = await withDatabase(options.database, async (database): Promise<Migrated> => {
    const steps = await migrate(database);
    return options.citus ? { steps, distributed: await distribute(database) } : { steps };
  });
  printResult(options, migrated, () => renderMigrated(migrated));
}

function renderMigrated({ steps, distributed }: Migrated): string {
  return [
    steps.length === 0
      ? 'The database is up to date.'
      : `Done: ${steps.map((step) => `step ${step}`).join(', ')}.`,
    ...(distributed === undefined ? [] : [`Distributed now: ${distributed.join(', ') || 'nothing'}.`]),
  ].join('\n');
}
