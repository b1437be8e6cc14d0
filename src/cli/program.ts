/** The whole command line as a value, so that it can be run, tested and documented. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { addCopyCommand } from './copy.ts';
import { addDemoCommand } from './demo.ts';
import { addExamples } from './examples.ts';
import { addExportCommand } from './export.ts';
import { addForgetCommand } from './forget.ts';
import { addImportCommand } from './import.ts';
import { addKeysCommands } from './keys.ts';
import { addMigrateCommand } from './migrate.ts';
import { readDatabase, readSize } from './options.ts';
import { addOrganizationsCommands } from './organizations.ts';
import { concealSecrets } from './output.ts';
import { addPointsCommands } from './points.ts';
import { addPrefetchCommand } from './prefetch.ts';
import { addPullCommand } from './pull.ts';
import { addServeCommand } from './serve.ts';
import { DEFAULT_CACHE_BYTES, defaultCache } from './storage.ts';

// The same place from src/cli and from dist/cli.
const PACKAGE_FILE = join(import.meta.dirname, '../../package.json');

export function buildProgram(): Command {
  const program = new Command('corkboard')
    .description('Read-only data API of a social-learning community: events, boards, users and points.')
    .version(readVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addOption(new Option('--data <dir>', 'the data folder').default('./data').env('CORKBOARD_DATA'))
    .addOption(
      new Option(
        '--database <url>',
        'PostgreSQL instead of the data folder, like postgres://corkboard@db/corkboard; who lists the processes of a machine sees options, so keep a password in the environment or in a PGPASSFILE',
      )
        .argParser(readDatabase)
        .env('CORKBOARD_DATABASE'),
    )
    .addOption(
      new Option('--cache <dir>', 'folder for local copies of what lies in the database')
        .default(defaultCache(), '~/.cache/corkboard')
        .env('CORKBOARD_CACHE'),
    )
    .addOption(
      new Option(
        '--cache-limit <size>',
        'what they may take, like 50GB; least recently used versions go first',
      )
        .argParser(readSize)
        .default(DEFAULT_CACHE_BYTES, '20GB')
        .env('CORKBOARD_CACHE_LIMIT'),
    )
    // Before the commands are added, because they inherit it.
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      outputError: (text, write) => write(concealSecrets(text).replace(/^error: /, 'corkboard: ')),
    })
    .showHelpAfterError('--help shows what can be given.')
    .exitOverride();
  addExamples(program, [
    'corkboard demo',
    'corkboard import ./bundle --organization school',
    'corkboard keys create --organization school --label dashboard',
    'corkboard serve --data ./data --port 8080',
  ]);
  addServeCommand(program);
  addImportCommand(program);
  addExportCommand(program);
  addPullCommand(program);
  addOrganizationsCommands(program);
  addKeysCommands(program);
  addPointsCommands(program);
  addForgetCommand(program);
  addCopyCommand(program);
  addMigrateCommand(program);
  addPrefetchCommand(program);
  addDemoCommand(program);
  return program;
}

function readVersion(): string {
  const { version }: { version: string } = JSON.parse(readFileSync(PACKAGE_FILE, 'utf8'));
  return version;
}
