/** `corkboard import`: checks bundles and publishes what they hold (decisions 28 to 32). */
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { AppError } from '../app-error.ts';
import { RECORD_KINDS } from '../dataset/staging.ts';
import type { Store } from '../dataset/store.ts';
import { DATE_ORDERS, FORMAT_TITLES } from '../ingest/formats/choices.ts';
import type { ImportReport } from '../ingest/import.ts';
import { addExamples } from './examples.ts';
import { checkFollow, type FollowWords, follow } from './follow.ts';
import { printFormats, readAs, readPaths, readStream } from './import-formats.ts';
import { openProgressDisplay } from './import-progress.ts';
import { renderProblems, renderReport } from './import-report.ts';
import { readSeconds } from './options.ts';
import { printResult, remark } from './output.ts';
import { hasStorage, openStore, type StorageOptions, withNewStore } from './storage.ts';

type ImportOptions = StorageOptions & FollowWords & { readonly formats?: boolean };

export function addImportCommand(program: Command): void {
  const organization = new Option(
    '--organization <name>',
    'the organization; it is made when there is none',
  ).makeOptionMandatory();
  const command = program
    .command('import')
    .description(
      'Check files and publish what they hold as the next version, all or nothing. Importing the same file twice changes nothing. docs/import.md describes the files.',
    )
    .argument('[path...]', 'files, folders, or - for standard input; files are named by what they hold')
    .addOption(organization)
    .addOption(
      new Option(
        '--as <kind>',
        'what the files hold, when their names do not tell, or who has written them',
      ).choices([...RECORD_KINDS, ...Object.keys(FORMAT_TITLES)]),
    )
    .option('--time-zone <zone>', 'the zone of local times, like Europe/Paris; for formats that have no zone')
    .addOption(
      new Option('--date-order <order>', 'day, month and year, where the file does not tell').choices(
        DATE_ORDERS,
      ),
    )
    .option(
      '--mapping <file>',
      'JSON: what words of the format stand for, {"Course viewed": "board.visited"}',
    )
    .option(
      '--from-lrs <url>',
      'statements of the learning record store there, instead of files; CORKBOARD_LRS_AUTHORIZATION is its header Authorization',
    )
    .option('--since <instant>', 'only statements that the store has got since; ISO 8601')
    .option('--formats', 'list the formats of other software that --as understands')
    .on('option:formats', () => {
      organization.mandatory = false;
    })
    .option(
      '--skip-invalid <file>',
      'publish the good records; every bad one is kept in this file, with its reason',
    )
    .option(
      '--follow-symlinks',
      'follow symbolic links inside folders, which are refused otherwise; links that are named as paths are always followed',
    )
    .option(
      '--settings',
      'take the settings and the points policy, too, that an export has written into the folder as organization.json and policy.json',
    )
    .option('--dry-run', 'check everything and publish nothing')
    .option(
      '--follow',
      'go on: publish what comes on standard input, a record a line, or every new file of a folder, until the input ends or a signal comes',
    )
    .addOption(
      new Option(
        '--every <seconds>',
        'how long --follow gathers before it publishes; 5 unless it is given',
      ).argParser(readSeconds),
    )
    .option('--json', 'print the report as one JSON object')
    .action((paths: string[], _options: unknown, command: Command) =>
      importPaths(paths, command.optsWithGlobals()),
    );
  addExamples(command, [
    'corkboard import ./bundle --organization school',
    'corkboard import ./school --organization school --settings',
    'corkboard import users.csv events-2026.ndjson.gz --organization school --dry-run',
    'corkboard import ./bundle --organization school --skip-invalid rejects.ndjson',
    'zcat events.csv.gz | corkboard import - --as events --organization school --json',
    'corkboard import logs/ --as moodle-log --time-zone Asia/Muscat --organization school --dry-run',
    'corkboard import statements.ndjson.gz --as xapi --mapping verbs.json --organization school',
    'tail -F -n +1 events.ndjson | corkboard import - --follow --organization school --json',
    'corkboard import inbox/ --follow --every 60 --organization school --skip-invalid rejects.ndjson',
    'corkboard import --from-lrs https://lrs.example.org/xapi --since 2026-11-01T00:00:00Z --organization school',
  ]);
}

async function importPaths(paths: readonly string[], options: ImportOptions): Promise<void> {
  if (options.formats) return printFormats(options);
  checkFollow(paths, options);
  if (options.follow) {
    await withNewStore(options, (store) => follow(store, paths[0]!, options));
    return;
  }
  const report = await withTarget(options, (store) => importInto(store, readPaths(paths, options), options));
  printResult(options, report, () => renderReport(report));
  refuseUnpublished(report);
}

/** A dry run makes no data folder: where there is none, it has an empty one for itself. */
async function withTarget<T>(options: ImportOptions, use: (store: Store) => Promise<T>): Promise<T> {
  if (!options.dryRun || hasStorage(options)) return await withNewStore(options, use);
  const { openTemporaryFolder, removeFoldersOnSignals } = await import('../temporary-folder.ts');
  removeFoldersOnSignals();
  using folder = openTemporaryFolder();
  return await withNewStore({ data: join(folder.path, 'data') }, use);
}

/** Throws `import-refused` when an import was not published because of its records. */
export function refuseUnpublished(report: ImportReport): void {
  if (report.outcome === 'refused') throw new AppError('import-refused', reasonOf(report));
}

function reasonOf({ records, rejected, problemCount, problemCountIsLeast }: ImportReport): string {
  // Bad records that are set aside refuse nothing.
  if (problemCount === rejected) {
    return `Nothing was published: none of ${countOf(records, 'record')} stands for an event, a user or a board. The report says why they were dropped; check --as and --mapping.`;
  }
  const bad = `${problemCountIsLeast ? 'at least ' : ''}${countOf(problemCount, 'bad record')}`;
  const unchecked = problemCountIsLeast ? ' (references are checked once there are none)' : '';
  return `Nothing was published because of ${bad}${unchecked}; correct them, or leave them out with --skip-invalid FILE.`;
}

function countOf(count: number, what: string): string {
  return count === 1 ? `1 ${what}` : `${count.toLocaleString('en')} ${what}s`;
}

/** Imports with the progress and the problems on standard error. */
export async function importInto(
  store: Store,
  paths: readonly string[],
  options: Omit<ImportOptions, keyof StorageOptions>,
): Promise<ImportReport> {
  const { importBundle } = await import('../ingest/import.ts');
  const { readParquet } = await import('../dataset/duckdb/parquet-reader.ts');
  const { openTemporaryFolder, removeFoldersOnSignals } = await import('../temporary-folder.ts');
  removeFoldersOnSignals();
  const display = openProgressDisplay();
  using scratch = new DisposableStack();
  const openScratchStore = async () => {
    const { path } = scratch.use(openTemporaryFolder());
    return openStore({ data: join(path, 'data') });
  };
  try {
    const report = await importBundle({
      store,
      organization: options.organization,
      paths,
      ...(await readAs(options)),
      skipInvalid: options.skipInvalid,
      takesSettings: options.settings,
      followsLinks: options.followSymlinks,
      dryRun: options.dryRun,
      // What has come since then may all be of no interest.
      mayDropAll: options.since !== undefined,
      readParquet,
      openScratchStore,
      stdin: await readStream(options),
      stdinName: options.fromLrs,
      onProgress: display.show,
      onWait: () => remark(`Waiting for another import of ${options.organization} to end.`),
    });
    display.end();
    if (report.problemCount > 0) remark(renderProblems(report));
    return report;
  } finally {
    display.end();
  }
}
