/** `corkboard organizations remove`: deletes an organization for good (decision 86). */
import type { Command } from 'commander';
import type { Counts } from '../../dataset/dataset.ts';
import { AppError } from '../../domain/app-error.ts';
import { isUnknown } from '../../store/organization-name.ts';
import { withReserve } from '../process/full-disk.ts';
import { turnOf } from '../process/publish.ts';
import { removePulls, withoutPulls } from '../process/pull-folder.ts';
import { type DataPlace, requireFolder, type StorageOptions, withPlace } from '../process/storage.ts';
import { addExamples } from '../terminal/examples.ts';
import { countOf, type JsonOption, printResult, remark } from '../terminal/output.ts';
import { promptFor } from '../terminal/prompt.ts';

interface RemoveCommandOptions extends StorageOptions, JsonOption {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

interface Removed {
  readonly name: string;
  /** The number of its keys; absent if they cannot be read. */
  readonly keys: number | undefined;
}

const NO_COUNTS: Counts = { events: 0, users: 0, boards: 0, pins: 0 };
const WAIT_MS = 60_000;

export function addRemoveCommand(organizations: Command): void {
  const remove = organizations
    .command('remove')
    .summary('Delete an organization for good.')
    .description(
      'Delete an organization for good: all versions of its data, its settings, its secret, its keys and the files that "pull" keeps for it. Its keys are refused within a second. On a terminal, the command says what it will delete, and asks for the name of the organization. Only a backup can bring the organization back. If the command is interrupted, run it again.',
    )
    .argument('<name>', 'name of the organization')
    .option('--yes', 'delete without asking; required without a terminal')
    .option('--dry-run', 'say what would be deleted, and change nothing')
    .option('--json', 'print one JSON object')
    .action((name: string, _options: unknown, command: Command) =>
      removeOrganization(name, command.optsWithGlobals()),
    );
  addExamples(remove, [
    'corkboard organizations remove school --dry-run',
    'corkboard organizations remove school',
    'corkboard organizations remove school --yes --json',
  ]);
}

async function removeOrganization(name: string, options: RemoveCommandOptions): Promise<void> {
  requireFolder(options);
  if (options.dryRun === true) return await tellRemoval(name, options);
  if (options.yes !== true && !process.stdin.isTTY) {
    throw new AppError(
      'option-malformed',
      'Without a terminal, nothing can be confirmed. Add --yes to delete the organization without being asked.',
    );
  }
  await withPlace(options, true, async (place) => {
    const removed = await keyed(place, name).catch(async (error: unknown) => {
      // A removal that was killed at its end may have left something.
      if (isUnknown(error)) await removeFrom(place, name, options);
      throw error;
    });
    if (options.yes !== true) await confirm(place, removed);
    await removeFrom(place, removed.name, options);
    const { keys } = removed;
    printResult(options, { organization: removed.name, keys }, () => {
      return `Removed ${removed.name}, with ${describeKeys(removed)}.`;
    });
  });
}

async function tellRemoval(name: string, options: RemoveCommandOptions): Promise<void> {
  await withPlace(options, true, async (place) => {
    const removed = await keyed(place, name);
    const counts = await readable(() => countIn(place, removed.name));
    const result = { dryRun: true, organization: removed.name, keys: removed.keys, ...counts };
    printResult(options, result, () => `${describeRemoval(removed, counts)} Nothing was changed (dry run).`);
  });
}

async function removeFrom({ store, keys }: DataPlace, name: string, options: StorageOptions): Promise<void> {
  const turn = turnOf(name, WAIT_MS);
  await withoutPulls(options.data, name, turn, (removeKept) =>
    withReserve(options, () =>
      store.remove(name, {
        ...turn,
        removeKeys: (one, transaction) => keys.remove(one, transaction),
        async removeOther(names) {
          await removeKept();
          await removePulls(
            options.data,
            names.filter((one) => one.toLowerCase() !== name.toLowerCase()),
            turn,
          );
        },
        purgeKeys: async () => (await keys.purge?.()) ?? true,
      }),
    ),
  );
}

/** Throws `organization-unknown`. */
async function keyed({ store, keys }: DataPlace, wanted: string): Promise<Removed> {
  const name = (await readable(() => store.organization(wanted)))?.name ?? wanted;
  return { name, keys: (await readable(() => keys.all(name)))?.length };
}

/** Absent if it is damaged: damage must not prevent a removal. */
async function readable<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof AppError && error.code !== 'data-unreadable') throw error;
    return undefined;
  }
}

function describeKeys({ keys }: Removed): string {
  return keys === undefined ? 'its keys' : countOf(keys, 'key');
}

async function countIn({ store }: DataPlace, name: string): Promise<Counts> {
  const dataset = await store.openDataset(name);
  await dataset?.close();
  return dataset?.counts ?? NO_COUNTS;
}

/** `counts`: absent if the data cannot be read. */
function describeRemoval(removed: Removed, counts: Counts | undefined): string {
  const data =
    counts === undefined
      ? 'data that cannot be read'
      : [
          countOf(counts.events, 'event'),
          countOf(counts.users, 'user'),
          countOf(counts.boards, 'board'),
        ].join(', ');
  return `This deletes ${removed.name} for good: ${data} and ${describeKeys(removed)}. Only a backup can bring it back.`;
}

/** Throws `removal-refused` unless the name is typed. */
async function confirm(place: DataPlace, removed: Removed): Promise<void> {
  const { name } = removed;
  remark(describeRemoval(removed, await readable(() => countIn(place, name))));
  if ((await promptFor('Type the name of the organization to delete it: ')).trim() === name) return;
  throw new AppError('removal-refused', `That is not "${name}". Nothing was deleted.`);
}
