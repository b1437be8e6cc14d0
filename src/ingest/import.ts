/**
 * An import, from paths to a report: every record is checked and staged, and all together are
 * published or refused (decisions 28 to 32).
 */
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import type { Counts } from '../dataset/dataset.ts';
import { AppError } from '../domain/app-error.ts';
import type { RecordKind, ReplaceableKind } from '../store/staging.ts';
import type { Changes, CheckingOptions, Overdue, Publication, Store } from '../store/store.ts';
import {
  type ConvertedRecords,
  checkExternal,
  type ExternalFormat,
  RecordConversions,
} from './external-format.ts';
import { Findings, type ReportedProblem } from './findings.ts';
import { keyedDerivation, plainDerivation } from './formats/derivation.ts';
import { findBundle, type Input, type InputForm } from './input/bundle.ts';
import { type OpenInput, openInput } from './input/open-input.ts';
import type { ReadParquet } from './input/parquet-input.ts';
import { type ImportProgress, Meter } from './progress.ts';
import { RejectsFile } from './rejects-file.ts';
import { checkSameOrganization, readSettings } from './settings-files.ts';
import { type ImportedFile, stageInputs } from './staging-run.ts';
import { type OpenedTarget, openTarget } from './target.ts';

export interface ImportOptions {
  readonly store: Store;
  /** Created if it does not exist, with the identity in nested events (decision 28). */
  readonly organization: string;
  /** Files, folders, and `-` for standard input. */
  readonly paths: readonly string[];
  /** The kind of record in named files and on standard input, if their names do not show it. */
  readonly as?: RecordKind | undefined;
  /** Whether settings in the folders become the settings of the organization. */
  readonly takesSettings?: boolean | undefined;
  /** Whether symbolic links inside folders are followed. Links in `paths` always are. */
  readonly followsLinks?: boolean | undefined;
  /** Whether the folders inside folders are searched as well. */
  readonly searchesSubfolders?: boolean | undefined;
  /**
   * Whether the paths were found in a folder to which other users of the system may be able to
   * write, rather than named by the operator.
   */
  readonly areFound?: boolean | undefined;
  /** The format of all inputs, if other software wrote them. */
  readonly foreign?: ExternalFormat | undefined;
  /** Publish the valid records and write every invalid one to this file (decision 30). */
  readonly skipInvalid?: string | undefined;
  /**
   * Whether an import may drop all records. By default it is then refused, because the files are
   * probably of a different format. In small imports, all records can be irrelevant.
   */
  readonly mayDropAll?: boolean | undefined;
  /** Whether deletions also delete the records that refer to what they delete. */
  readonly cascades?: boolean | undefined;
  /**
   * Kinds of which the import contains all records: published ones that it lacks are deleted
   * (decision 82). Each must have records.
   */
  readonly replaced?: readonly ReplaceableKind[] | undefined;
  /** The command, for the history of the organization; `import` by default. */
  readonly command?: string | undefined;
  /** Check everything, publish nothing. */
  readonly dryRun?: boolean | undefined;
  /** Required for Parquet files. */
  readonly readParquet?: ReadParquet | undefined;
  /** Required for `-`. `stdinName` is its name in messages; `-` by default. */
  readonly stdin?: Readable | undefined;
  readonly stdinName?: string | undefined;
  /** The form of standard input; if absent, determined from its first bytes. */
  readonly stdinForm?: InputForm | undefined;
  /**
   * Lines of standard input that earlier imports read: line numbers of problems count from the
   * first of all.
   */
  readonly linesBefore?: number | undefined;
  /** Whether invalid records are appended to an existing file of rejects. */
  readonly addsRejects?: boolean | undefined;
  /**
   * Opens a temporary store for a dry run, in which it creates an organization that does not exist.
   * Without it such a dry run ends with `organization-unknown`.
   */
  readonly openScratchStore?: (() => Promise<Store>) | undefined;
  /** Maximum time to wait for another import of the organization to end; ten minutes by default. */
  readonly waitMs?: number | undefined;
  /** Called at most about ten times a second. */
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** Called for each problem, also for those that the report only counts. */
  readonly onProblem?: ((problem: ReportedProblem) => void) | undefined;
  /** Called once if the import must wait for another one. */
  readonly onWait?: (() => void) | undefined;
}

/** The result of an import; plain data that can be written as JSON. */
export interface ImportReport {
  readonly organization: string;
  /** `unchanged`: all records were known already. `checked`: a dry run found nothing to refuse. */
  readonly outcome: 'published' | 'unchanged' | 'checked' | 'refused';
  readonly published: boolean;
  readonly dryRun: boolean;
  /** The current version after the import; absent if there is none. */
  readonly version: string | undefined;
  readonly files: readonly ImportedFile[];
  /** Number of records read, valid and invalid. */
  readonly records: number;
  /** The changes; in a dry run those that would be made. Absent if the import was refused. */
  readonly changes: Changes | undefined;
  /** The numbers of records in the organization; absent unless the import was carried out. */
  readonly counts: Counts | undefined;
  /** Number of records about forgotten users, which were skipped (decision 54). */
  readonly leftOut: number;
  /** Number of events that were skipped because they are too old to be kept (decision 85). */
  readonly expired: number;
  /** Published events that stay although they are too old; absent when there are none. */
  readonly overdue: Overdue | undefined;
  /** Number of events erased, or in a dry run to be erased, with users that the import forgets. */
  readonly erased: number;
  /** Number of invalid records that were skipped; 0 without `skipInvalid`. */
  readonly rejected: number;
  /**
   * The first hundred problems, or fewer if they have more than 64 Ki characters, in the order in
   * which they were found.
   */
  readonly problems: readonly ReportedProblem[];
  readonly problemCount: number;
  /**
   * Whether `problemCount` may be too low: without `skipInvalid`, records are not checked against
   * each other if any is invalid by itself.
   */
  readonly problemCountIsLeast: boolean;
  /** Counts of the records of other software; absent for a bundle. */
  readonly translated: ConvertedRecords | undefined;
  /** Files in folders with settings of an organization, and whether the settings were used. */
  readonly settings: readonly string[];
  readonly settingsTaken: boolean;
  /** Other files and folders in folders, ignored because their names show no kind of record. */
  readonly passedOver: readonly string[];
  readonly durationMs: number;
}

const WAIT_MS = 600_000;

/**
 * Imports a bundle. An invalid record is not an error but part of the report; without `skipInvalid`
 * the outcome is then `refused`. Throws `file-unreadable`, `option-malformed`, `organization-busy`,
 * `organization-malformed`, in a dry run `organization-unknown`, and with `takesSettings` the
 * errors of `readSettings`.
 */
export async function importBundle(options: ImportOptions): Promise<ImportReport> {
  const startMs = performance.now();
  const foreign = options.foreign && withReplaced(options.foreign, options.replaced);
  const { inputs, settings: settingsFiles, passedOver } = await findInputs(options);
  // Checked before the organization is created or a file is written.
  if (foreign !== undefined) checkExternal(foreign, inputs);
  refuseOverwriting(inputs, options.skipInvalid);
  if (options.skipInvalid !== undefined && options.replaced !== undefined) {
    throw new AppError(
      'option-malformed',
      '--replace would delete every record that --skip-invalid skips. Use one of them.',
    );
  }
  const settings =
    options.takesSettings === true
      ? await readSettings(settingsFiles, options.followsLinks ?? false)
      : undefined;
  const meter = new Meter(inputs, options.onProgress);
  const opened: OpenInput[] = [];
  for (const input of inputs)
    opened.push(await openInput(input, options.stdin, (bytes) => meter.addBytes(bytes)));
  const readParquet = options.readParquet ?? refuseParquet;
  await using target = await openTarget({ ...options, settings }, opened, readParquet);
  await using rejects =
    options.skipInvalid === undefined
      ? undefined
      : await RejectsFile.open(options.skipInvalid, {
          adds: options.addsRejects,
          dryRun: options.dryRun,
        });
  const findings = new Findings(
    inputs.map(({ name }) => name),
    rejects,
    options,
  );
  const publication = await beginPublication(options, target, inputs);
  try {
    if (settings !== undefined) {
      // Another import may have published while this one waited for it.
      checkSameOrganization(settings, await target.store.organization(target.entry.name));
      publication.changeSettings(settings);
    }
    const translations = foreign && (await openTranslations(foreign, target));
    const files = await stageInputs({
      inputs: opened,
      organizationId: settings?.id ?? target.entry.settings.id,
      readParquet,
      keepsRaw: rejects !== undefined,
      publication,
      findings,
      meter,
      translations,
    });
    refuseEmptyReplacement(files, translations?.report.described, options.replaced);
    const ending = await endPublication({
      publication,
      findings,
      rejects,
      inputs,
      translations,
      mayDropAll: options.mayDropAll ?? false,
      dryRun: options.dryRun ?? false,
      checking: {
        ...{ cascades: options.cascades ?? false, replaced: options.replaced ?? [] },
        correctsTimes: options.foreign?.options.timeZone !== undefined,
        ...(translations && { nameOf: translations.namesIn(inputs.map(({ name }) => name)) }),
      },
    });
    return {
      organization: target.entry.name,
      dryRun: options.dryRun ?? false,
      ...ending,
      version: ending.version ?? target.entry.version,
      files,
      records: files.reduce((sum, file) => sum + file.records, 0),
      rejected: rejects === undefined ? 0 : findings.count,
      problems: findings.first,
      problemCount: findings.count,
      translated: translations?.report,
      settings: settingsFiles,
      settingsTaken: settings !== undefined,
      passedOver,
      durationMs: Math.round(performance.now() - startMs),
    };
  } finally {
    await publication.discard();
  }
}

function withReplaced(
  { format, options }: ExternalFormat,
  replaced: ImportOptions['replaced'],
): ExternalFormat {
  return { format, options: { ...options, replaced } };
}

async function findInputs(options: ImportOptions) {
  const { paths, as, foreign, stdinName, stdinForm: form } = options;
  const { inputs, ...others } = await findBundle(paths, as, foreign?.format, stdinName, options);
  const isTold = (input: Input) => form !== undefined && input.path === undefined;
  const { encoding } = foreign ?? {};
  const opened = inputs.map((input) => ({ ...input, encoding, ...(isTold(input) && { form }) }));
  return { inputs: opened, ...others };
}

type ImportEnd = Pick<
  ImportReport,
  | 'outcome'
  | 'published'
  | 'version'
  | 'changes'
  | 'counts'
  | 'leftOut'
  | 'expired'
  | 'overdue'
  | 'erased'
  | 'problemCountIsLeast'
>;

interface StagedInputs {
  readonly publication: Publication;
  readonly findings: Findings;
  readonly rejects: RejectsFile | undefined;
  readonly inputs: readonly Input[];
  readonly translations: RecordConversions | undefined;
  readonly mayDropAll: boolean;
  readonly dryRun: boolean;
  readonly checking: CheckingOptions;
}

/**
 * Checks the staged records against each other and the current version, and publishes them if that
 * is permitted.
 */
async function endPublication(staged: StagedInputs): Promise<ImportEnd> {
  const { publication, findings, rejects, dryRun, translations, checking } = staged;
  const refused: ImportEnd = {
    outcome: 'refused',
    published: false,
    version: undefined,
    changes: undefined,
    counts: undefined,
    leftOut: 0,
    expired: 0,
    overdue: undefined,
    erased: 0,
    problemCountIsLeast: false,
  };
  // A reference to a record that was refused would only be reported as a second problem.
  if (rejects === undefined && findings.count > 0) return { ...refused, problemCountIsLeast: true };
  const {
    forgotten: leftOut,
    expired,
    unmatched,
  } = await publication.check((problem) => {
    // Without rejects, it disappears with the problem that causes it.
    if (problem.isConsequence === true && rejects === undefined) return;
    findings.add(translations?.explain(problem) ?? problem);
  }, checking);
  translations?.dropUnmatched(unmatched, (file) => staged.inputs[file]?.name ?? '');
  if (rejects === undefined && findings.count > 0) return refused;
  // Finished before the publication: a crash in between leaves the rejects of an import to be
  // repeated, not an import without rejects.
  await rejects?.finish();
  if (translations?.isAllDropped === true && !staged.mayDropAll) return refused;
  if (dryRun) return { ...refused, outcome: 'checked', ...(await publication.preview()), leftOut, expired };
  const outcome = await publication.publish(translations?.localTimes);
  return { ...refused, ...outcome, outcome: outcome.published ? 'published' : 'unchanged', leftOut, expired };
}

/**
 * Called after the publication has begun: while it waited, the organization may have become a copy
 * with a different secret.
 */
async function openTranslations(
  foreign: ExternalFormat,
  { store, entry }: OpenedTarget,
): Promise<RecordConversions> {
  const { derivedIds, secret } = await store.organization(entry.name);
  const derivation = derivedIds === 'plain' ? plainDerivation : keyedDerivation(secret);
  const translations = new RecordConversions(foreign, derivation, async (read) => {
    const dataset = await store.openDataset(entry.name);
    try {
      if (dataset !== undefined) await read(dataset);
    } finally {
      await dataset?.close();
    }
  });
  await translations.learn();
  return translations;
}

async function beginPublication(
  options: ImportOptions,
  { store, entry }: OpenedTarget,
  inputs: readonly Input[],
): Promise<Publication> {
  return await store.beginPublication(entry.name, {
    waitMs: options.waitMs ?? WAIT_MS,
    cause: { command: options.command ?? 'import', files: inputs.map(({ name }) => name) },
    ...(options.onWait === undefined ? {} : { onWait: options.onWait }),
  });
}

function refuseParquet(): never {
  throw new Error('an import of Parquet files needs a reader of them');
}

/** The file of rejects replaces an existing file of its name, which must not be an input. */
function refuseOverwriting(inputs: readonly Input[], rejects: string | undefined): void {
  if (rejects === undefined) return;
  if (rejects === '-') throw new AppError('option-malformed', '--skip-invalid requires a file, not -.');
  if (inputs.some(({ path }) => path !== undefined && resolve(path) === resolve(rejects))) {
    throw new AppError(
      'option-malformed',
      `--skip-invalid would overwrite ${rejects}, which is an input of the import.`,
    );
  }
}

/** A file that was left out by mistake must not delete all records of its kind. */
function refuseEmptyReplacement(
  files: readonly ImportedFile[],
  described: Readonly<Record<string, number>> = {},
  replaced: readonly ReplaceableKind[] = [],
): void {
  const isGiven = (kind: ReplaceableKind) =>
    described[kind] !== undefined || files.some((file) => file.kind === kind && file.records > 0);
  const empty = replaced.find((kind) => !isGiven(kind));
  if (empty === undefined) return;
  throw new AppError(
    'import-refused',
    `--replace ${empty} requires at least one record of ${empty}, so that a missing file deletes nothing.`,
  );
}
