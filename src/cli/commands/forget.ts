/** `corkboard forget`: erases users permanently, also from earlier versions (decision 54). */
import type { Command } from 'commander';
import { AppError } from '../../domain/app-error.ts';
import { forgetUsers, previewForgetting } from '../../store/forgotten.ts';
import { organizationDigest } from '../../store/organization-digest.ts';
import { withIds } from '../process/named-records.ts';
import { chooseOrganization, organizationOption } from '../process/organization-choice.ts';
import { tellOverdue, turnOf } from '../process/publish.ts';
import { pullsOf, removePulls, withoutPulls } from '../process/pull-folder.ts';
import { type StorageOptions, withStore } from '../process/storage.ts';
import { addExamples } from '../terminal/examples.ts';
import { readRecords } from '../terminal/options.ts';
import { countOf, type JsonOption, printResult, remark, renderTable } from '../terminal/output.ts';
import { isConfirmed } from '../terminal/prompt.ts';

interface ForgetOptions extends StorageOptions, JsonOption {
  readonly organization: string;
  readonly user: readonly bigint[];
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const WAIT_MS = 600_000;

export function addForgetCommand(program: Command): void {
  const forget = program
    .command('forget')
    .summary('Erase users permanently.')
    .description(
      'Erase users permanently, also from earlier versions: their events, names, addresses, memberships and points. Events of other users that involve their content stay and show only the id of the erased user. Later imports ignore records about erased users. The command also deletes the files that "pull" keeps for the organization in the data folder, so the next pull starts over. On a terminal, the command says what it will erase, and asks.',
    )
    .addOption(organizationOption('name of the organization'))
    .requiredOption('--user <users>', 'comma-separated ids or addresses of users', readRecords)
    .option('--yes', 'erase without asking')
    .option('--dry-run', 'say what would be erased, and change nothing')
    .option('--json', 'print one JSON object')
    .action(async (_options: unknown, command: Command) =>
      forgetPeople(await withIds(await chooseOrganization(command.optsWithGlobals()))),
    );
  addExamples(forget, [
    'corkboard forget --organization school --user 12 --dry-run',
    'corkboard forget --organization school --user 12',
    'corkboard forget --organization school --user ada@example.org',
  ]);
}

async function forgetPeople(options: ForgetOptions): Promise<void> {
  const { organization, user } = options;
  const turn = { ...turnOf(organization, WAIT_MS), cause: { command: 'forget' } };
  if (options.dryRun === true || (options.yes !== true && process.stdin.isTTY)) {
    const preview = await withStore(options, (store) => previewForgetting(store, organization, user, turn));
    const { users, erased } = preview;
    const what = renderPreview(preview);
    if (options.dryRun === true)
      return printResult(options, { dryRun: true, users, erasedEvents: erased }, () => what);
    remark(what);
    if (!(await isConfirmed('erase for good'))) throw new AppError('removal-refused', 'Nothing was erased.');
  }
  // The files of pulls are deleted first: once the store has erased the users, repeating the
  // command does nothing.
  const outcome = await withoutPulls(options.data, organization, turn, (removeKept) =>
    withStore(options, async (store) => {
      const { secret } = await store.organization(organization);
      const beforeErasing = async () => {
        await removeKept();
        // A renaming that was killed, or made on a different machine, has left the former name.
        await removePulls(options.data, await otherPulls(options, secret), turn);
      };
      return await forgetUsers(store, organization, user, { ...turn, beforeErasing });
    }),
  );
  tellOverdue(organization, outcome);
  const { published, version, erased } = outcome;
  printResult(options, { published, version, users: user, erasedEvents: erased }, () =>
    published
      ? `Erased ${user.length === 1 ? 'user' : 'users'} ${user.join(', ')} and ${countOf(erased, 'event')}. Published as version ${version} of ${organization}.`
      : 'Nothing has changed: these users were erased before.',
  );
}

function renderPreview({ users, erased }: Awaited<ReturnType<typeof previewForgetting>>): string {
  const table = renderTable(
    ['ID', 'NAME', 'ADDRESS'],
    users.map(({ id, name, email }) => [id, name, email]),
  );
  return `${table}\n\nThis erases ${countOf(users.length, 'user')} and ${countOf(erased, 'event')} for good. Earlier versions lose their data: there is no rollback to them, and only a backup has the users again.`;
}

/** Names under which pulls keep files for the organization with this secret, without its own. */
async function otherPulls(
  { data, organization }: ForgetOptions,
  secret: Uint8Array,
): Promise<readonly string[]> {
  const names = await pullsOf(data, organizationDigest(secret));
  return names.filter((name) => name !== organization.toLowerCase());
}
