/**
 * `corkboard import --follow`: every few seconds, publishes new records from standard input or new
 * files in a folder (decision 57).
 */
import { stat } from 'node:fs/promises';
import { AppError } from '../../domain/app-error.ts';
import type { FollowedFile } from '../../ingest/follow/follow-folder.ts';
import type { FollowedLines, FollowOptions } from '../../ingest/follow/follow-lines.ts';
import type { ImportReport } from '../../ingest/import.ts';
import { STANDARD_INPUT } from '../../ingest/input/bundle.ts';
import type { ReplaceableKind } from '../../store/staging.ts';
import type { Store } from '../../store/store.ts';
import { renderProblems } from '../terminal/import-report.ts';
import { countOf, type JsonOption, print, remark, renderCell, renderJson } from '../terminal/output.ts';
import { readAs, type WrittenBy } from './import-formats.ts';
import { tellOverdue } from './publish.ts';

export interface FollowWords extends JsonOption, WrittenBy {
  readonly organization: string;
  readonly skipInvalid?: string;
  readonly dryRun?: boolean;
  readonly followSymlinks?: boolean;
  readonly subfolders?: boolean;
  readonly cascade?: boolean;
  readonly replace?: readonly ReplaceableKind[];
  readonly settings?: boolean;
  readonly follow?: boolean;
  /** In milliseconds. */
  readonly every?: number;
}

const EVERY_MS = 5000;

/** Throws `option-malformed` if the options and paths contradict each other. */
export function checkFollow(paths: readonly string[], words: Omit<FollowWords, 'organization'>): void {
  const { follow, every, dryRun, fromLrs, settings, replace, subfolders } = words;
  if (follow !== true) {
    if (every === undefined) return;
    throw new AppError('option-malformed', '--every requires --follow.');
  }
  if (dryRun === true)
    throw new AppError('option-malformed', '--follow always publishes. Leave out --dry-run.');
  if (settings === true) {
    throw new AppError('option-malformed', '--follow imports only records. Leave out --settings.');
  }
  if (replace !== undefined) {
    throw new AppError('option-malformed', '--follow never has all records. Leave out --replace.');
  }
  if (subfolders === true) {
    throw new AppError('option-malformed', '--follow reads one folder. Leave out --subfolders.');
  }
  if (fromLrs !== undefined || paths.length !== 1) {
    throw new AppError(
      'option-malformed',
      '--follow requires exactly one folder, or - for lines on standard input.',
    );
  }
}

/**
 * Returns when the input ends or a signal arrives. In both cases, the records read so far are
 * published.
 */
export async function follow(store: Store, path: string, words: FollowWords): Promise<void> {
  const { readParquet } = await import('../../store/version/parquet/parquet-reader.ts');
  const isStream = path === STANDARD_INPUT;
  // Standard input has no file name that shows the kind of its records.
  const as = await readAs(isStream && words.as === undefined ? { ...words, as: 'events' } : words);
  if (as.foreign?.format.isWhole === true) {
    throw new AppError(
      'option-malformed',
      `Files of ${as.foreign.format.name} refer to each other, but --follow imports them one by one. Leave out --follow.`,
    );
  }
  const options: FollowOptions = {
    ...{ store, organization: words.organization, skipInvalid: words.skipInvalid, readParquet, ...as },
    followsLinks: words.followSymlinks,
    cascades: words.cascade,
    command: 'import --follow',
    everyMs: words.every ?? EVERY_MS,
    stop: signalled(),
    onWait: () => remark(`Waiting for another import of ${words.organization} to finish.`),
  };
  const onRefused = (report: ImportReport) => remark(renderProblems(report));
  if (isStream) {
    const { followLines } = await import('../../ingest/follow/follow-lines.ts');
    await followLines(process.stdin, options, (followed) => tellLines(words, followed), onRefused);
    return;
  }
  await checkFolder(path);
  const { followFolder } = await import('../../ingest/follow/follow-folder.ts');
  await followFolder(path, options, (followed) => tellFile(words, followed), onRefused);
}

/**
 * Throws `option-malformed` if the path is not a folder. A path that cannot be read passes: the
 * reader reports it.
 */
async function checkFolder(path: string): Promise<void> {
  const entry = await stat(path).catch(() => undefined);
  if (entry?.isDirectory() !== false) return;
  throw new AppError(
    'option-malformed',
    `${path} is not a folder. --follow requires a folder, or - for standard input.`,
  );
}

/** Aborted by SIGINT or SIGTERM; a second signal ends the process at once. */
function signalled(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  return stop.signal;
}

function tellLines(words: FollowWords, { report, lines, bytes }: FollowedLines): void {
  tell(words, report, { lines, bytes }, `${renderCell(lines)} lines, ${renderCell(bytes)} bytes read so far`);
}

function tellFile(words: FollowWords, { report, file, bytes }: FollowedFile): void {
  tell(words, report, { file, bytes }, renderCell(file));
}

/** Prints one line per publication, and the rejected records on standard error. */
function tell(words: FollowWords, report: ImportReport, place: object, what: string): void {
  if (report.problemCount > 0) remark(renderProblems(report));
  tellOverdue(report.organization, report);
  const { organization, outcome, version, records, rejected, changes, translated } = report;
  for (const { assumption, count, examples } of translated?.assumed ?? [])
    remark(`Assumed that ${assumption} (${countOf(count, 'line')}, such as ${renderCell(examples[0]!)}).`);
  if (words.json) {
    const dropped = translated?.dropped.reduce((sum, { count }) => sum + count, 0) ?? 0;
    const added = changes?.events.added ?? 0;
    print(
      renderJson(
        { organization, outcome, version, ...place, records, eventsAdded: added, dropped, rejected },
        0,
      ),
    );
    return;
  }
  const how = outcome === 'published' ? `published as version ${version}` : 'nothing new';
  print(`${what}: ${how}${rejected > 0 ? `, ${countOf(rejected, 'record')} rejected` : ''}`);
}
