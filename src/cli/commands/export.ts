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
import type { ExportedFile } from '../../export/export.ts';
import type { RecordKind } from '../../store/staging.ts';
import { chooseOrganization, organizationOption } from '../process/organization-choice.ts';
import { type StorageOptions, withPlace } from '../process/storage.ts';
import { type CopyDisplay, openCopyDisplay } from '../terminal/copy-progress.ts';
import { addExamples } from '../terminal/examples.ts';
import { type JsonOption, printResult, renderTable } from '../terminal/output.ts';

interface ExportCommandOptions extends StorageOptions, JsonOption {
  readonly organization: string;
  readonly format: ExportFormat;
  readonly compression: ExportCompression;
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
      new Option('--format <format>', 'format of the files').choices(EXPORT_FORMATS).default('ndjson'),
    )
    .addOption(
      new Option(
        '--compression <compression>',
        'compression of NDJSON and CSV files; Parquet files are always compressed',
      )
        .choices(EXPORT_COMPRESSIONS)
        .default('none'),
    )
    .option('--json', 'print one JSON object')
    .action(async (folder: string, _options: unknown, command: Command) =>
      exportInto(resolve(folder), await chooseOrganization(command.optsWithGlobals())),
    );
  addExamples(command, [
    'corkboard export ./school --organization school',
    'corkboard export ./school --organization school --format csv --compression gzip',
    'corkboard export ./school --organization school --format parquet --json',
  ]);
}

async function exportInto(folder: string, options: ExportCommandOptions): Promise<void> {
  if (options.format === 'parquet' && options.compression !== 'none') {
    throw new AppError('option-malformed', 'Parquet files are always compressed; leave out --compression.');
  }
  const exported = await withPlace(options, true, async ({ store }): Promise<Exported> => {
    const { exportBundle } = await import('../../export/export.ts');
    const { writeParquet } = await import('../../store/version/parquet/parquet-writer.ts');
    const original = await store.openRows(options.organization);
    const { entry, counts } = original;
    if (entry.version === undefined || counts === undefined) {
      await original.close();
      throw new AppError(
        'not-published',
        `${options.organization} has no data yet; there is nothing to export.`,
      );
    }
    const display = openCopyDisplay(entry.name, 'records');
    try {
      const { format, compression } = options;
      const onRecords = showRecords(display, counts);
      const files = await exportBundle({ original, folder, format, compression, writeParquet, onRecords });
      return { organization: entry.name, version: entry.version, folder, files };
    } finally {
      display.end();
      await original.close();
    }
  });
  printResult(options, exported, () => renderExported(exported));
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
