/** `corkboard audit`: lists the records of administration (decision 87). */
import { once } from 'node:events';
import type { Command } from 'commander';
import { type AuditMembers, readChained } from '../../audit/audit-record.ts';
import { AppError } from '../../domain/app-error.ts';
import { withTrail } from '../process/audit.ts';
import { hasStorage, type StorageOptions } from '../process/storage.ts';
import { addExamples } from '../terminal/examples.ts';
import { readInstant, readName } from '../terminal/options.ts';
import { type JsonOption, remark, renderCell } from '../terminal/output.ts';

interface AuditOptions extends StorageOptions, JsonOption {
  readonly organization?: readonly string[];
  /** In milliseconds. */
  readonly since?: number;
  readonly command?: string;
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
    .option('--json', 'print one JSON object per line')
    .action((_options: unknown, command: Command) => listRecords(command.optsWithGlobals()));
  addExamples(audit, [
    'corkboard audit --data /srv/corkboard',
    'corkboard audit --organization school --since 2026-11-01T00:00:00Z',
    'corkboard audit --command keys --json',
  ]);
}

async function listRecords(options: AuditOptions): Promise<void> {
  if (!hasStorage(options)) {
    throw new AppError('data-unreadable', `There is no data folder ${options.data}. Check --data.`);
  }
  const isWanted = matcherOf(options);
  await withTrail(options, async (trail) => {
    for await (const { text, place, isComplete } of trail.lines()) {
      const record = readChained(text);
      if (record === undefined) {
        if (isComplete) remark(`corkboard: ${place} was changed. Run "corkboard check".`);
      } else if (isWanted(record.members)) {
        await write(options.json ? text : renderRecord(record.members));
      }
    }
  });
}

function matcherOf({ organization, since = -Infinity, command }: AuditOptions) {
  const names = organization && new Set(organization.map((name) => name.toLowerCase()));
  return ({ time, command: of, organization: about }: AuditMembers): boolean =>
    (names === undefined || names.has(String(about).toLowerCase())) &&
    Date.parse(String(time)) >= since &&
    (command === undefined || `${of} `.startsWith(`${command} `));
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

/** Waits for a slow reader, so that the memory does not grow. */
async function write(text: string): Promise<void> {
  if (!process.stdout.write(`${text}\n`)) await once(process.stdout, 'drain');
}
