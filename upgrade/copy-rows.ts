/**
 * Copies the organizations of a PostgreSQL database of Corkboard 0.1, which had its data in tables,
 * into the store of this release: `node upgrade/copy-rows.ts --help`. It exists for one release
 * only.
 */
import { Command, Option } from 'commander';
import { beginCommand } from '../src/cli/process/audit.ts';
import { withDatabase } from '../src/cli/process/database.ts';
import { DEFAULT_CACHE_BYTES, defaultCache, withPlace } from '../src/cli/process/storage.ts';
import { runProgram } from '../src/cli/program-run.ts';
import { addExamples } from '../src/cli/terminal/examples.ts';
import { readDatabase, readName, readPlace, readSize } from '../src/cli/terminal/options.ts';
import { concealSecrets, type JsonOption, printResult, renderTable } from '../src/cli/terminal/output.ts';
import { AppError } from '../src/domain/app-error.ts';
import { PostgresDatabase } from '../src/store/catalog/postgres-database.ts';
import { removeFoldersOnSignals } from '../src/system/temporary-folder.ts';
import {
  type CopiedOrganization,
  type CopyWishes,
  copyOrganizations,
  dropTables,
} from './copy-organizations.ts';
import { findTables } from './old-database.ts';

interface CopyRowsOptions extends JsonOption, CopyWishes {
  readonly database?: string;
  readonly to?: ReturnType<typeof readPlace>;
  readonly drop?: boolean;
  readonly cache: string;
  readonly cacheLimit: number;
}

/** No limit for responses, because a cursor over a large table may be slow. */
const WAITS = { connectMs: 5_000, answerMs: 0 };

export function buildProgram(): Command {
  const program = new Command('copy-rows')
    .description(
      'Copy the organizations of a PostgreSQL database of Corkboard 0.1 into the format of this version: settings, the current version and keys. Every body and pseudonym stays the same; cursors and sync tokens are still accepted. Each organization is copied completely or not at all. Organizations that are already in the target are skipped: if the script is stopped, run it again.',
    )
    .helpOption('-h, --help', 'print this help')
    .hook('preAction', (_program, action) => beginCommand(action))
    .addOption(
      new Option(
        '--database <url>',
        'database of 0.1, after "corkboard migrate"; keep passwords in the environment or in a PGPASSFILE',
      )
        .argParser(readDatabase)
        .env('CORKBOARD_DATABASE'),
    )
    .addOption(
      new Option(
        '--to <dir|url>',
        'data folder or migrated database to copy to (default: the same database); a folder is created if it does not exist, and --database then needs no "corkboard migrate"',
      ).argParser(readPlace),
    )
    .option('--organization <name>', 'only this organization; can be repeated (default: all)', readName)
    .option('--no-keys', 'do not copy the keys')
    .option('--drop', 'drop the schema corkboard_0_1 once every organization in it has been copied')
    .addOption(
      new Option('--cache <dir>', 'local cache of the versions in the database')
        .default(defaultCache(), '~/.cache/corkboard')
        .env('CORKBOARD_CACHE'),
    )
    .addOption(
      new Option('--cache-limit <size>', 'maximum size of the cache, like 50GB')
        .argParser(readSize)
        .default(DEFAULT_CACHE_BYTES, '20GB')
        .env('CORKBOARD_CACHE_LIMIT'),
    )
    .option('--json', 'print one JSON object')
    .configureOutput({
      outputError: (text, write) => write(concealSecrets(text).replace(/^error: /, 'corkboard: ')),
    })
    .showHelpAfterError('Use --help for the options and arguments.')
    .exitOverride()
    .action((options: CopyRowsOptions) => copyRows(options));
  addExamples(program, [
    'node upgrade/copy-rows.ts --database postgres://corkboard@db.example.org/corkboard',
    'node upgrade/copy-rows.ts --database postgres://corkboard@db.example.org/corkboard --to ./data --organization school',
    'CORKBOARD_DATABASE=postgres://corkboard@localhost/corkboard node upgrade/copy-rows.ts --drop',
  ]);
  return program;
}

async function copyRows({ database: url, to, cache, cacheLimit, drop, ...options }: CopyRowsOptions) {
  if (!url) {
    throw new AppError('option-malformed', 'Name the database of 0.1 with --database or CORKBOARD_DATABASE.');
  }
  const target = to ?? { database: url };
  const isElsewhere = !('database' in target) || target.database !== url;
  const tables = await withDatabase(url, (database) => findTables(database, isElsewhere));
  if (drop && !tables.isSetAside) {
    throw new AppError(
      'option-malformed',
      '--drop drops the schema corkboard_0_1, which this database does not have. Leave out --drop.',
    );
  }
  removeFoldersOnSignals();
  const from = new PostgresDatabase(url, WAITS);
  try {
    const organizations = await withPlace(
      { data: '', ...target, cache, cacheLimit },
      false,
      async (place) => {
        const move = { from, tables, to: place };
        const copied = await copyOrganizations(move, options);
        if (drop) await dropTables(move);
        return copied;
      },
    );
    const dropped = drop === true;
    printResult(options, { organizations, dropped }, () => renderCopied(organizations, dropped));
  } finally {
    await from.close();
  }
}

function renderCopied(copied: readonly CopiedOrganization[], dropped: boolean): string {
  const rows = copied.map(({ organization, skipped, version, events, users, boards, pins, keys }) => [
    ...[organization, skipped ? 'skipped' : (version ?? 'no data yet'), events, users, boards, pins, keys],
  ]);
  return [
    copied.length === 0
      ? 'There are no organizations to copy.'
      : renderTable(['NAME', 'VERSION', 'EVENTS', 'USERS', 'BOARDS', 'PINS', 'KEYS'], rows),
    ...(dropped ? ['The schema corkboard_0_1 was dropped.'] : []),
  ].join('\n');
}

if (import.meta.main) await runProgram(buildProgram);
