/** Builds the command line, so that it can be run, tested and documented. */
import { Command } from 'commander';
import { readProductVersion } from '../system/product-version.ts';
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

type LoadCommand = () => Promise<(program: Command) => void>;

/** The commands, in the order of the help. Each is loaded on demand. */
const COMMANDS: Readonly<Record<string, LoadCommand>> = {
  serve: async () => (await import('./commands/serve.ts')).addServeCommand,
  import: async () => (await import('./commands/import.ts')).addImportCommand,
  export: async () => (await import('./commands/export.ts')).addExportCommand,
  pull: async () => (await import('./commands/pull.ts')).addPullCommand,
  sync: async () => (await import('./commands/sync.ts')).addSyncCommand,
  organizations: async () => (await import('./commands/organizations.ts')).addOrganizationsCommands,
  keys: async () => (await import('./commands/keys.ts')).addKeysCommands,
  points: async () => (await import('./commands/points.ts')).addPointsCommands,
  versions: async () => (await import('./commands/versions.ts')).addVersionsCommands,
  rollback: async () => (await import('./commands/versions.ts')).addRollbackCommand,
  forget: async () => (await import('./commands/forget.ts')).addForgetCommand,
  expire: async () => (await import('./commands/expire.ts')).addExpireCommand,
  copy: async () => (await import('./commands/copy.ts')).addCopyCommand,
  backup: async () => (await import('./commands/backup.ts')).addBackupCommand,
  restore: async () => (await import('./commands/restore.ts')).addRestoreCommand,
  check: async () => (await import('./commands/check.ts')).addCheckCommand,
  audit: async () => (await import('./commands/audit.ts')).addAuditCommand,
  migrate: async () => (await import('./commands/migrate.ts')).addMigrateCommand,
  prefetch: async () => (await import('./commands/prefetch.ts')).addPrefetchCommand,
  demo: async () => (await import('./commands/demo.ts')).addDemoCommand,
  completion: async () => {
    const { addCompletionCommand } = await import('./commands/completion.ts');
    return (program) => addCompletionCommand(program, buildProgram);
  },
};

/**
 * `words`: the arguments after the script. If the first one names a command, the program has only
 * this command; otherwise it has all of them.
 */
export async function buildProgram([first = '']: readonly string[] = []): Promise<Command> {
  const program = new Command('corkboard')
    .description('Serve the data of a social-learning community over a read-only HTTP API.')
    .version(await renderVersion(process.argv), '-V, --version', 'print the version; with --json as JSON')
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
    .addOption(
      setting(
        '--zone-data <rules>',
        'time zone rules: node (those of Node.js), system, or a folder of compiled ones (default: the newest)',
      ),
    )
    // Set before the commands are added, because they inherit it.
    .configureHelp({ showGlobalOptions: true, styleTitle: pointToGlobalOptions })
    .configureOutput({
      outputError: (text, write) => write(concealSecrets(text).replace(/^error: /, 'corkboard: ')),
    })
    .showHelpAfterError('Use --help for the options and arguments.')
    .exitOverride()
    .hook('preAction', async (_program, action) => {
      beginCommand(action);
      const { zoneData } = action.optsWithGlobals<{ readonly zoneData?: string }>();
      if (zoneData !== undefined) (await import('../system/zones.ts')).chooseZoneData(zoneData);
    });
  program.addHelpText('after', DATABASE_HELP);
  addExamples(program, [
    'corkboard demo',
    'corkboard import ./bundle --organization school',
    'corkboard keys create --organization school --label dashboard',
    'corkboard serve --data ./data --port 8080',
  ]);
  const named = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined;
  const loads = named === undefined ? Object.values(COMMANDS) : [named];
  for (const add of await Promise.all(loads.map((load) => load()))) add(program);
  return program;
}

/**
 * Commander prints the version before it reads further options, and a global `--json` would hide
 * those of the commands; so this looks for the word itself.
 */
async function renderVersion(words: readonly string[]): Promise<string> {
  const version = readProductVersion();
  if (!words.includes('--json') || !(words.includes('--version') || words.includes('-V'))) return version;
  const { zoneData, zoneDataAtHand } = await import('../system/zones.ts');
  const { versions, platform, arch } = process;
  const zones = { used: zoneData(), ...zoneDataAtHand() };
  return JSON.stringify({ version, node: versions.node, platform, arch, zoneData: zones });
}

/** The help of the program says more about the global options than the help of a command. */
function pointToGlobalOptions(title: string): string {
  return title === 'Global Options:' ? 'Global options (see "corkboard --help"):' : title;
}
