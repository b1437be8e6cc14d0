/**
 * An import from its paths to its report: every record is checked, staged and, all together, published or refused
 * (decisions 28 to 32).
 */
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import type { Counts } from '../dataset/dataset.ts';
import { AppError } from '../domain/app-error.ts';
import type { RecordKind } from '../store/staging.ts';
import type { Changes, Publication, Store } from '../store/store.ts';
import { Findings, RejectsFile, type ReportedProblem } from './findings.ts';
import { keyedDerivation, plainDerivation } from './formats/derivation.ts';
import { findBundle, type Input, type InputForm } from './input/bundle.ts';
import { type OpenInput, openInput } from './input/open-input.ts';
import type { ReadParquet } from './input/parquet-input.ts';
import { type ImportProgress, Meter } from './progress.ts';
import { checkSameOrganization, readSettings } from './settings-files.ts';
import { type ImportedFile, stageInputs } from './staging-run.ts';
import { type OpenedTarget, openTarget } from './target.ts';
import { checkForeign, type Foreign, type Translated, Translations } from './translating.ts';

export interface ImportOptions {
  readonly store: Store;
  /** Made when there is none; its identity is then taken from nested events (decision 28). */
  readonly organization: string;
  /** Files, folders, and `-` for standard input. */
  readonly paths: readonly string[];
  /** What files given by name and standard input hold, when their names do not tell. */
  readonly as?: RecordKind | undefined;
  /** Whether the settings that folders hold become those of the organization. */
  readonly takesSettings?: boolean | undefined;
  /** Whether symbolic links inside folders are followed; those named in `paths` always are. */
  readonly followsLinks?: boolean | undefined;
  /**
   * Whether the paths were found in a folder, which others may write to, rather than named by the
   * operator.
   */
  readonly areFound?: boolean | undefined;
  /** What all of them are, when other software has written them. */
  readonly foreign?: Foreign | undefined;
  /** Publish the good records and keep every bad one in this file (decision 30). */
  readonly skipInvalid?: string | undefined;
  /**
   * Whether an import may make nothing of any record. Otherwise it is refused, because the files
   * are hardly what they were taken for; of what comes in small amounts all may be of no interest.
   */
  readonly mayDropAll?: boolean | undefined;
  /** Check everything, publish nothing. */
  readonly dryRun?: boolean | undefined;
  /** Needed for Parquet files. */
  readonly readParquet?: ReadParquet | undefined;
  /** Needed for `-`, and what it is called in messages; `-` when absent. */
  readonly stdin?: Readable | undefined;
  readonly stdinName?: string | undefined;
  /** What standard input is, where its first bytes are not to tell. */
  readonly stdinForm?: InputForm | undefined;
  /** Lines of standard input that earlier imports have taken: problems name the line counted from the first of all. */
  readonly linesBefore?: number | undefined;
  /** Whether bad records are added to those that the file of rejects holds. */
  readonly addsRejects?: boolean | undefined;
  /**
   * Opens a store to throw away, in which a dry run makes an organization that does not exist, so that it leaves
   * nothing behind. Without it such a dry run ends with `organization-unknown`.
   */
  readonly openScratchStore?: (() => Promise<Store>) | undefined;
  /** How long to wait for another import of the organization to end; ten minutes when absent. */
  readonly waitMs?: number | undefined;
  /** At most about ten times a second. */
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** Called once when the import has to wait for another one. */
  readonly onWait?: (() => void) | undefined;
}

/** How an import ended; plain data, which can be written as JSON. */
export interface ImportReport {
  readonly organization: string;
  /** `unchanged`: all records were known already. `checked`: a dry run found nothing to refuse. */
  readonly outcome: 'published' | 'unchanged' | 'checked' | 'refused';
  readonly published: boolean;
  readonly dryRun: boolean;
  /** The version in force after the import; absent when there is none. */
  readonly version: string | undefined;
  readonly files: readonly ImportedFile[];
  /** Records read, good and bad. */
  readonly records: number;
  /** What was, or in a dry run would be, changed; absent when the import was refused. */
  readonly changes: Changes | undefined;
  /** What the organization holds now; absent unless the import was carried out. */
  readonly counts: Counts | undefined;
  /** Records about people who were forgotten, which were left out (decision 54). */
  readonly leftOut: number;
  /** Events that went, or would go, with people whom the import forgets. */
  readonly erased: number;
  /** Bad records left out; 0 without `skipInvalid`. */
  readonly rejected: number;
  /** The first hundred, in the order in which they were found. */
  readonly problems: readonly ReportedProblem[];
  readonly problemCount: number;
  /**
   * Whether there may be more: without `skipInvalid`, records are not checked against each other
   * when some are bad by themselves.
   */
  readonly problemCountIsLeast: boolean;
  /** What was made of the records of other software; absent for a bundle. */
  readonly translated: Translated | undefined;
  /** Files of folders that hold settings of an organization, and whether they were taken. */
  readonly settings: readonly string[];
  readonly settingsTaken: boolean;
  /** Other files of folders that are not named by what they hold. */
  readonly passedOver: readonly string[];
  readonly durationMs: number;
}

const WAIT_MS = 600_000;

/**
 * Imports a bundle. A record that does not hold is no error but part of the report; without `skipInvalid` it makes
 * the outcome `refused`. Throws `file-unreadable`, `option-malformed`, `organization-busy`, `-malformed`, and in a
 * dry run `-unknown`.
 */
export async function importBundle(options: ImportOptions): Promise<ImportReport> {
  const startMs = performance.now();
  const { foreign } = options;
  const { inputs, settings: settingsFiles, passedOver } = await findInputs(options);
  // Before anything is made.
  if (foreign !== undefined) checkForeign(foreign, inputs);
  refuseOverwriting(inputs, options.skipInvalid);
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
      : await RejectsFile.open(options.skipInvalid, options.addsRejects);
  const findings = new Findings(
    inputs.map(({ name }) => name),
    rejects,
    options.linesBefore,
  );
  const publication = await beginPublication(options, target);
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
    const ending = await endPublication({
      publication,
      findings,
      rejects,
      isAllDropped: translations?.isAllDropped === true && options.mayDropAll !== true,
      dryRun: options.dryRun ?? false,
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

async function findInputs(options: ImportOptions) {
  const { paths, as, foreign, stdinName, stdinForm: form } = options;
  const { inputs, ...others } = await findBundle(paths, as, foreign?.format, stdinName, options);
  const isTold = (input: Input) => form !== undefined && input.path === undefined;
  return { inputs: inputs.map((input) => (isTold(input) ? { ...input, form } : input)), ...others };
}

type Ending = Pick<
  ImportReport,
  'outcome' | 'published' | 'version' | 'changes' | 'counts' | 'leftOut' | 'erased' | 'problemCountIsLeast'
>;

interface Staged {
  readonly publication: Publication;
  readonly findings: Findings;
  readonly rejects: RejectsFile | undefined;
  readonly isAllDropped: boolean;
  readonly dryRun: boolean;
}

/** Checks what is staged against each other and what is published, and publishes it if it may be. */
async function endPublication(staged: Staged): Promise<Ending> {
  const { publication, findings, rejects, isAllDropped, dryRun } = staged;
  const refused: Ending = {
    outcome: 'refused',
    published: false,
    version: undefined,
    changes: undefined,
    counts: undefined,
    leftOut: 0,
    erased: 0,
    problemCountIsLeast: false,
  };
  // What refers to a record that was refused already would only be refused for that.
  if (rejects === undefined && findings.count > 0) return { ...refused, problemCountIsLeast: true };
  const leftOut = await publication.check((problem) => findings.add(problem));
  if (rejects === undefined && findings.count > 0) return refused;
  // Before the data: a crash in between leaves rejects of an import to be repeated, not an import without rejects.
  await rejects?.finish();
  if (isAllDropped) return refused;
  if (dryRun) return { ...refused, outcome: 'checked', ...(await publication.preview()), leftOut };
  const outcome = await publication.publish();
  return { ...refused, ...outcome, outcome: outcome.published ? 'published' : 'unchanged', leftOut };
}

/**
 * Once the publication has begun: while it waited, the organization may have become a copy, with
 * another secret.
 */
async function openTranslations(foreign: Foreign, { store, entry }: OpenedTarget): Promise<Translations> {
  const { derivedIds, secret } = await store.organization(entry.name);
  const derivation = derivedIds === 'plain' ? plainDerivation : keyedDerivation(secret);
  const translations = new Translations(foreign, derivation);
  const dataset = await store.openDataset(entry.name);
  try {
    if (dataset !== undefined) await translations.things.learn(dataset);
  } finally {
    await dataset?.close();
  }
  return translations;
}

async function beginPublication(
  options: ImportOptions,
  { store, entry }: OpenedTarget,
): Promise<Publication> {
  return await store.beginPublication(entry.name, {
    waitMs: options.waitMs ?? WAIT_MS,
    ...(options.onWait === undefined ? {} : { onWait: options.onWait }),
  });
}

function refuseParquet(): never {
  throw new Error('an import of Parquet files needs a reader of them');
}

/** The file of rejects replaces what has its name, which must not be what is imported. */
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
