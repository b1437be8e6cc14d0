/** `corkboard audit`: lists the records of administration, or those of access (decision 87). */
import { once } from 'node:events';
import { type Command, InvalidArgumentError } from 'commander';
import { type AuditMembers, readChained } from '../../audit/audit-record.ts';
import type { AuditTrail, StoredLine } from '../../audit/audit-trail.ts';
import { ARCHIVED } from '../../audit/check-trail.ts';
import { AppError } from '../../domain/app-error.ts';
import {
  type AuditFolderOption,
  addRecord,
  auditFolderOption,
  requireAccessFolder,
  withTrail,
} from '../process/audit.ts';
import { hasStorage, type StorageOptions } from '../process/storage.ts';
import { addExamples } from '../terminal/examples.ts';
import { readInstant, readName } from '../terminal/options.ts';
import { type JsonOption, printResult, remark, renderCell } from '../terminal/output.ts';

interface AuditOptions extends StorageOptions, JsonOption, AuditFolderOption {
  readonly organization?: readonly string[];
  /** In milliseconds. */
  readonly since?: number;
  readonly command?: string;
  readonly access?: boolean;
}

interface ArchivedOptions extends AuditOptions {
  readonly before: number;
}

export function addAuditCommand(program: Command): void {
  const audit = program
    .command('audit')
    .summary('List what commands have changed, and who ran them.')
    .description(
      'List the records of all commands that have changed something or taken data out, oldest first: when, who, the command, the organization, and what has changed. "corkboard check" verifies that no record was changed or removed.',
    )
    .option('-o, --organization <name>', 'only this organization; can be repeated (default: all)', readName)
    .option('--since <instant>', 'only records since this instant (ISO 8601)', readInstant)
    .option('--command <words>', 'only this command and those below it, like keys or "keys create"')
    .option('--access', 'the requests with a key that servers with --audit-access have recorded, instead')
    .addOption(auditFolderOption())
    .option('--json', 'print one JSON object per line')
    .action((_options: unknown, command: Command) => listRequested(command.optsWithGlobals()));
  addExamples(audit, [
    'corkboard audit --data /srv/corkboard',
    'corkboard audit --organization school --since 2026-11-01T00:00:00Z',
    'corkboard audit --command keys --json',
    'corkboard audit --access --organization school',
  ]);
  addArchived(program, audit);
}

function addArchived(program: Command, audit: Command): void {
  // The options of `audit` select what it lists, and have no meaning here.
  const visibleGlobalOptions = () => program.options.filter(({ hidden }) => !hidden);
  const archived = audit
    .command('archived')
    .configureHelp({ ...audit.configureHelp(), visibleGlobalOptions })
    .summary('Record that earlier audit records were archived.')
    .description(
      'Record that the audit records before a number were archived, after all of them were moved away. Otherwise "corkboard check" reports them as removed. Not needed if the last file of the audit was left in its place.',
    )
    .requiredOption('--before <number>', 'number of the first record that was not archived', readSequence)
    .option('--json', 'print one JSON object')
    .action((_options: unknown, command: Command) => recordArchived(command.optsWithGlobals()));
  addExamples(archived, ['corkboard audit archived --before 1201']);
}

function readSequence(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Use the number of a record, like 1201.');
}

async function recordArchived(options: ArchivedOptions): Promise<void> {
  const { before, organization, since, command, access } = options;
  if ([organization, since, command, access].some((selection) => selection !== undefined)) {
    throw new AppError(
      'option-malformed',
      'All audit records are one chain. Leave out --organization, --since, --command and --access.',
    );
  }
  requireStorage(options);
  await withTrail(options, async (trail) => {
    const first = await firstNumber(trail);
    if (first === 1) throw new AppError('settings-refused', 'The first audit record is here.');
    if (before !== first) {
      throw new AppError(
        'settings-refused',
        `The audit records before ${first} are not here. If these were archived, use --before ${first}.`,
      );
    }
    await addRecord(trail, { command: ARCHIVED, organization: undefined, what: { before } });
  });
  printResult(options, { before }, () => `Recorded that the audit records before ${before} were archived.`);
}

/** The number of the first record, or of the next one if there is none. */
async function firstNumber(trail: AuditTrail): Promise<number> {
  for await (const { text } of trail.lines()) {
    const record = readChained(text);
    if (record !== undefined) return record.sequence;
  }
  return ((await trail.head())?.sequence ?? 0) + 1;
}

function requireStorage(options: StorageOptions): void {
  if (hasStorage(options)) return;
  throw new AppError('data-unreadable', `There is no data folder ${options.data}. Check --data.`);
}

async function listRequested(options: AuditOptions): Promise<void> {
  await (options.access ? listAccess(options) : listRecords(options));
}

async function listRecords(options: AuditOptions): Promise<void> {
  requireStorage(options);
  await withTrail(options, async (trail) => {
    for await (const line of trail.lines()) await showLine(line, options, renderRecord);
  });
}

async function listAccess(options: AuditOptions): Promise<void> {
  if (options.command !== undefined) {
    throw new AppError('option-malformed', 'Access records have no command. Leave out --command.');
  }
  const { readAccess } = await import('../../audit/access-files.ts');
  const folder = await requireAccessFolder(options);
  for await (const { line } of readAccess(folder)) await showLine(line, options, renderAccess);
}

/** Prints a record if it is wanted. */
async function showLine(
  { text, place, isComplete }: StoredLine,
  options: AuditOptions,
  render: (members: AuditMembers) => string,
): Promise<void> {
  const record = readChained(text);
  if (record === undefined) {
    if (isComplete) remark(`corkboard: ${place} was changed. Run "corkboard check".`);
  } else if (isWanted(record.members, options)) {
    await write(options.json ? text : render(record.members));
  }
}

function isWanted(
  { time, command: of, organization: about }: AuditMembers,
  { organization: names, since = -Infinity, command }: AuditOptions,
): boolean {
  const isAbout = (name: string) => name.toLowerCase() === String(about).toLowerCase();
  return (
    (names === undefined || names.some(isAbout)) &&
    Date.parse(String(time)) >= since &&
    (command === undefined || `${of} `.startsWith(`${command} `))
  );
}

/** One line with who and when, and one line for each value. */
function renderRecord(record: AuditMembers): string {
  const { time, command, organization, user, sudoUser, host, what, missing } = record;
  const who = sudoUser === undefined ? user : `${sudoUser} as ${user}`;
  const about = organization === undefined ? '' : `  ${organization}`;
  const lines = [`${time}  ${who}@${host}  ${command}${about}`, ...renderMembers(what as AuditMembers)];
  if (missing !== undefined) lines.push(`  no audit record was left; the last one was number ${missing}`);
  return lines.map((line) => line.replace(/\p{Cc}/gu, ' ')).join('\n');
}

/** Values before and after a change are shown together. */
function renderMembers({ before, after, ...others }: AuditMembers): readonly string[] {
  const former = (before ?? {}) as AuditMembers;
  const present = (after ?? {}) as AuditMembers;
  return [
    ...Object.entries(others).map(([name, value]) => `  ${name}: ${renderValue(value)}`),
    ...Object.entries(present).map(([name, value]) =>
      name in former
        ? `  ${name}: ${renderValue(former[name])} -> ${renderValue(value)}`
        : `  ${name}: ${renderValue(value)}`,
    ),
  ];
}

function renderValue(value: unknown): string {
  if (typeof value === 'string') return renderCell(value);
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) {
    return renderCell(value.join(', '));
  }
  return JSON.stringify(value);
}

/** One line. A record of lost ones has their number. */
function renderAccess({ time, lost, ...request }: AuditMembers): string {
  if (lost !== undefined) return `${time}  ${lost} records could not be written`;
  const {
    key,
    organization,
    method,
    route,
    boards,
    users,
    representation = '-',
    status,
    rows,
    bytes,
    lmsIds,
  } = request;
  const scope = `boards ${boards}, users ${users}${lmsIds === true ? ', LMS ids' : ''}`;
  return `${time}  ${organization}  ${key}  ${method} ${route}  ${status}  ${representation}  ${rows === undefined ? '' : `${rows} rows, `}${bytes} bytes  ${scope}`;
}

/** Waits for a slow reader, so that the memory does not grow. */
async function write(text: string): Promise<void> {
  if (!process.stdout.write(`${text}\n`)) await once(process.stdout, 'drain');
}
