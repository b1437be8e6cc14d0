/**
 * `corkboard versions` and `corkboard rollback`: the history of an organization, and going back in
 * it (decision 83).
 */
import type { Command } from 'commander';
import { AppError } from '../../domain/app-error.ts';
import type { VersionStore } from '../../store/files/version-store.ts';
import { RECORD_KINDS } from '../../store/staging.ts';
import type { Changes, Outcome, PublishedVersion, VersionDifference } from '../../store/store.ts';
import { chooseOrganization, organizationOption } from '../process/organization-choice.ts';
import { turnOf } from '../process/publish.ts';
import { type StorageOptions, withStore } from '../process/storage.ts';
import { addExamples } from '../terminal/examples.ts';
import {
  type JsonOption,
  printResult,
  renderFields,
  renderInstant,
  renderTable,
} from '../terminal/output.ts';

interface VersionsOptions extends StorageOptions, JsonOption {
  readonly organization: string;
}

const WAIT_MS = 600_000;

export function addVersionsCommands(program: Command): void {
  const versions = program
    .command('versions')
    .description('List, show and compare the versions of an organization.');
  addExamples(versions, ['corkboard versions list --organization school']);
  addList(versions);
  addShow(versions);
  addDiff(versions);
}

function addList(versions: Command): void {
  const list = versions
    .command('list')
    .summary('List all versions, latest first.')
    .description(
      'List all versions, latest first: when and by which command each was published, what it changed, and whether its data is kept. Only versions whose data is kept can be compared and restored.',
    )
    .addOption(organizationOption('name of the organization'))
    .option('--json', 'print a JSON array')
    .action(async (_options: unknown, command: Command) => listVersions(await read(command)));
  addExamples(list, ['corkboard versions list --organization school']);
}

function addShow(versions: Command): void {
  const show = versions
    .command('show')
    .description('Show one version: its command and files, its counts, and what it changed.')
    .argument('<version>', 'version as listed, or its number')
    .addOption(organizationOption('name of the organization'))
    .option('--json', 'print one JSON object')
    .action(async (version: string, _options: unknown, command: Command) =>
      showVersion(version, await read(command)),
    );
  addExamples(show, ['corkboard versions show 12 --organization school']);
}

function addDiff(versions: Command): void {
  const diff = versions
    .command('diff')
    .summary('Compare two versions.')
    .description(
      'Compare two versions whose data is kept: the number of records of each kind that were added, changed and deleted, and the first of them.',
    )
    .argument('[from]', 'version as listed, or its number (default: the one before the other one)')
    .argument('[to]', 'the other version (default: the current one)')
    .addOption(organizationOption('name of the organization'))
    .option('--json', 'print one JSON object')
    .action(async (from: string | undefined, to: string | undefined, _options: unknown, command: Command) =>
      compare(from, to, await read(command)),
    );
  addExamples(diff, [
    'corkboard versions diff --organization school',
    'corkboard versions diff 12 14 --organization school --json',
  ]);
}

export function addRollbackCommand(program: Command): void {
  const rollback = program
    .command('rollback')
    .summary('Publish the content of an earlier version again.')
    .description(
      'Publish the content and the settings of an earlier version as the next one. Keys, cursors and sync tokens stay valid: clients that sync get what differs as changes and deletions. People who were forgotten do not come back. "versions diff" shows what would change.',
    )
    .option('--to <version>', 'version as listed, or its number (default: the one before the current one)')
    .addOption(organizationOption('name of the organization'))
    .option('--dry-run', 'say what would change, and change nothing')
    .option('--json', 'print one JSON object')
    .action(async (_options: unknown, command: Command) => rollBack(await read(command)));
  addExamples(rollback, [
    'corkboard rollback --organization school --dry-run',
    'corkboard rollback --organization school',
    'corkboard rollback --to 12 --organization school',
  ]);
}

function read<T extends VersionsOptions>(command: Command): Promise<T> {
  return chooseOrganization(command.optsWithGlobals<T>());
}

async function listVersions(options: VersionsOptions): Promise<void> {
  const versions = await withStore(options, (store) => store.versions(options.organization));
  printResult(options, versions.map(describe), () => renderList(versions));
}

function renderList(versions: readonly PublishedVersion[]): string {
  if (versions.length === 0) return 'There are no versions yet; "corkboard import" publishes one.';
  const rows = versions.map(({ publication, version, publishedMs, cause, changes, isKept }) => [
    publication,
    version,
    renderInstant(publishedMs),
    renderCause(cause),
    changes === undefined ? '' : summarize(changes),
    isKept ? 'kept' : '',
  ]);
  return renderTable(['NUMBER', 'VERSION', 'PUBLISHED', 'BY', 'CHANGES', 'DATA'], rows);
}

function renderCause(cause: PublishedVersion['cause']): string {
  if (cause === undefined) return '';
  const { command, settings, restored } = cause;
  if (restored !== undefined) return `${command} to ${restored}`;
  return settings === undefined ? command : `${command}: ${settings.join(', ')}`;
}

/** `+120 ~3 -1`: records of all kinds that were added, changed and deleted. */
function summarize(changes: Changes): string {
  const sum = (change: 'added' | 'changed' | 'deleted') =>
    RECORD_KINDS.reduce((total, kind) => total + changes[kind][change], 0);
  const parts = [
    ['+', sum('added')] as const,
    ['~', sum('changed')] as const,
    ['-', sum('deleted')] as const,
  ];
  return parts
    .flatMap(([sign, count]) => (count > 0 ? [`${sign}${count.toLocaleString('en')}`] : []))
    .join(' ');
}

async function showVersion(name: string, options: VersionsOptions): Promise<void> {
  const version = await withStore(options, async (store) =>
    find(await store.versions(options.organization), name),
  );
  printResult(options, describe(version), () => {
    const { publication, publishedMs, cause, counts, changes, isKept } = version;
    const fields = renderFields([
      ['number', publication],
      ['version', version.version],
      ['published', renderInstant(publishedMs)],
      ['by', renderCause(cause)],
      ['files', cause?.files?.join(', ')],
      ['data', isKept ? 'kept' : 'no longer kept'],
      ['events', counts?.events],
      ['users', counts?.users],
      ['boards', counts?.boards],
      ['pins', counts?.pins],
    ]);
    return changes === undefined ? fields : `${fields}\n\n${renderChanges(changes)}`;
  });
}

async function compare(
  from: string | undefined,
  to: string | undefined,
  options: VersionsOptions,
): Promise<void> {
  const { organization } = options;
  const { one, other, difference } = await withStore(options, async (store) => {
    const versions = await store.versions(organization);
    const later = to === undefined ? current(versions) : find(versions, to);
    const earlier = from === undefined ? before(versions, later) : find(versions, from);
    return {
      one: earlier,
      other: later,
      difference: await store.difference(organization, earlier.publication, later.publication),
    };
  });
  const result = { from: one.version, to: other.version, ...difference };
  printResult(options, result, () => renderDifference(one.version, other.version, difference));
}

function renderDifference(from: string, to: string, { changes, samples }: VersionDifference): string {
  const rows = samples.map(({ kind, change, record }) => [kind, change, record]);
  return [
    `From ${from} to ${to}`,
    '',
    renderChanges(changes),
    ...(rows.length === 0 ? [] : ['', renderTable(['KIND', 'CHANGE', 'FOR EXAMPLE'], rows)]),
  ].join('\n');
}

function renderChanges(changes: Changes): string {
  const rows = RECORD_KINDS.flatMap((kind) => {
    const { added, changed, deleted } = changes[kind];
    return added + changed + deleted === 0 ? [] : [[kind, added, changed, deleted]];
  });
  if (rows.length === 0) return 'No record differs.';
  return renderTable(['KIND', 'ADDED', 'CHANGED', 'DELETED'], rows);
}

interface RollbackOptions extends VersionsOptions {
  readonly to?: string;
  readonly dryRun?: boolean;
}

async function rollBack(options: RollbackOptions): Promise<void> {
  const { organization } = options;
  if (options.dryRun === true) return await previewRollback(options);
  const { target, outcome } = await withStore(options, (store) => restore(store, options));
  const { published, version, changes } = outcome;
  printResult(options, { published, version, restored: target.version, changes }, () =>
    published
      ? `${renderChanges(changes)}\nPublished the content of ${target.version} as version ${version} of ${organization}`
      : `Nothing has changed: the current version has the content of ${target.version}.`,
  );
}

async function previewRollback(options: RollbackOptions): Promise<void> {
  const { organization } = options;
  const { target, difference } = await withStore(options, async (store) => {
    const versions = await store.versions(organization);
    const restored = targetOf(versions, options);
    const { publication } = current(versions);
    return {
      target: restored,
      difference: await store.difference(organization, publication, restored.publication),
    };
  });
  const result = { dryRun: true, restored: target.version, ...difference };
  printResult(options, result, () => {
    return `${renderDifference('the current version', target.version, difference)}\n\nNothing was changed (dry run).`;
  });
}

function targetOf(versions: readonly PublishedVersion[], { to }: RollbackOptions): PublishedVersion {
  return to === undefined ? before(versions, current(versions)) : find(versions, to);
}

async function restore(
  store: VersionStore,
  options: RollbackOptions,
): Promise<{ target: PublishedVersion; outcome: Outcome }> {
  const { organization } = options;
  const target = targetOf(await store.versions(organization), options);
  const outcome = await store.rollBack(organization, target.publication, {
    ...turnOf(organization, WAIT_MS),
    cause: { command: 'rollback', restored: target.version },
  });
  return { target, outcome };
}

function current(versions: readonly PublishedVersion[]): PublishedVersion {
  const [version] = versions;
  if (version !== undefined) return version;
  throw new AppError('not-published', 'There are no versions yet. "corkboard import" publishes one.');
}

/** The latest version before another one whose data is kept. */
function before(versions: readonly PublishedVersion[], later: PublishedVersion): PublishedVersion {
  const earlier = versions.find(({ publication, isKept }) => isKept && publication < later.publication);
  if (earlier !== undefined) return earlier;
  throw new AppError('version-unknown', `No version before ${later.version} is kept.`);
}

function find(versions: readonly PublishedVersion[], name: string): PublishedVersion {
  const found = versions.find(({ publication, version }) => version === name || String(publication) === name);
  if (found !== undefined) return found;
  throw new AppError(
    'version-unknown',
    `There is no version ${name}. "corkboard versions list" lists all versions.`,
  );
}

function describe({ cause, ...version }: PublishedVersion) {
  const { command, files, settings, restored } = cause ?? {};
  return { ...version, command, files, settings, restored };
}
