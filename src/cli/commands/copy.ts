/** `corkboard copy`: copies organizations unchanged from one store to another. */
import type { Command } from 'commander';
import { keysFor, refuseOtherKeys } from '../../backup/copied-keys.ts';
import type { Counts } from '../../dataset/dataset.ts';
import { checkReplaceable } from '../../store/organization-name.ts';
import { describePlace, recordAct } from '../process/audit.ts';
import { turnOf } from '../process/publish.ts';
import { type DataPlace, type StorageOptions, withPlace } from '../process/storage.ts';
import { openCopyDisplay } from '../terminal/copy-progress.ts';
import { addExamples } from '../terminal/examples.ts';
import { readName, readPlace } from '../terminal/options.ts';
import { type JsonOption, printResult, renderTable } from '../terminal/output.ts';

type PlaceOptions = ReturnType<typeof readPlace>;

interface CopyCommandOptions extends JsonOption {
  readonly cache: string;
  readonly cacheLimit: number;
  readonly from: PlaceOptions;
  readonly to: PlaceOptions;
  readonly organization?: readonly string[];
  /** False with `--no-keys`. */
  readonly keys: boolean;
}

export interface Copied extends Counts {
  readonly organization: string;
  /** Undefined if nothing is published. */
  readonly version: string | undefined;
  readonly keys: number;
}

const NOTHING: Counts = { events: 0, users: 0, boards: 0, pins: 0 };
/** How long the command waits for an import into the target to end. */
const WAIT_MS = 60_000;

export function addCopyCommand(program: Command): void {
  const copy = program
    .command('copy')
    .summary('Copy organizations to a different store.')
    .description(
      'Copy organizations from one store to another: settings, the current version and keys. Every response, entity tag, cursor and pseudonym stays the same. Each organization is copied completely or not at all.',
    )
    .requiredOption(
      '--from <dir|url>',
      'data folder or database to copy from; its servers can keep running',
      readPlace,
    )
    .requiredOption(
      '--to <dir|url>',
      'data folder or database to copy to; a folder is created if it does not exist',
      readPlace,
    )
    .option('-o, --organization <name>', 'only this organization; can be repeated (default: all)', readName)
    .option('--no-keys', 'do not copy the keys; copied keys give access to the copy, too')
    .option('--json', 'print a JSON array')
    .action((_options: unknown, command: Command) => copyOrganizations(command.optsWithGlobals()));
  addExamples(copy, [
    'corkboard copy --from ./data --to postgres://corkboard@db.example.org/corkboard',
    'corkboard copy --from postgres://corkboard@db.example.org/corkboard --to ./data --organization school',
    'corkboard copy --from /srv/corkboard --to /srv/trial --no-keys --json',
  ]);
}

async function copyOrganizations(options: CopyCommandOptions): Promise<void> {
  const { cache, cacheLimit } = options;
  const placed = (place: PlaceOptions): StorageOptions => ({ data: '', ...place, cache, cacheLimit });
  const source = describePlace(placed(options.from));
  const what = { to: describePlace(placed(options.to)), keys: options.keys };
  const onCopied = ({ organization, version }: Copied) =>
    recordAct(placed(options.from), { organization, what: { version: version ?? null, ...what } });
  const copied = await withPlace(placed(options.from), true, (from) =>
    withPlace(placed(options.to), false, (to) => copyAll(from, to, { ...options, source, onCopied })),
  );
  printResult(options, copied, () => renderCopied(copied));
}

interface CopyAllOptions {
  readonly organization?: readonly string[] | undefined;
  readonly keys: boolean;
  /** Recorded with the copy. */
  readonly source?: string;
  readonly onCopied?: (copied: Copied) => Promise<void>;
}

/**
 * Copies the organizations one after the other. Before the first copy, throws if an organization
 * is unknown, or if the target has it with data, or a different one of that name.
 */
export async function copyAll(from: DataPlace, to: DataPlace, options: CopyAllOptions): Promise<Copied[]> {
  const known = await from.store.organizations();
  const names = options.organization ?? known.map(({ name }) => name);
  for (const name of names) {
    checkReplaceable(await to.store.replacedBy(await from.store.organization(name)));
  }
  const copied: Copied[] = [];
  for (const name of names) {
    const one = await copyOne(from, to, name, options);
    await options.onCopied?.(one);
    copied.push(one);
  }
  return copied;
}

async function copyOne(
  from: DataPlace,
  to: DataPlace,
  organization: string,
  { keys, source }: CopyAllOptions,
): Promise<Copied> {
  const original = await from.store.organization(organization);
  const { name } = original;
  const replaced = await to.store.replacedBy(original);
  const rows = keys ? await keysFor(from, name, replaced?.name ?? name) : [];
  await refuseOtherKeys(to.keys, replaced, rows);
  // Keys first: keys without data give access to nothing, but data without keys is half a copy.
  await to.keys.take(rows);
  const display = openCopyDisplay(name, 'bytes');
  try {
    const { entry, counts } = await from.store.copyTo(to.store, name, {
      ...turnOf(name, WAIT_MS),
      cause: { command: 'copy', ...(source !== undefined && { source }) },
      onBytes: (done, total) => display.show(done, total, ''),
    });
    return { organization: entry.name, version: entry.version, ...(counts ?? NOTHING), keys: rows.length };
  } finally {
    display.end();
  }
}

function renderCopied(copied: readonly Copied[]): string {
  if (copied.length === 0) return 'There are no organizations to copy.';
  const rows = copied.map(({ organization, version, events, users, boards, pins, keys }) => [
    ...[organization, version ?? 'no data yet', events, users, boards, pins, keys],
  ]);
  return renderTable(['NAME', 'VERSION', 'EVENTS', 'USERS', 'BOARDS', 'PINS', 'KEYS'], rows);
}
