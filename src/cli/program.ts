/** The whole command line as a value, so that it can be run, tested and documented. */
import { Command } from 'commander';
import { readProductVersion } from '../system/product-version.ts';
import { addAuditCommand } from './commands/audit.ts';
import { addBackupCommand } from './commands/backup.ts';
import { addCheckCommand } from './commands/check.ts';
import { addCompletionCommand } from './commands/completion.ts';
import { addCopyCommand } from './commands/copy.ts';
import { addDemoCommand } from './commands/demo.ts';
import { addExpireCommand } from './commands/expire.ts';
import { addExportCommand } from './commands/export.ts';
import { addForgetCommand } from './commands/forget.ts';
import { addImportCommand } from './commands/import.ts';
import { addKeysCommands } from './commands/keys.ts';
import { addMigrateCommand } from './commands/migrate.ts';
import { addOrganizationsCommands } from './commands/organizations.ts';
import { addPointsCommands } from './commands/points.ts';
import { addPrefetchCommand } from './commands/prefetch.ts';
import { addPullCommand } from './commands/pull.ts';
import { addRestoreCommand } from './commands/restore.ts';
import { addServeCommand } from './commands/serve.ts';
import { addSyncCommand } from './commands/sync.ts';
import { addRollbackCommand, addVersionsCommands } from './commands/versions.ts';
import { beginCommand } from './process/audit.ts';
import { DEFAULT_CACHE_BYTES, defaultCache } from './process/storage.ts';
import { addExamples } from './terminal/examples.ts';
import { readBuildMemory, readDatabase, readDataFolder, readSize } from './terminal/options.ts';
import { concealSecrets } from './terminal/output.ts';
import { setting } from './terminal/setting.ts';

const DATABASE_HELP = `
Database:
  --database takes a URL like postgres://corkboard@db/corkboard. Command-line options are visible in
  the process list: keep passwords in the environment or in a PGPASSFILE.`;

export function buildProgram(): Command {
  const program = new Command('corkboard')
    .description('Serve the data of a social-learning community over a read-only HTTP API.')
    .version(renderVersion(process.argv), '-V, --version', 'print the version; with --json as JSON')
    .helpOption('-h, --help', 'print this help')
    .addOption(setting('-d, --data <dir>', 'data folder').argParser(readDataFolder).default('./data'))
    .addOption(
      setting('--database <url>', 'PostgreSQL database instead of the data folder').argParser(readDatabase),
    )
    .addOption(
      setting('--cache <dir>', 'local cache of the versions in the database').default(
        defaultCache(),
        '~/.cache/corkboard',
      ),
    )
    .addOption(
      setting(
        '--cache-limit <size>',
        'maximum size of the cache, like 50GB; least recently used versions are deleted first',
      )
        .argParser(readSize)
        .default(DEFAULT_CACHE_BYTES, '20GB'),
    )
    .addOption(
      setting(
        '--build-memory <size>',
        'memory for building a version, like 4GB; the rest goes to disk (default: by the number of records, within the memory of the machine)',
      ).argParser(readBuildMemory),
    )
    // Set before the commands are added, because they inherit it.
    .configureHelp({ showGlobalOptions: true, styleTitle: pointToGlobalOptions })
    .configureOutput({
      outputError: (text, write) => write(concealSecrets(text).replace(/^error: /, 'corkboard: ')),
    })
    .showHelpAfterError('Use --help for the options and arguments.')
    .exitOverride()
    .hook('preAction', (_program, action) => beginCommand(action));
  program.addHelpText('after', DATABASE_HELP);
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
  addSyncCommand(program);
  addOrganizationsCommands(program);
  addKeysCommands(program);
  addPointsCommands(program);
  addVersionsCommands(program);
  addRollbackCommand(program);
  addForgetCommand(program);
  addExpireCommand(program);
  addCopyCommand(program);
  addBackupCommand(program);
  addRestoreCommand(program);
  addCheckCommand(program);
  addAuditCommand(program);
  addMigrateCommand(program);
  addPrefetchCommand(program);
  addDemoCommand(program);
  addCompletionCommand(program);
  return program;
}

/**
 * Commander prints the version before it reads further options, and a global `--json` would hide
 * those of the commands; so this looks for the word itself.
 */
function renderVersion(words: readonly string[]): string {
  const version = readProductVersion();
  if (!words.includes('--json')) return version;
  const { versions, platform, arch } = process;
  return JSON.stringify({ version, node: versions.node, platform, arch });
}

/** The help of the program says more about the global options than the help of a command. */
function pointToGlobalOptions(title: string): string {
  return title === 'Global Options:' ? 'Global options (see "corkboard --help"):' : title;
}
