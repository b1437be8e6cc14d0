/** `corkboard copy`: moves organizations from one store to another, exactly. */
import type { Command } from 'commander';
import type { Original } from '../dataset/copying.ts';
import { openCopyDisplay } from './copy-progress.ts';
import { addExamples } from './examples.ts';
import { readName, readPlace } from './options.ts';
import { type JsonOption, printResult, remark, renderTable } from './output.ts';
import { type Place, type StorageOptions, withPlace } from './storage.ts';

interface CopyCommandOptions extends JsonOption {
  readonly from: StorageOptions;
  readonly to: StorageOptions;
  readonly organization?: readonly string[];
  /** False with `--no-keys`. */
  readonly keys: boolean;
}

interface Copied {
  readonly organization: string;
  /** Absent where nothing is published. */
  readonly version: string | undefined;
  readonly events: number;
  readonly users: number;
  readonly boards: number;
  readonly pins: number;
  readonly keys: number;
}

/** How long it waits for an import into the target to end. */
const WAIT_MS = 60_000;

export function addCopyCommand(program: Command): void {
  const copy = program
    .command('copy')
    .description(
      'Copy organizations from one store to another: settings, the version in force and keys, so that every answer, entity tag, cursor and pseudonym stays the same. Each is copied whole or not at all.',
    )
    .requiredOption(
      '--from <dir|url>',
      'data folder or database to copy from; servers go on meanwhile',
      readPlace,
    )
    .requiredOption(
      '--to <dir|url>',
      'data folder, made when there is none, or database to copy to',
      readPlace,
    )
    .option('--organization <name>', 'only this one; can be repeated (default: all)', readName)
    .option('--no-keys', 'leave the keys behind; with them, keys that are given out open the copy, too')
    .option('--json', 'print a JSON array')
    .action((_options: unknown, command: Command) => copyOrganizations(command.opts()));
  addExamples(copy, [
    'corkboard copy --from ./data --to postgres://corkboard@db.example.org/corkboard',
    'corkboard copy --from postgres://corkboard@db.example.org/corkboard --to ./data --organization school',
    'corkboard copy --from /srv/corkboard --to /srv/trial --no-keys --json',
  ]);
}

async function copyOrganizations(options: CopyCommandOptions): Promise<void> {
  const copied = await withPlace(options.from, true, (from) =>
    withPlace(options.to, false, (to) => copyAll(from, to, options)),
  );
  printResult(options, copied, () => renderCopied(copied));
}

/** What is refused is refused before anything is copied; answers what was copied. */
export async function copyAll(
  from: Place,
  to: Place,
  options: Pick<CopyCommandOptions, 'organization' | 'keys'>,
): Promise<Copied[]> {
  const names = options.organization ?? (await from.copying.names());
  for (const name of names) {
    const original = await from.copying.open(name);
    await original.close();
    await to.copying.checkFree(original.entry.name);
  }
  const copied: Copied[] = [];
  for (const name of names) copied.push(await copyOne(from, to, name, options.keys));
  return copied;
}

async function copyOne(from: Place, to: Place, name: string, keys: boolean): Promise<Copied> {
  const original = await from.copying.open(name);
  const display = openCopyDisplay(original);
  try {
    // First: keys of an organization without data open nothing, data without keys would be a copy by half.
    const copied = keys ? await copyKeys(from, to, original.entry.name) : 0;
    await to.copying.write(original, {
      waitMs: WAIT_MS,
      onWait: () => remark(`Waiting for another change of ${name} to end.`),
      onRows: (table, count) => display.show(table, count),
    });
    return describeCopied(original, copied);
  } finally {
    display.end();
    await original.close();
  }
}

async function copyKeys(from: Place, to: Place, organization: string): Promise<number> {
  const rows = await from.keys.all(organization);
  await to.keys.take(rows);
  return rows.length;
}

function describeCopied({ entry, facts }: Original, keys: number): Copied {
  const { events, users, boards, pins } = facts?.counts ?? { events: 0, users: 0, boards: 0, pins: 0 };
  return { organization: entry.name, version: facts?.version, events, users, boards, pins, keys };
}

function renderCopied(copied: readonly Copied[]): string {
  if (copied.length === 0) return 'There are no organizations to copy.';
  const rows = copied.map(({ organization, version, events, users, boards, pins, keys }) => [
    ...[organization, version ?? 'no data yet', events, users, boards, pins, keys],
  ]);
  return renderTable(['NAME', 'VERSION', 'EVENTS', 'USERS', 'BOARDS', 'PINS', 'KEYS'], rows);
}
