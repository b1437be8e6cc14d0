/** `corkboard import`: checks bundles and publishes their records (decisions 28 to 32). */
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { AppError } from '../../domain/app-error.ts';
import { BOARD_SOURCES, DATE_ORDERS, FORMAT_TITLES } from '../../ingest/formats/choices.ts';
import type { ImportReport } from '../../ingest/import.ts';
import { defaultBuildBytes } from '../../store/build-memory.ts';
import type { VersionStore } from '../../store/files/version-store.ts';
import { RECORD_KINDS } from '../../store/staging.ts';
import type { Store } from '../../store/store.ts';
import { checkFollow, type FollowWords, follow } from '../process/follow.ts';
import { printFormats, readAs, readPaths, readStream } from '../process/import-formats.ts';
import { checkMemory, checkRoom } from '../process/import-room.ts';
import { CREATE, checkNewOrganization, type NewOrganizationOptions } from '../process/new-organization.ts';
import { chooseOrganization, organizationOption } from '../process/organization-choice.ts';
import { tellOverdue } from '../process/publish.ts';
import {
  folderOf,
  openStore,
  type StorageOptions,
  withDryStorage,
  withNewStore,
} from '../process/storage.ts';
import { addExamples } from '../terminal/examples.ts';
import { openProgressDisplay } from '../terminal/import-progress.ts';
import { renderProblems, renderReport } from '../terminal/import-report.ts';
import { readReplaced, readSeconds } from '../terminal/options.ts';
import { countOf, printResult, remark } from '../terminal/output.ts';
import { ProblemSummary } from '../terminal/problem-summary.ts';

type ImportCommandOptions = StorageOptions &
  FollowWords &
  NewOrganizationOptions & { readonly formats?: boolean };
type ImportCommandWords = Omit<ImportCommandOptions, 'organization'> & { readonly organization?: string };

export function addImportCommand(program: Command): void {
  const command = program
    .command('import')
    .summary('Load files and publish their records as the next version.')
    .description(
      'Check files and publish their records as the next version, all or nothing. Importing the same file again changes nothing. docs/import.md describes the files.',
    )
    .argument(
      '[path...]',
      'files, folders, or - for standard input; a file is named by its kind of records, like events.csv',
    )
    .addOption(organizationOption('name of the organization; created if it does not exist'))
    .addOption(
      new Option(
        '--as <kind>',
        'kind of records in the files, if their names do not say it, or format of other software',
      ).choices([...RECORD_KINDS, ...Object.keys(FORMAT_TITLES)]),
    )
    .option(
      '--time-zone <zone>',
      'time zone of the times in the files, like Europe/Paris; for formats without time zones',
    )
    .addOption(
      new Option('--date-order <order>', 'order of day, month and year, if the files are ambiguous').choices(
        DATE_ORDERS,
      ),
    )
    .option(
      '--mapping <file>',
      'JSON file with the meaning of terms of the format, like {"Course viewed": "board.visited"}',
    )
    .addOption(
      new Option(
        '--board-from <member>',
        'with --as xapi: what is the board in place of the course; for cmi5 and others whose statements name no course',
      ).choices(BOARD_SOURCES),
    )
    .option(
      '--encoding <name>',
      'code page of CSV files of other software that are not UTF-8, like shift_jis or windows-1250',
    )
    .option(
      '--from-lrs <url>',
      'import the statements of this learning record store instead of files; CORKBOARD_LRS_AUTHORIZATION is sent as the Authorization header',
    )
    .option('--since <instant>', 'with --from-lrs: only statements stored since this instant (ISO 8601)')
    .option('--formats', 'list the formats of other software for --as')
    .option(
      '--skip-invalid <file>',
      'publish the valid records; write each invalid record to this file, with the reason',
    )
    .option('--subfolders', 'also read the folders inside folders, at any depth')
    .option(
      '--follow-symlinks',
      'follow symbolic links inside folders instead of refusing them; links given as paths are always followed',
    )
    .option(
      '--settings',
      'also import the settings and the points policy from organization.json and policy.json in the folder, which an export writes',
    )
    .option(
      '--cascade',
      'with records that are marked as deleted: also delete the records that refer to them',
    )
    .addOption(
      new Option(
        '--replace <kinds>',
        'comma-separated kinds of records of which the files contain all: published ones that they lack are deleted',
      ).argParser(readReplaced),
    )
    .option(...CREATE)
    .option('--dry-run', 'check everything, publish nothing')
    .option(
      '--follow',
      'keep running: publish new records on standard input, one per line, or new files in a folder, until the input ends or a signal arrives',
    )
    .addOption(
      new Option(
        '--every <seconds>',
        'how long --follow collects records before it publishes them (default: 5)',
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
    'corkboard import deleted/users.csv --cascade --organization school --dry-run',
    'corkboard import roster/ --replace users,memberships --organization school',
    'corkboard import ./bundle --organization school --skip-invalid rejects.ndjson',
    'zcat events.csv.gz | corkboard import - --as events --organization school --json',
    'corkboard import logs/ --as moodle-log --time-zone Asia/Muscat --organization school --dry-run',
    'corkboard import log.csv --as moodle-log --time-zone Asia/Tokyo --encoding shift_jis --organization school',
    'corkboard import roster/ --as oneroster --replace memberships --organization school',
    'corkboard import courses/ --subfolders --as caliper --organization school',
    'corkboard import statements.ndjson.gz --as xapi --mapping verbs.json --organization school',
    'tail -F -n +1 events.ndjson | corkboard import - --follow --organization school --json',
    'corkboard import inbox/ --follow --every 60 --organization school --skip-invalid rejects.ndjson',
    'corkboard import --from-lrs https://lrs.example.org/xapi --since 2026-11-01T00:00:00Z --organization school',
  ]);
}

async function importPaths(paths: readonly string[], words: ImportCommandWords): Promise<void> {
  if (words.formats) return printFormats(words);
  checkFollow(paths, words);
  const options = await chooseOrganization(words);
  if (options.follow) {
    await withNewStore(options, async (store) => {
      await checkNewOrganization(store, options);
      await follow(store, paths[0]!, options);
    });
    return;
  }
  const report = await withTarget(options, async (store) => {
    await checkNewOrganization(store, options);
    const imported = await importInto(store, readPaths(paths, options), options, folderOf(options));
    if (imported.version !== undefined) await tellOutdated(store, imported.organization, options);
    return imported;
  });
  printResult(options, report, () => renderReport(report));
  refuseUnpublished(report);
}

async function withTarget<T>(
  options: ImportCommandOptions,
  use: (store: VersionStore) => Promise<T>,
): Promise<T> {
  if (!options.dryRun) return await withNewStore(options, use);
  return await withDryStorage(options, (place) => withNewStore(place, use));
}

/** Says which earlier imports read local times with other rules. */
async function tellOutdated(
  store: VersionStore,
  organization: string,
  { timeZone }: Pick<ImportCommandOptions, 'timeZone'>,
): Promise<void> {
  if (timeZone === undefined) return;
  const { describeOutdated, outdatedTimes } = await import('../../store/local-times.ts');
  for (const one of outdatedTimes(await store.versions(organization)))
    remark(`corkboard: ${describeOutdated(organization, one)}`);
}

/** Throws `import-refused` when an import was not published because of its records. */
export function refuseUnpublished(report: ImportReport): void {
  if (report.outcome === 'refused') throw new AppError('import-refused', reasonOf(report));
}

function reasonOf({ records, rejected, problemCount, problemCountIsLeast }: ImportReport): string {
  // Records that are rejected with --skip-invalid do not prevent a publication.
  if (problemCount === rejected) {
    return `Nothing was published: ${countOf(records, 'record')} contained no event, user, board or membership, and no deletion. The report gives the reasons; check --as and --mapping.`;
  }
  const bad = `${problemCountIsLeast ? 'at least ' : ''}${countOf(problemCount, 'invalid record')}`;
  const unchecked = problemCountIsLeast ? ' (references are checked only when there are none)' : '';
  return `Nothing was published because of ${bad}${unchecked}; correct them, or skip them with --skip-invalid FILE.`;
}

/**
 * Imports bundles, with the progress and the findings on standard error. Remarks beforehand if a
 * large import may not have the memory, or room in `folder`.
 */
export async function importInto(
  store: Store,
  paths: readonly string[],
  options: Omit<ImportCommandOptions, Exclude<keyof StorageOptions, 'buildMemory'>> & {
    readonly command?: string;
  },
  folder?: string,
): Promise<ImportReport> {
  const { importBundle } = await import('../../ingest/import.ts');
  const { readParquet } = await import('../../store/version/parquet/parquet-reader.ts');
  const { openTemporaryFolder, removeFoldersOnSignals } = await import('../../system/temporary-folder.ts');
  removeFoldersOnSignals();
  const display = await openProgressDisplay();
  const summary = new ProblemSummary();
  let isUnderWay = false;
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
      searchesSubfolders: options.subfolders,
      dryRun: options.dryRun,
      cascades: options.cascade,
      replaced: options.replace,
      command: options.command,
      // Possibly none of the statements since then is relevant.
      mayDropAll: options.since !== undefined,
      readParquet,
      openScratchStore,
      stdin: await readStream(options),
      stdinName: options.fromLrs,
      onProgress: (progress) => {
        const { bytesTotal = 0 } = progress;
        if (!isUnderWay) checkMemory(options.buildMemory ?? defaultBuildBytes(), bytesTotal);
        if (!isUnderWay && folder !== undefined) checkRoom(folder, bytesTotal);
        isUnderWay = true;
        display.show(progress);
      },
      onProblem: (problem) => summary.add(problem),
      onWait: () => remark(`Waiting for another import of ${options.organization} to finish.`),
    });
    display.end();
    const isSummedUp = summary.isNeeded && options.json !== true;
    tellOverdue(report.organization, report);
    if (report.problemCount > 0) remark(isSummedUp ? summary.render() : renderProblems(report));
    return report;
  } finally {
    display.end();
  }
}
