/** `corkboard export`: writes an organization as a bundle (decision 53). */
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { Counts } from '../../dataset/dataset.ts';
import { AppError } from '../../domain/app-error.ts';
import {
  EXPORT_COMPRESSIONS,
  EXPORT_FORMATS,
  type ExportCompression,
  type ExportFormat,
} from '../../export/choices.ts';
import type { ExportedFile, ExportOptions } from '../../export/export.ts';
import type { VersionStore } from '../../store/files/version-store.ts';
import type { RecordKind } from '../../store/staging.ts';
import type { VersionRows } from '../../store/version-rows.ts';
import { recordAct } from '../process/audit.ts';
import { withIds } from '../process/named-records.ts';
import { chooseOrganization, organizationOption } from '../process/organization-choice.ts';
import { type StorageOptions, withPlace } from '../process/storage.ts';
import { type CopyDisplay, openCopyDisplay } from '../terminal/copy-progress.ts';
import { addExamples } from '../terminal/examples.ts';
import { readRecord } from '../terminal/options.ts';
import { type JsonOption, printResult, renderTable } from '../terminal/output.ts';

interface ExportCommandOptions extends StorageOptions, JsonOption {
  readonly organization: string;
  readonly format?: ExportFormat;
  readonly compression: ExportCompression;
  readonly user?: bigint;
}

interface Exported {
  readonly organization: string;
  readonly version: string;
  readonly folder: string;
  readonly files: readonly ExportedFile[];
}

export function addExportCommand(program: Command): void {
  const command = program
    .command('export')
    .summary('Write an organization to a folder as a bundle.')
    .description(
      'Write the current version of an organization to a folder as a bundle, with one file for each kind of record. Importing the bundle into any Corkboard reproduces the same responses. The folder appears when it is complete.',
    )
    .argument('<folder>', 'folder to write; must be new or empty')
    .addOption(organizationOption('name of the organization'))
    .addOption(
      new Option('--format <format>', 'format of the files (default: ndjson, or csv with --user)').choices(
        EXPORT_FORMATS,
      ),
    )
    .addOption(
      new Option(
        '--compression <compression>',
        'compression of NDJSON and CSV files; Parquet files are always compressed',
      )
        .choices(EXPORT_COMPRESSIONS)
        .default('none'),
    )
    .option(
      '--user <user>',
      'only what is stored about the user with this id or address, to answer a request for it; in CSV unless --format says otherwise, with points and a description',
      readRecord,
    )
    .option('--json', 'print one JSON object')
    .action(async (folder: string, _options: unknown, command: Command) =>
      exportInto(resolve(folder), await withIds(await chooseOrganization(command.optsWithGlobals()))),
    );
  addExamples(command, [
    'corkboard export ./school --organization school',
    'corkboard export ./school --organization school --format csv --compression gzip',
    'corkboard export ./school --organization school --format parquet --json',
    'corkboard export ./user-12 --user 12 --organization school',
  ]);
}

async function exportInto(folder: string, options: ExportCommandOptions): Promise<void> {
  if (options.format === 'parquet' && options.compression !== 'none') {
    throw new AppError('option-malformed', 'Parquet files are always compressed; leave out --compression.');
  }
  const exported = await withPlace(options, true, async ({ store }): Promise<Exported> => {
    const original = await store.openRows(options.organization);
    const { entry, counts } = original;
    const display = openCopyDisplay(entry.name, 'records');
    try {
      if (entry.version === undefined || counts === undefined) {
        throw new AppError(
          'not-published',
          `${options.organization} has no data yet; there is nothing to export.`,
        );
      }
      const onRecords = showRecords(display, counts);
      const files = await writeFiles(store, original, { ...options, folder, onRecords });
      return { organization: entry.name, version: entry.version, folder, files };
    } finally {
      display.end();
      await original.close();
    }
  });
  const { organization, version, files } = exported;
  // The id of a user would outlive the user's erasure.
  const users = options.user === undefined ? undefined : 1;
  const what = { version, folder, users, files: files.map(({ name }) => name) };
  await recordAct(options, { organization, what });
  printResult(options, exported, () => renderExported(exported));
}

async function writeFiles(
  store: VersionStore,
  original: VersionRows,
  options: ExportCommandOptions & Required<Pick<ExportOptions, 'folder' | 'onRecords'>>,
): Promise<readonly ExportedFile[]> {
  const { exportBundle } = await import('../../export/export.ts');
  const { writeParquet } = await import('../../store/version/parquet/parquet-writer.ts');
  const { folder, compression, onRecords, user } = options;
  const format = options.format ?? (user === undefined ? 'ndjson' : 'csv');
  const plain = { original, folder, format, compression, writeParquet, onRecords };
  if (user === undefined) return await exportBundle(plain);
  const { findPersonal, writePersonalFiles } = await import('../process/personal-files.ts');
  const { name, version } = original.entry;
  const dataset = await store.openDataset(name);
  try {
    if (dataset === undefined || dataset.version !== version) {
      throw new AppError('organization-busy', `${name} has published a new version meanwhile. Try again.`);
    }
    const personal = await findPersonal(dataset, user);
    if (personal === undefined) throw new AppError('not-found', `${name} has no user ${user}.`);
    const addFiles = (made: string) => writePersonalFiles(made, dataset, personal);
    return await exportBundle({ ...plain, personal: personal.records, addFiles });
  } finally {
    await dataset?.close();
  }
}

function showRecords(display: CopyDisplay, counts: Counts) {
  // The other kinds have few records, and their number is unknown.
  const total = counts.events + counts.users + counts.boards + counts.pins;
  let records = 0;
  return (kind: RecordKind, count: number) => {
    if (kind in counts) records += count;
    display.show(records, total, kind);
  };
}

function renderExported({ organization, version, folder, files }: Exported): string {
  const rows = files.map(({ name, records }) => [name, records] as const);
  const table = renderTable(['FILE', 'RECORDS'], rows);
  return `${table}\n\nExported version ${version} of ${organization} to ${folder}`;
}
