/** `corkboard audit`: lists the records of administration, or those of access (decision 87). */
import { once } from 'node:events';
import type { Command } from 'commander';
import { type AuditMembers, readChained } from '../../audit/audit-record.ts';
import type { StoredLine } from '../../audit/audit-trail.ts';
import { AppError } from '../../domain/app-error.ts';
import {
  type AuditFolderOption,
  auditFolderOption,
  requireAccessFolder,
  withTrail,
} from '../process/audit.ts';
import { hasStorage, type StorageOptions } from '../process/storage.ts';
import { addExamples } from '../terminal/examples.ts';
import { readInstant, readName } from '../terminal/options.ts';
import { type JsonOption, remark, renderCell } from '../terminal/output.ts';

interface AuditOptions extends StorageOptions, JsonOption, AuditFolderOption {
  readonly organization?: readonly string[];
  /** In milliseconds. */
  readonly since?: number;
  readonly command?: string;
  readonly access?: boolean;
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
}

async function listRequested(options: AuditOptions): Promise<void> {
  await (options.access ? listAccess(options) : listRecords(options));
}

async function listRecords(options: AuditOptions): Promise<void> {
  if (!hasStorage(options)) {
    throw new AppError('data-unreadable', `There is no data folder ${options.data}. Check --data.`);
  }
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
function renderRecord({ time, command, organization, user, sudoUser, host, what }: AuditMembers): string {
  const who = sudoUser === undefined ? user : `${sudoUser} as ${user}`;
  const about = organization === undefined ? '' : `  ${organization}`;
  return [`${time}  ${who}@${host}  ${command}${about}`, ...renderMembers(what as AuditMembers)]
    .map((line) => line.replace(/\p{Cc}/gu, ' '))
    .join('\n');
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
